"""Random indices, drawn in one kernel: a batch from the replay, an ensemble member, an action."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from isl import threefry


def uniform_indices(key: jax.Array, size: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Indices in 0 … size−1. `bits % size` is biased by size/2³², and 3× faster than `randint`."""
    return (threefry.bits(key, shape) % size.astype(jnp.uint32)).astype(jnp.int32)
