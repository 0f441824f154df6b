"""A ring buffer over any pytree of arrays; knows nothing of RL.

The write position is an argument, not state: under `vmap` it stays one shared counter, so that
XLA writes one slice in place instead of scattering.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from isl import rng

Storage = Any  # a pytree whose leaves have a leading axis of `capacity` items


def create(item: Any, capacity: int) -> Storage:
    """An empty buffer for items shaped like `item` (arrays or anything with shape and dtype)."""
    return jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), item)


def add(storage: Storage, item: Any, count: jax.Array) -> Storage:
    """Store the `count`-th item (counted from 0), over the oldest once the buffer is full."""
    position = count % _capacity(storage)
    return jax.tree.map(lambda buffer, x: buffer.at[position].set(x), storage, item)


def sample(storage: Storage, key: jax.Array, count: jax.Array, batch_size: int) -> Any:
    """A batch drawn uniformly, with replacement, from the items held after `count` additions."""
    held = jnp.minimum(count, _capacity(storage))
    indices = rng.uniform_indices(key, held, (batch_size,))
    return jax.tree.map(lambda buffer: buffer.at[indices].get(mode="promise_in_bounds"), storage)


def _capacity(storage: Storage) -> int:
    leaf = jax.tree.leaves(storage)[0]
    return int(leaf.shape[0])
