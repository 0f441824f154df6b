"""Every random stream derives from (task, seed, stream name), never from launch order."""

from __future__ import annotations

import hashlib

import jax
import numpy as np
import numpy.typing as npt


def stream_key(task: str, seed: int, stream: str) -> npt.NDArray[np.uint32]:
    """Raw threefry key data [2] of one stream, e.g. `stream_key("deep_sea/20", 0, "env")`."""
    digest = hashlib.sha256(f"{task}\0{seed}\0{stream}".encode()).digest()
    return np.frombuffer(digest[:8], dtype="<u4").astype(np.uint32)


def at(stream: jax.Array, counter: jax.Array) -> jax.Array:
    """The key that a stream (raw key data) holds for a point in time: independent of chunking."""
    return jax.random.fold_in(jax.random.wrap_key_data(stream, impl="threefry2x32"), counter)
