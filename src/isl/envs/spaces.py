"""From an environment's spaces to what agents and replay see, and from actions back to it.

An agent sees a Discrete space, a table with one entry per observation, or a Box. Which one:

    table      Discrete; MultiDiscrete, MultiBinary, a Box of small integers, and Dict or Tuple of
               these: one index over all combinations, if there are at most 100,000
    image      a Box of uint8 with 2 or 3 axes: kept as uint8, read by convolutions
    parts      Dict or Tuple with images: each image has convolutions of its own, all other numbers
               are a vector beside them (isl.envs.joined)
    vector     everything else, as float32: a Box keeps its shape, other spaces are joined to one
               vector, in which Discrete and MultiDiscrete are one-hot
    symbols    MiniGrid's view, a Box of 7 × 7 × 3 uint8, and any Box of small integers that is said
               to be one: names, not amounts, of which networks learn what they mean
    recurring  images and vectors of which the same ones come back, as a place (x, y) in a maze
               does: agents that can keep a table of those that they meet. No space says so; it is
               found by playing (isl.training.python_envs.scout)

Actions: Discrete, and MultiDiscrete as one index over all combinations.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim
from numpy.typing import NDArray

from isl.envs import encoding, joined
from isl.envs.encoding import in_one_line
from isl.envs.kinds import Recurring, Symbols, is_image
from isl.errors import UsageError

CHOICES = ("auto", "table", "vector", "image", "parts", "symbols", "recurring")
TABLE_STATES = 100_000  # of a finite product that is a table without being asked for
MOST_STATES = 10_000_000  # of one that is asked for
MINIGRID_VIEW = (7, 7, 3)  # object, colour and state of the cells in front of the agent
SYMBOLS = 16  # values of an integer whose space allows more, as MiniGrid's 0 … 255
MAX_ACTIONS = 4096
_OBSERVATIONS = "Discrete, Box, MultiDiscrete, MultiBinary, and Dict or Tuple of these"


class Observations(NamedTuple):
    """How the observations of one environment are read."""

    space: spaces.Space[Any]  # the environment's
    kind: str  # one of CHOICES, never "auto"
    stored: spaces.Discrete | spaces.Box  # what the replay holds
    encode: Callable[..., Any]  # (obs, xp=numpy) → stored; batch axes in front are kept
    seen: spaces.Discrete | spaces.Box  # what agents see: `stored`, or what `expand` makes of it
    expand: Callable[[Any], Any] | None = None  # stored → seen, on the device

    def is_batch(self, obs: Any) -> bool:
        """Whether there is one batch axis."""
        part = encoding.parts(self.space)[0]
        for key in part.path:
            obs = obs[key]
        return np.ndim(obs) == len(part.shape) + 1

    @property
    def recorded(self) -> str | None:
        """What files and hashes say: nothing where isl 0.1 read such a space in the same way."""
        return None if self.kind == usual(self.space) else self.kind

    def describe(self, space: spaces.Space[Any] | None = None) -> dict[str, Any]:
        """`describe` of the space, or of another one, with all that matters to this reading."""
        return describe(self.space if space is None else space, bounds=self.recorded is not None)


class Actions(NamedTuple):
    """How an index 0 … number−1 becomes an action of the environment."""

    space: spaces.Space[Any]
    number: int
    decode: Callable[[Any], Any]  # an index, or an array of them


def usual(space: spaces.Space[Any]) -> str:
    """How isl 0.1 read a space, which its runs and model files do not say."""
    if isinstance(space, spaces.Discrete):
        return "table"
    return "image" if is_image(space) else "vector"


def observations(space: spaces.Space[Any], kind: str = "auto") -> Observations:
    """The reading of an observation space.

    Args:
        space: the environment's.
        kind: one of `CHOICES`.

    Raises:
        UsageError: if the space is not one that networks can read, or not in this way.
    """
    if kind not in CHOICES:
        close = difflib.get_close_matches(str(kind), CHOICES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(CHOICES)}"
        raise UsageError(f"unknown kind of observations {kind!r}; {hint}")
    _check_parts(space, space)
    if kind == "auto":
        kind = _by_itself(space)
    reading = {"table": _table, "vector": _vector, "image": _image, "symbols": _symbols}
    return (reading | {"parts": _parts, "recurring": _recurring})[kind](space)


def _by_itself(space: spaces.Space[Any]) -> str:
    """The kind of a space, if nobody says which."""
    if encoding.states(space, TABLE_STATES) is not None:
        return "table"
    if is_image(space) and space.shape == MINIGRID_VIEW:
        return "symbols"
    return "parts" if joined.has_images(space) else usual(space)


def _table(space: spaces.Space[Any]) -> Observations:
    if isinstance(space, spaces.Discrete):
        start = int(space.start)

        def number(obs: Any, xp: Any = np) -> Any:
            own = xp.asarray(obs, np.int64 if xp is np else np.int32) - start
            return own.astype(np.int32)

        seen = spaces.Discrete(int(space.n))
        return Observations(space, "table", seen, number, seen)
    states = encoding.states(space, MOST_STATES)
    if states is None:
        raise _misfit(
            "table",
            space,
            f"it has more than {MOST_STATES:,} states, or numbers of more than "
            f"{encoding.SMALL_RANGE} values",
        )
    seen = spaces.Discrete(states)
    return Observations(space, "table", seen, encoding.index(space), seen)


def _vector(space: spaces.Space[Any]) -> Observations:
    if isinstance(space, spaces.Discrete):
        table, number = _table(space), int(space.n)
        seen = spaces.Box(0, 1, (number,), np.float32)
        expand = lambda x: encoding.one_hot(x, number)  # noqa: E731
        return Observations(space, "vector", table.stored, table.encode, seen, expand)
    if is_image(space):  # stays uint8 in the replay
        image, floats = _image(space), _box(space.shape or (), np.float32)
        expand = lambda x: x.astype(np.float32)  # noqa: E731
        return Observations(space, "vector", image.stored, image.encode, floats, expand)
    if isinstance(space, spaces.Box):
        box = _box(space.shape, np.float32)
        return Observations(space, "vector", box, encoding.as_type(np.float32, space), box)
    box = _box((flatdim(space),), np.float32)
    return Observations(space, "vector", box, encoding.flat(space), box)


def _image(space: spaces.Space[Any]) -> Observations:
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        raise _misfit("image", space, "expected a Box with 2 or 3 axes")
    if not is_image(space) and not encoding.has_whole_numbers(space, 0, 255):
        raise _misfit("image", space, "expected whole numbers from 0 to 255")
    box = _box(space.shape, np.uint8)
    return Observations(space, "image", box, encoding.as_type(np.uint8, space), box)


def _parts(space: spaces.Space[Any]) -> Observations:
    if not joined.has_images(space):
        raise _misfit("parts", space, "expected a Dict or Tuple with images in it")
    stored, encode, seen, expand = joined.reading(space)
    return Observations(space, "parts", stored, encode, seen, expand)


def _symbols(space: spaces.Space[Any]) -> Observations:
    if not isinstance(space, spaces.Box) or not encoding.has_whole_numbers(space, 0, np.inf):
        raise _misfit("symbols", space, "expected a Box of whole numbers from 0 on")
    number = int(min(space.high.max() + 1.0, SYMBOLS))
    as_array = encoding.as_type(np.uint8, space)

    def encode(obs: Any, xp: Any = np) -> Any:
        array = as_array(obs, xp)
        if xp is np and (array >= number).any():
            raise UsageError(
                f"observed {array.max()}, expected symbols from 0 to {number - 1}; if these are "
                'pixels, give observations="image"'
            )
        return array

    seen = Symbols(space.shape, number)
    return Observations(space, "symbols", seen, encode, seen)


def _recurring(space: spaces.Space[Any]) -> Observations:
    usual_one = _image(space) if is_image(space) else _vector(space)
    if not can_recur(usual_one):
        raise _misfit("recurring", space, "expected vectors or images that are no table yet")
    assert isinstance(usual_one.seen, spaces.Box)
    return usual_one._replace(kind="recurring", seen=Recurring(usual_one.seen))


def can_recur(reading: Observations) -> bool:
    """Whether a table of what is met could be kept: not where one is already, nor of views."""
    return reading.kind in ("vector", "image") and reading.expand is None


def no_use_of_recurring(agent: str) -> str:
    """What to tell the user of an agent that reads recurring observations like others."""
    return (
        'observations "recurring" are for agents that keep a table of what comes back, and '
        f"{agent} does not; leave the option out"
    )


def _misfit(kind: str, space: spaces.Space[Any], why: str) -> UsageError:
    return UsageError(
        f'observations "{kind}" do not fit {in_one_line(space)}: {why}; leave the option out'
    )


def actions(space: spaces.Space[Any]) -> Actions:
    """The reading of an action space; `UsageError` if it is not made of countable choices."""
    if isinstance(space, spaces.Discrete):
        start = np.int64(space.start)
        return Actions(space, int(space.n), lambda index: np.asarray(index, np.int64)[()] + start)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        choices = tuple(int(n) for n in space.nvec)
        count = math.prod(choices)
        if count > MAX_ACTIONS:
            raise UsageError(
                f"action space {space} has {count} combinations; supported are {MAX_ACTIONS}"
            )

        def decode(index: Any) -> NDArray[Any]:
            parts = np.stack(np.unravel_index(np.asarray(index), choices), axis=-1)
            return np.asarray(parts + space.start, space.dtype)

        return Actions(space, count, decode)
    raise UsageError(
        f"action space {space} is not supported; expected Discrete, or MultiDiscrete with one axis "
        "(for continuous actions, wrap the environment so that a few of them are offered by number)"
    )


def describe(space: spaces.Space[Any], bounds: bool = False) -> dict[str, Any]:
    """Plain JSON: what a model file must know of a space.

    Args:
        space: one that can be read.
        bounds: also those of Boxes of whole numbers; they matter to tables and symbols.
    """
    match space:
        case spaces.Discrete():
            return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
        case spaces.Box():
            told = {"kind": "Box", "shape": list(space.shape), "dtype": str(space.dtype)}
            if bounds and space.dtype is not None and space.dtype.kind in "biu":
                told |= {"low": _bound(space.low), "high": _bound(space.high)}
            return told
        case spaces.MultiDiscrete():
            return {
                "kind": "MultiDiscrete",
                "nvec": space.nvec.tolist(),
                "start": space.start.tolist(),
            }
        case spaces.MultiBinary():
            return {"kind": "MultiBinary", "shape": list(space.shape)}
        case spaces.Dict():
            parts = [[name, describe(part, bounds)] for name, part in space.spaces.items()]
            return {"kind": "Dict", "parts": parts}
        case spaces.Tuple():
            return {"kind": "Tuple", "parts": [describe(part, bounds) for part in space.spaces]}
    raise UsageError(f"space {space} is not supported; expected {_OBSERVATIONS}")


def from_description(description: Mapping[str, Any]) -> spaces.Space[Any]:
    """The space that `describe` was told about; Boxes without bounds are as wide as their type."""
    match description:
        case {"kind": "Discrete", "n": n, "start": start}:
            return spaces.Discrete(n, start=start)
        case {"kind": "Box", "shape": shape, "dtype": dtype, "low": low, "high": high}:
            low, high = (np.full(tuple(shape), bound, np.dtype(dtype)) for bound in (low, high))
            return spaces.Box(low, high, tuple(shape), np.dtype(dtype).type)
        case {"kind": "Box", "shape": shape, "dtype": dtype}:
            return _box(tuple(shape), np.dtype(dtype))
        case {"kind": "MultiDiscrete", "nvec": nvec, "start": start}:
            return spaces.MultiDiscrete(np.asarray(nvec), start=np.asarray(start))
        case {"kind": "MultiBinary", "shape": shape}:
            return spaces.MultiBinary(shape)
        case {"kind": "Dict", "parts": parts}:
            return spaces.Dict([(name, from_description(part)) for name, part in parts])
        case {"kind": "Tuple", "parts": parts}:
            return spaces.Tuple([from_description(part) for part in parts])
    raise UsageError(f"space description {description!r} is not one that isl writes")


def _check_parts(space: spaces.Space[Any], part: spaces.Space[Any]) -> None:
    if isinstance(part, spaces.Dict | spaces.Tuple):
        inner = part.spaces.values() if isinstance(part, spaces.Dict) else part.spaces
        for each in inner:
            _check_parts(space, each)
        if inner:
            return
    elif isinstance(part, encoding.SIMPLE) and 0 not in (part.shape or ()):
        return
    where = "" if part is space else f" (its part {in_one_line(part)})"
    hint = ""
    if isinstance(space, spaces.Dict) and part in space.spaces.values():
        others = [name for name, each in space.spaces.items() if each is not part]
        if others:
            hint = f"; gymnasium.wrappers.FilterObservation(env, {others}) leaves that part out"
    raise UsageError(
        f"observation space {in_one_line(space)}{where} is not supported; "
        f"expected {_OBSERVATIONS}{hint}"
    )


def _bound(values: NDArray[Any]) -> Any:
    """One number where all are equal."""
    first = values.ravel()[0]
    return first.item() if (values == first).all() else values.tolist()


def _box(shape: tuple[int, ...], dtype: Any) -> spaces.Box:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return spaces.Box(-np.inf, np.inf, shape, kind.type)
    if kind.kind == "b":
        return spaces.Box(0, 1, shape, kind.type)
    limits = np.iinfo(kind)
    return spaces.Box(limits.min, limits.max, shape, kind.type)
