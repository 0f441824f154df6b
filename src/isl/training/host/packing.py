"""A pytree of many small arrays as a few large ones, for calls that are made once per step.

Handing an array to a compiled function costs the host about as much as a small layer costs the
device, and an agent's state has dozens. Packed, there is one array per type, and the large ones
(the replay) stay as they are.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

SMALL = 1 << 14  # elements; copying more than this costs more than handing it over

Packed = tuple[jax.Array, ...]


class Packing:
    """How trees shaped like `example` are packed; both functions can be traced."""

    def __init__(self, example: Any) -> None:
        leaves, tree = jax.tree.flatten(example)
        self._leaves: list[Any] = leaves
        self._tree: Any = tree
        sizes = [math.prod(leaf.shape) for leaf in self._leaves]
        self._large = [i for i, size in enumerate(sizes) if size > SMALL]
        self._small: dict[Any, list[int]] = {}  # by type
        for i, leaf in enumerate(self._leaves):
            if i not in self._large:
                self._small.setdefault(leaf.dtype, []).append(i)

    def pack(self, tree: Any) -> Packed:
        """The large leaves, then one array per type."""
        leaves = self._tree.flatten_up_to(tree)
        joined = (
            jnp.concatenate([jnp.ravel(leaves[i]) for i in members])
            for members in self._small.values()
        )
        return (*(leaves[i] for i in self._large), *joined)

    def unpack(self, packed: Packed) -> Any:
        """The tree again."""
        leaves = dict(zip(self._large, packed, strict=False))
        for members, joined in zip(self._small.values(), packed[len(self._large) :], strict=True):
            shapes = [self._leaves[i].shape for i in members]
            ends = [0]
            for shape in shapes:
                ends.append(ends[-1] + math.prod(shape))
            for i, shape, start, end in zip(members, shapes, ends, ends[1:], strict=False):
                leaves[i] = joined[start:end].reshape(shape)
        return self._tree.unflatten([leaves[i] for i in range(len(self._leaves))])
