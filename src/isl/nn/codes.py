"""Codes of observations: similar ones share codes, so that visits to what is similar are counted.

`encode` turns an observation into `number` integers below `cells`. Each code is a coarse look at
the observation of its own: two observations share the more codes the more alike they are.

    vectors   the tile in which up to three of its numbers fall, others for each code; of long ones
              the signs of random projections (Tang et al. 2017)
    images    a hash of a random part of the pixels; the first code has all of them
    symbols   a hash of every cell alone, and of random parts of the cells
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


Encode = Callable[[jax.Array], jax.Array]  # [..., *shape] → int32 [..., number]


class Codes(NamedTuple):
    """The codes of a kind of observation."""

    encode: Encode
    number: int
    alone: int = 0  # how many of them, the first ones, look at one cell each
    power: float = 4.0  # novelty is (1 + visits)^-power


AXES = 3  # dimensions of a tile
LONG = 48  # numbers, beyond which tiles would see too few of them
SIGNS = 12  # of a code of a long vector
LEVELS = 8  # of brightness that the codes of images tell apart
MOST_PIXELS = 1024  # that they read: of larger images the brightest of every square


def vector_codes(size: int, number: int, width: float, cells: int) -> Codes:
    """For vectors of `size` numbers, each with a standard deviation of about 1.

    Tiles lie along the axes: if one number is far from all that was seen, every tile with that
    number is new. Tiles of random projections would add it to others and hide it among them.
    """
    if size > LONG:
        return _sign_codes(size, number, width, cells)
    rng = np.random.default_rng(0)
    axes = _axes(rng, size, number)
    offsets = rng.uniform(size=axes.shape).astype(np.float32)
    factors = _odd(rng, axes.shape)

    def encode(obs: jax.Array) -> jax.Array:
        read = obs[..., axes] / width
        tile = jnp.floor(jnp.clip(_like(offsets, read) + read, -1e6, 1e6)).astype(jnp.int32)
        return _hashed(tile.astype(jnp.uint32), factors, cells)

    return Codes(encode, number)


def _sign_codes(size: int, number: int, width: float, cells: int) -> Codes:
    """For vectors that are too long for tiles along the axes: the signs of random projections.

    What is less than half a tile from the mean counts as 0: of many numbers that are nearly always
    the same the statistics drift, and signs should not.
    """
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((size, number * SIGNS)).astype(np.float32)
    powers = (1 << np.arange(SIGNS)).astype(np.uint32)
    factors = _odd(rng, (number, 1))

    def encode(obs: jax.Array) -> jax.Array:
        signs = jnp.floor(obs / width + 0.5) @ directions > 0
        words = signs.reshape(*obs.shape[:-1], number, SIGNS).astype(jnp.uint32)
        words = jnp.sum(words * _like(powers, words), axis=-1, keepdims=True, dtype=jnp.uint32)
        return _hashed(words, factors, cells)

    return Codes(encode, number)


def _axes(rng: np.random.Generator, size: int, number: int) -> Numbers:
    """Which numbers each code reads, [number, at most AXES]: each of them about equally often."""
    each = min(size, AXES)
    turns = -(-number * each // size)
    drawn = np.concatenate([rng.permutation(size) for _ in range(turns)])[: number * each]
    axes = drawn.reshape(number, each)
    for row in axes:  # where two permutations meet, a number may be there twice
        while len(set(row)) < each:
            row[:] = rng.permutation(size)[:each]
    return axes


def image_codes(shape: tuple[int, ...], number: int, cells: int) -> Codes:
    """For uint8 images."""
    rng = np.random.default_rng(0)
    side = 1
    while np.prod([-(-n // side) if n > 4 else n for n in shape]) > MOST_PIXELS:
        side *= 2
    pooled = jax.eval_shape(lambda x: _pooled(x, side), jax.ShapeDtypeStruct(shape, np.uint8))
    pixels = int(np.prod(pooled.shape))
    share = _shares(number)
    factors = _odd(rng, (number, pixels)) * (rng.uniform(size=(number, pixels)) < share)

    def encode(obs: jax.Array) -> jax.Array:
        batch = obs.shape[: obs.ndim - len(shape)]
        flat = obs.reshape(-1, *shape)
        levels = jax.vmap(lambda x: _pooled(x, side))(flat).reshape(len(flat), pixels)
        words = (levels * LEVELS // 256).astype(jnp.uint32)
        return _hashed(words[:, None, :], factors.astype(np.uint32), cells).reshape(*batch, number)

    return Codes(encode, number)


def symbol_codes(shape: tuple[int, ...], number: int, cells: int) -> Codes:
    """For symbols: a code of every cell alone, then of random parts of the cells, and of all."""
    rng = np.random.default_rng(0)
    channels = shape[-1] if len(shape) == 3 else 1
    places = int(np.prod(shape)) // channels
    of_cells = _odd(rng, (places, channels))
    parts = rng.uniform(size=(number, places)) < _shares(number)
    of_parts = (_odd(rng, (number, places, channels)) * parts[:, :, None]).astype(np.uint32)

    def encode(obs: jax.Array) -> jax.Array:
        batch = obs.shape[: obs.ndim - len(shape)]
        words = obs.reshape(*batch, places, channels).astype(jnp.uint32)
        alone = _hashed(words, of_cells, cells)
        together = _hashed(words.reshape(*batch, 1, -1), of_parts.reshape(number, -1), cells)
        return jnp.concatenate([alone, together], axis=-1)

    return Codes(encode, places + number, alone=places)


def _shares(number: int) -> Numbers:
    """Of the pixels that a code reads: all, then a half, a quarter and an eighth in turn."""
    return np.asarray([1.0, *(0.5 ** (1 + i % 3) for i in range(number - 1))])[:, None]


def _pooled(image: jax.Array, side: int) -> jax.Array:
    """The largest value of every square of `side` pixels, as integers."""
    window = tuple(side if n > 4 else 1 for n in image.shape)
    values = image.astype(jnp.int32)
    pooled: jax.Array = jax.lax.reduce_window(values, 0, jax.lax.max, window, window, "SAME")
    return pooled


def _odd(rng: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    return rng.integers(0, 2**31, shape, dtype=np.uint32) * np.uint32(2) + np.uint32(1)


def _hashed(words: jax.Array, factors: Numbers, cells: int) -> jax.Array:
    """A number below `cells` from words [..., number | 1, n]: the high bits of Σ word·factor."""
    mixed = jnp.sum(words * _like(factors, words), axis=-1)
    mixed = (mixed ^ (mixed >> 15)) * np.uint32(0x2C1B3C6D)
    return ((mixed ^ (mixed >> 12)) % np.uint32(cells)).astype(jnp.int32)


def _like(array: Numbers, batch: jax.Array) -> Numbers:
    """With leading axes of length 1, so that it meets a batch."""
    return array.reshape((1,) * (batch.ndim - array.ndim) + array.shape)
