"""Who plays the next episode, so that each role has its share of the steps, not of the episodes.

Episodes of one role may be much longer than those of another: exploring may hover for a thousand
steps where a greedy policy lands in two hundred. A role is therefore drawn with a chance in
proportion to its share over the length of its episodes. Chances, not turns in order: many
environments begin their episodes at once.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

LATEST = 20.0  # episodes that a length is the average of


class Lengths(NamedTuple):
    """Of the episodes of every role, [roles]."""

    episodes: jax.Array
    mean: jax.Array  # steps; over the latest episodes


def no_lengths(roles: int) -> Lengths:
    """Before the first episode."""
    return Lengths(jnp.zeros(roles), jnp.zeros(roles))


def next_role(shares: tuple[float, ...], lengths: Lengths, drawn: jax.Array) -> jax.Array:
    """The role that plays next; one that has a share and never played is likely to.

    Args:
        shares: of the steps, one for every role; they add up to 1.
        lengths: of their episodes.
        drawn: a number from 0 to 1.
    """
    weights = jnp.asarray(shares) / jnp.maximum(lengths.mean, 1.0)
    reached = jnp.cumsum(weights)
    return jnp.sum(drawn * reached[-1] >= reached[:-1]).astype(jnp.int32)


def with_episode(lengths: Lengths, role: jax.Array, steps: jax.Array, ended: jax.Array) -> Lengths:
    """The lengths with those of one more episode, if it ended."""
    counts = ended & (jnp.arange(len(lengths.mean)) == role)
    episodes = jnp.minimum(lengths.episodes + 1, LATEST)
    mean = lengths.mean + (steps.astype(jnp.float32) - lengths.mean) / episodes
    return Lengths(
        jnp.where(counts, episodes, lengths.episodes), jnp.where(counts, mean, lengths.mean)
    )
