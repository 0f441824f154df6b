"""How new an observation is that no table can list: visits to its codes (isl.nn.codes).

u(s,a) is the mean over the codes of (1 + visits)^-power: 1 where no code was ever met with that
action, near 0 where all of them were. It needs no learning, so it is right at the first look.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

MOST_CELLS, MOST_NUMBERS = 4096, 1 << 18  # per code: cells, and cells × actions


def cells_for(num_actions: int) -> int:
    """How many cells a code has."""
    return max(64, min(MOST_CELLS, MOST_NUMBERS // num_actions))


def no_visits(codes: int, num_actions: int) -> jax.Array:
    """Of every cell and action, [codes, cells, A]."""
    return jnp.zeros((codes, cells_for(num_actions), num_actions))


def visited(visits: jax.Array, code: jax.Array, action: jax.Array) -> jax.Array:
    """The visits with one more; `code` [codes]."""
    return visits.at[jnp.arange(len(code)), code, action].add(1.0)


def novelty(visits: jax.Array, code: jax.Array, power: float, alone: int = 0) -> jax.Array:
    """u(s, ·) in [0, 1] of observations by their codes: [..., codes] → [..., A].

    Of the first `alone` codes, which look at one part each, the largest novelty counts.
    """
    which = jnp.arange(visits.shape[0]).reshape((1,) * (code.ndim - 1) + (-1,))
    each = jnp.exp(-power * jnp.log1p(visits[which, code]))
    together = jnp.mean(each[..., alone:, :], axis=-2)
    if not alone:
        return together
    return (jnp.max(each[..., :alone, :], axis=-2) + together) / 2
