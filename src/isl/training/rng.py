"""Every random stream derives from (task, seed, stream name), never from launch order."""

from __future__ import annotations

import hashlib
import math

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt


def stream_key(task: str, seed: int, stream: str) -> npt.NDArray[np.uint32]:
    """Raw threefry key data [2] of one stream, e.g. `stream_key("deep_sea/20", 0, "env")`."""
    digest = hashlib.sha256(f"{task}\0{seed}\0{stream}".encode()).digest()
    return np.frombuffer(digest[:8], dtype="<u4").astype(np.uint32)


def at(stream: jax.Array, counter: jax.Array) -> jax.Array:
    """The key that a stream (raw key data) holds for a point in time: independent of chunking."""
    return jax.random.fold_in(jax.random.wrap_key_data(stream, impl="threefry2x32"), counter)


def uniform_indices(key: jax.Array, size: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Indices in 0 … size−1. `bits % size` is biased by size/2³², and 3× faster than `randint`."""
    bits = _bits(jax.random.key_data(key), shape)
    return (bits % size.astype(jnp.uint32)).astype(jnp.int32)


def _bits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """`jax.random.bits` of a threefry key, its 20 rounds (Salmon et al. 2011) in one kernel.

    JAX compiles them as a loop of kernels on a CPU: 11 µs instead of 1 for a batch of 256.
    """
    keys = key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA)
    count = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    x = jnp.broadcast_to(keys[0], shape)
    y = count + keys[1]
    for group in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = x + y
            y = x ^ ((y << jnp.uint32(rotation)) | (y >> jnp.uint32(32 - rotation)))
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return x ^ y
