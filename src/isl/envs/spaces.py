"""From an environment's spaces to what networks and replay see, and from actions back to it.

    Discrete                     an index from 0, int32: a table look-up in the first layer
    Box, uint8, 2 or 3 axes      an image: kept as uint8, read by convolutions
    any other Box                a float32 vector
    MultiDiscrete, MultiBinary   a float32 vector of zeros and ones
    Dict, Tuple of these         flattened, joined to one float32 vector

Actions: Discrete, and MultiDiscrete as one index over all combinations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim, flatten
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from isl.errors import UsageError

MAX_ACTIONS = 4096
_SIMPLE = (spaces.Discrete, spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)
_OBSERVATIONS = "Discrete, Box, MultiDiscrete, MultiBinary, and Dict or Tuple of these"


class Observations(NamedTuple):
    """How the observations of one environment are read."""

    space: spaces.Space[Any]  # the environment's
    seen: spaces.Discrete | spaces.Box  # what networks and replay see
    encode: Callable[[Any], NDArray[Any]]  # one observation
    encode_batch: Callable[[Any], NDArray[Any]]  # a vector environment's: a leading axis
    is_batch: Callable[[Any], bool]  # whether an observation has that axis


class Actions(NamedTuple):
    """How an index 0 … number−1 becomes an action of the environment."""

    space: spaces.Space[Any]
    number: int
    decode: Callable[[Any], Any]  # an index, or an array of them


def is_image(space: spaces.Space[Any]) -> bool:
    """uint8 with two axes, or three of which one is for channels."""
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) in (2, 3)


def observations(space: spaces.Space[Any]) -> Observations:
    """The reading of an observation space; `UsageError` if it is not one that networks can read."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)

        def index(obs: Any) -> NDArray[Any]:
            return np.asarray(obs, np.int32) - np.int32(start)

        seen = spaces.Discrete(int(space.n))
        return Observations(space, seen, index, index, lambda obs: np.ndim(obs) == 1)
    if isinstance(space, spaces.Box):
        dtype: Any = np.uint8 if is_image(space) else np.float32

        def array(obs: Any) -> NDArray[Any]:
            return np.asarray(obs, dtype)

        rank = len(space.shape)
        box = _box(space.shape, dtype)
        return Observations(space, box, array, array, lambda obs: np.ndim(obs) == rank + 1)
    _check_parts(space, space)

    def flat(obs: Any) -> NDArray[Any]:
        return np.asarray(flatten(space, obs), np.float32)

    def flat_batch(obs: Any) -> NDArray[Any]:
        batched = batch_space(space, _batch_size(space, obs))
        return np.stack([flat(one) for one in iterate(batched, obs)])

    box = _box((flatdim(space),), np.float32)
    return Observations(space, box, flat, flat_batch, lambda obs: _batch_size(space, obs) > 0)


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


def describe(space: spaces.Space[Any]) -> dict[str, Any]:
    """Plain JSON: what a model file must know of a space. Bounds of a Box do not matter to us."""
    match space:
        case spaces.Discrete():
            return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
        case spaces.Box():
            return {"kind": "Box", "shape": list(space.shape), "dtype": str(space.dtype)}
        case spaces.MultiDiscrete():
            return {
                "kind": "MultiDiscrete",
                "nvec": space.nvec.tolist(),
                "start": space.start.tolist(),
            }
        case spaces.MultiBinary():
            return {"kind": "MultiBinary", "shape": list(space.shape)}
        case spaces.Dict():
            parts = [[name, describe(part)] for name, part in space.spaces.items()]
            return {"kind": "Dict", "parts": parts}
        case spaces.Tuple():
            return {"kind": "Tuple", "parts": [describe(part) for part in space.spaces]}
    raise UsageError(f"space {space} is not supported; expected {_OBSERVATIONS}")


def from_description(description: Mapping[str, Any]) -> spaces.Space[Any]:
    """The space that `describe` was told about, its Boxes as wide as their type."""
    match description:
        case {"kind": "Discrete", "n": n, "start": start}:
            return spaces.Discrete(n, start=start)
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
    elif not isinstance(part, _SIMPLE):
        where = "" if part is space else f" (its part {part})"
        raise UsageError(
            f"observation space {space}{where} is not supported; expected {_OBSERVATIONS}"
        )


def _batch_size(space: spaces.Space[Any], obs: Any) -> int:
    """How many observations there are along the leading axis; 0 if `obs` is a single one."""
    if isinstance(space, spaces.Dict):
        name = next(iter(space.spaces))
        return _batch_size(space.spaces[name], obs[name])
    if isinstance(space, spaces.Tuple):
        return _batch_size(space.spaces[0], obs[0])
    shape = np.shape(obs)
    return shape[0] if len(shape) > len(space.shape or ()) else 0


def _box(shape: tuple[int, ...], dtype: Any) -> spaces.Box:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return spaces.Box(-np.inf, np.inf, shape, kind.type)
    limits = np.iinfo(kind)
    return spaces.Box(limits.min, limits.max, shape, kind.type)
