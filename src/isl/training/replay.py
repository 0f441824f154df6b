"""A ring buffer over any pytree of arrays; knows nothing of RL.

The write position is an argument, not state: under `vmap` it stays one counter shared by all seeds.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from isl.nn.random_indices import uniform_indices

Storage = Any  # a pytree whose leaves have a leading axis of `capacity` items


def create(item: Any, capacity: int) -> Storage:
    """An empty buffer for items shaped like `item` (arrays or anything with shape and dtype)."""
    return jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), item)


def add(storage: Storage, item: Any, count: jax.Array) -> Storage:
    """Store the `count`-th item (counted from 0), over the oldest once the buffer is full."""
    return write(storage, item, count % _capacity(storage))


def write(buffers: Any, item: Any, position: jax.Array) -> Any:
    """Put one item at a position of every buffer."""
    return jax.tree.map(
        lambda buffer, x: jax.lax.dynamic_update_index_in_dim(buffer, x, position, 0),
        buffers,
        item,
    )


def loop_length(n: jax.Array | int, counter: jax.Array) -> jax.Array:
    """`n`, so that XLA does not know it, for a loop that adds to a buffer; `counter` is never < 0.

    XLA would inline a loop of one known step, fuse the write with the sampling after it, and then
    copy the whole buffer each time.
    """
    return jnp.where(counter >= 0, n, 0)


def sample(storage: Storage, key: jax.Array, count: jax.Array, batch_size: int) -> Any:
    """A batch drawn uniformly, with replacement, from the items held after `count` additions."""
    held = jnp.minimum(count, _capacity(storage))
    indices = uniform_indices(key, held, (batch_size,))
    return jax.tree.map(lambda buffer: buffer.at[indices].get(mode="promise_in_bounds"), storage)


def _capacity(storage: Storage) -> int:
    leaf = jax.tree.leaves(storage)[0]
    return int(leaf.shape[0])
