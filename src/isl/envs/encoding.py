"""Nested observations as one array: the digits of a finite space, or a vector of numbers.

Observations may have batch axes in front. `xp` is NumPy or, in compiled tasks, `jax.numpy`; only in
NumPy can a value that does not belong to its space be refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from isl.errors import UsageError

SIMPLE = (spaces.Discrete, spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)
SMALL_RANGE = 256  # values of one integer of a Box; beyond, it is a magnitude and not a symbol


class Part(NamedTuple):
    """A simple space inside a nested one."""

    path: tuple[Any, ...]  # the keys that lead to it
    space: spaces.Space[Any]
    shape: tuple[int, ...]
    counts: NDArray[np.int64] | None  # how many values each of its numbers has, if countable
    first: NDArray[np.int64]  # the smallest of them

    def value(self, obs: Any, xp: Any) -> Any:
        """Its part of an observation, [..., *shape]."""
        for key in self.path:
            obs = obs[key]
        value, rank = xp.asarray(obs), len(self.shape)
        if value.ndim < rank or value.shape[value.ndim - rank :] != self.shape:
            raise UsageError(f"observed an array of shape {value.shape}, expected {self.shape}")
        return value

    def numbers(self, obs: Any, xp: Any) -> Any:
        """The numbers of `value` in a row, [..., k]."""
        value = self.value(obs, xp)
        return value.reshape(*value.shape[: value.ndim - len(self.shape)], -1)

    def digits(self, obs: Any, xp: Any) -> Any:
        """The numbers counted from 0, [..., k]."""
        numbers = self.numbers(obs, xp)
        if numbers.dtype.kind not in "biu":
            raise UsageError(f"observed {numbers.dtype} values, expected whole numbers")
        kind: Any = np.int64 if xp is np else np.int32
        digits = numbers.astype(kind) - along_last(self.first.astype(kind), numbers.ndim)
        if xp is np and ((digits < 0) | (digits >= self.counts)).any():
            told = np.array2string(np.asarray(numbers), threshold=8)
            raise UsageError(f"observed {told}, which is not in {in_one_line(self.space)}")
        return digits


def parts(space: spaces.Space[Any], path: tuple[Any, ...] = ()) -> list[Part]:
    """The simple spaces in a space, in Gymnasium's order."""
    if isinstance(space, spaces.Dict):
        return [part for key, each in space.spaces.items() for part in parts(each, (*path, key))]
    if isinstance(space, spaces.Tuple):
        return [part for i, each in enumerate(space.spaces) for part in parts(each, (*path, i))]
    return [Part(path, space, space.shape or (), _counts(space), _first(space))]


def states(space: spaces.Space[Any], most: int) -> int | None:
    """How many observations a space has; None if they cannot be counted or are more than `most`."""
    product = 1
    for part in parts(space):
        if part.counts is None:
            return None
        for count in part.counts.tolist():
            product *= count
            if product > most:
                return None
    return product


def index(space: spaces.Space[Any]) -> Callable[..., Any]:
    """Observations of a finite space as one number, int32: mixed radix, the first digit leads."""
    members = parts(space)
    counts = [count for part in members if part.counts is not None for count in part.counts]
    weights = np.append(np.cumprod(counts[:0:-1])[::-1], 1).astype(np.int64)

    def encode(obs: Any, xp: Any = np) -> Any:
        digits = xp.concatenate([part.digits(obs, xp) for part in members], axis=-1)
        weighted = digits * along_last(weights.astype(digits.dtype), digits.ndim)
        return weighted.sum(-1).astype(np.int32)

    return encode


def flat(space: spaces.Space[Any]) -> Callable[..., Any]:
    """Observations as one float32 vector; the same numbers as Gymnasium's `flatten`."""
    members = [flat_part(part)[1] for part in parts(space)]

    def encode(obs: Any, xp: Any = np) -> Any:
        return xp.concatenate([member(obs, xp) for member in members], axis=-1)

    return encode


def flat_part(part: Part) -> tuple[int, Callable[..., Any]]:
    """How many numbers of a vector a part makes, and what gives them, float32."""
    codes = _one_hot(part)
    if codes is None:
        numbers = lambda obs, xp=np: part.numbers(obs, xp).astype(np.float32)  # noqa: E731
        return math.prod(part.shape), numbers
    owner, value = codes

    def one_hot(obs: Any, xp: Any = np) -> Any:
        digits = part.digits(obs, xp)[..., owner]
        return (digits == along_last(value, digits.ndim)).astype(np.float32)

    return len(owner), one_hot


def as_type(dtype: Any, space: spaces.Box) -> Callable[..., Any]:
    """Observations of a Box as they are, but for their type."""
    (part,) = parts(space)
    narrows = dtype == np.uint8 and space.dtype != np.uint8

    def encode(obs: Any, xp: Any = np) -> Any:
        array = part.value(obs, xp)
        if narrows and xp is np and ((array < 0) | (array > 255)).any():
            raise UsageError(f"observed {array.max()}, expected whole numbers from 0 to 255")
        return xp.asarray(array, dtype)

    return encode


def has_whole_numbers(space: spaces.Box, low: float, high: float) -> bool:
    """Whether a Box has integers alone, all of them from `low` to `high`."""
    whole = space.dtype is not None and space.dtype.kind in "biu"
    return whole and bool(space.low.min() >= low and space.high.max() <= high)


def one_hot(x: Any, number: int) -> Any:
    """The codes [..., number] of integers, in NumPy or JAX."""
    return (x[..., None] == along_last(np.arange(number), x.ndim + 1)).astype(np.float32)


def along_last(values: NDArray[Any], axes: int) -> NDArray[Any]:
    """With as many axes, of which the last one is theirs: JAX can be told to add none itself."""
    return values.reshape(*[1] * (axes - 1), -1)


def in_one_line(space: spaces.Space[Any]) -> str:
    """A space for messages: those with many bounds are cut."""
    told = " ".join(str(space).split())
    return told if len(told) <= 160 else f"{told[:157]}…"


def _counts(space: spaces.Space[Any]) -> NDArray[np.int64] | None:
    match space:
        case spaces.Discrete():
            return np.array([space.n], np.int64)
        case spaces.MultiDiscrete():
            return np.asarray(space.nvec, np.int64).ravel()
        case spaces.MultiBinary():
            return np.full(math.prod(space.shape), 2, np.int64)
        case spaces.Box() if space.dtype is not None and space.dtype.kind in "biu":
            counts = space.high.astype(np.float64) - space.low.astype(np.float64) + 1
            return counts.astype(np.int64).ravel() if (counts <= SMALL_RANGE).all() else None
    return None


def _first(space: spaces.Space[Any]) -> NDArray[np.int64]:
    match space:
        case spaces.Discrete() | spaces.MultiDiscrete():
            return np.asarray(space.start, np.int64).ravel()
        case spaces.Box() if space.dtype is not None and space.dtype.kind in "biu":
            return space.low.astype(np.int64).ravel()
    return np.zeros(1, np.int64)


def _one_hot(part: Part) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Of each number of a one-hot code: the digit that it is about, and the value it stands for."""
    if part.counts is None or not isinstance(part.space, spaces.Discrete | spaces.MultiDiscrete):
        return None
    owner = np.repeat(np.arange(len(part.counts)), part.counts)
    return owner, np.concatenate([np.arange(count) for count in part.counts])
