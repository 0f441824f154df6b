"""A pytree of many small arrays as a few large ones, for calls that are made once per step.

Handing an array to a compiled function costs the host about as much as a small layer costs the
device, and an agent's state has dozens. Packed, there is one array per type, and the large ones
(the replay) stay as they are. What is wanted of it now and then is read and replaced on the host:
a program for each would have to be compiled, at every start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

SMALL = 1 << 14  # elements; copying more than this costs more than handing it over

Packed = tuple[jax.Array, ...]
Part = Callable[[Any], Any]  # a part of the tree: `lambda state: state.learner`


class _Place(NamedTuple):
    """Where a leaf is: in an array, from one element to another; a large leaf is an array."""

    array: int
    elements: slice | None


class Packing:
    """How trees shaped like `example` are packed.

    `pack` and `unpack` can be traced. They use `jax.lax` itself: tracing `jax.numpy` for each of a
    hundred leaves took a twentieth of a start.
    """

    def __init__(self, example: Any) -> None:
        leaves, tree = jax.tree.flatten(example)
        self._leaves: list[Any] = leaves
        self._tree: Any = tree
        self._sizes = sizes = [math.prod(leaf.shape) for leaf in self._leaves]
        self._large = [i for i, size in enumerate(sizes) if size > SMALL]
        self._small: dict[Any, list[int]] = {}  # by type
        for i, leaf in enumerate(self._leaves):
            if i not in self._large:
                self._small.setdefault(leaf.dtype, []).append(i)
        self._places = {leaf: _Place(array, None) for array, leaf in enumerate(self._large)}
        for array, members in enumerate(self._small.values(), len(self._large)):
            begin = 0
            for i in members:
                self._places[i] = _Place(array, slice(begin, begin + sizes[i]))
                begin += sizes[i]

    def pack(self, tree: Any) -> Packed:
        """The large leaves, then one array per type."""
        leaves = self._tree.flatten_up_to(tree)
        joined = (
            jax.lax.concatenate([jax.lax.reshape(leaves[i], (self._sizes[i],)) for i in members], 0)
            for members in self._small.values()
        )
        return (*(leaves[i] for i in self._large), *joined)

    def unpack(self, packed: Packed) -> Any:
        """The tree again."""
        arrays = dict(zip(self._large, packed, strict=False))
        for members, joined in zip(self._small.values(), packed[len(self._large) :], strict=True):
            parts = jax.lax.split(joined, [self._sizes[i] for i in members])
            for i, part in zip(members, parts, strict=True):
                arrays[i] = jax.lax.reshape(part, self._leaves[i].shape)
        return self._tree.unflatten([arrays[i] for i in range(len(self._leaves))])

    def template(self) -> Any:
        """The tree with shapes and types alone."""
        return self._tree.unflatten(self._leaves)

    def read(self, packed: Packed, part: Part) -> Any:
        """A part of the tree on the host: views, to be copied before `packed` is handed on."""
        wanted, tree = self._numbers_of(part)
        arrays = {self._places[i].array for i in wanted}
        host = {array: np.asarray(packed[array]) for array in arrays}
        return tree.unflatten([self._leaf(host, i) for i in wanted])

    def replace(self, packed: Packed, part: Part, values: Any) -> Packed:
        """The same with a part of the tree replaced; `values` are copied."""
        wanted, tree = self._numbers_of(part)
        changed: dict[int, np.ndarray[Any, Any]] = {}
        for i, value in zip(wanted, tree.flatten_up_to(values), strict=True):
            array, elements = self._places[i]
            if elements is None:
                changed[array] = np.array(value, self._leaves[i].dtype)
                continue
            if array not in changed:
                changed[array] = np.array(packed[array])
            changed[array][elements] = np.ravel(value)
        return tuple(
            jax.device_put(changed[array]) if array in changed else kept
            for array, kept in enumerate(packed)
        )

    def _numbers_of(self, part: Part) -> tuple[list[int], Any]:
        """The numbers of the leaves of a part, and its structure."""
        return jax.tree.flatten(part(self._tree.unflatten(range(len(self._leaves)))))

    def _leaf(self, arrays: Any, i: int) -> Any:
        array, elements = self._places[i]
        joined = arrays[array]
        return joined if elements is None else joined[elements].reshape(self._leaves[i].shape)
