"""Rows of a table for observations that cannot be listed beforehand: each gets one when it is met.

An observation is known by a fingerprint of 64 bits. Every fingerprint may lie in two buckets and is
put into the emptier one, so that with half of the places taken no bucket is full (Azar et al. 1999:
balanced allocations), and finding one is two look-ups without a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

PLACES = 8  # of a bucket


class Rows(NamedTuple):
    """Which observation has which row."""

    prints: jax.Array  # uint32 [buckets, PLACES, 2]
    row: jax.Array  # int32 [buckets, PLACES]; −1: the place is free
    obs: jax.Array  # [most, *shape]: the observation of each row
    known: jax.Array  # int32: rows that are taken, 0 … known − 1


class Found(NamedTuple):
    """Where an observation is, or would be."""

    known: jax.Array  # bool
    row: jax.Array  # int32: its own, or the next free one
    bucket: jax.Array  # int32, where it would be put
    place: jax.Array  # int32


def no_rows(most: int, like: jax.Array) -> Rows:
    """A table of `most` rows, all of them free, for observations like this one.

    `most` is a power of two, at least PLACES.
    """
    buckets = 2 * most // PLACES
    prints = jnp.zeros((buckets, PLACES, 2), jnp.uint32)
    free = jnp.full((buckets, PLACES), -1, jnp.int32)
    return Rows(prints, free, jnp.zeros((most, *like.shape), like.dtype), jnp.int32(0))


def forgotten(rows: Rows) -> Rows:
    """Rows that find no observation again: what they say of one says what is believed of all."""
    return rows._replace(row=jnp.full_like(rows.row, -1))


def fingerprint(obs: jax.Array) -> jax.Array:
    """Two words, uint32 [2], that differ between observations of one shape."""
    if jnp.issubdtype(obs.dtype, jnp.floating):
        exact = jnp.where(obs == 0, 0.0, obs).astype(jnp.float32)  # −0 is 0
        words = jax.lax.bitcast_convert_type(exact, jnp.uint32).ravel()
    else:
        words = obs.astype(jnp.uint32).ravel()
    factors = np.random.default_rng(1).integers(0, 2**31, (2, words.size), dtype=np.uint32) * 2 + 1
    # Floats of short decimals end in zeros: without mixing first, products would as well.
    return _mixed(jnp.sum(_mixed(words)[None, :] * factors.astype(np.uint32), axis=-1))


def find(rows: Rows, obs: jax.Array) -> Found:
    """The row of an observation."""
    own = fingerprint(obs)
    buckets = (own % np.uint32(len(rows.row))).astype(jnp.int32)  # [2]
    taken = rows.row[buckets] >= 0  # [2, PLACES]
    same = taken & jnp.all(rows.prints[buckets] == own[None, None, :], axis=-1)
    met = jnp.sum(jnp.where(same, rows.row[buckets], 0)) // jnp.maximum(jnp.sum(same), 1)
    emptier = jnp.argmin(jnp.sum(taken, axis=-1))
    known = jnp.any(same)
    row = jnp.where(known, met, rows.known).astype(jnp.int32)
    return Found(known, row, buckets[emptier], jnp.argmin(taken[emptier]).astype(jnp.int32))


def added(rows: Rows, obs: jax.Array, full: jax.Array) -> tuple[Rows, jax.Array]:
    """The rows with one for that observation, and which it is; unchanged if they are `full`."""
    found = jax.lax.optimization_barrier(find(rows, obs))  # read before anything is written
    there = found.known | full
    at = (jnp.where(there, len(rows.row), found.bucket), found.place)  # beyond the end: nowhere
    own = jnp.where(there, len(rows.obs), found.row)
    return Rows(
        rows.prints.at[at].set(fingerprint(obs), mode="drop"),
        rows.row.at[at].set(found.row, mode="drop"),
        rows.obs.at[own].set(obs.astype(rows.obs.dtype), mode="drop"),
        rows.known + ~there,
    ), found.row


def _mixed(words: jax.Array) -> jax.Array:
    """Every bit of a word spread over all of them (the finaliser of MurmurHash3)."""
    words = (words ^ (words >> 16)) * np.uint32(0x85EBCA6B)
    words = (words ^ (words >> 13)) * np.uint32(0xC2B2AE35)
    return words ^ (words >> 16)
