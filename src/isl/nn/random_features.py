"""Fixed random features of vectors, in which different observations are nearly orthogonal.

A table look-up does that exactly: one-hot codes of unit length. For vectors it is done by random
Fourier features (Rahimi & Recht 2007): φ(x)·φ(y) ≈ exp(−|x − y|² / 2b²), so that |φ(x)| ≈ 1 for
every x and the features of two observations have nothing in common once they are a few b apart.
What a network without biases learns on φ where it was trained then leaves its output alone where it
was not: docs/your-environment.md says why ℓ needs this.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box

BANDWIDTH = 0.5  # b / √d: of the distance √(2d) between two independent normalised observations


def fourier_space(number: int) -> Box:
    """The space of so many features."""
    return Box(-1.0, 1.0, (number,), np.float32)


def fourier(x: jax.Array, number: int) -> jax.Array:
    """φ: normalised vectors [..., d] → [..., number]; the same draw everywhere and for ever."""
    d = x.shape[-1]
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((d, number)) / (BANDWIDTH * math.sqrt(d))
    phases = rng.uniform(0, 2 * math.pi, number)
    angles = x @ jnp.asarray(frequencies, jnp.float32)
    angles = angles + jnp.asarray(phases, jnp.float32).reshape((1,) * (x.ndim - 1) + (number,))
    return math.sqrt(2 / number) * jnp.cos(angles)


def for_linear(features: jax.Array) -> jax.Array:
    """Features whose absolute values add up to about 1, as those of a one-hot code do.

    Adam moves each weight by its rate, and so a linear output by the rate times that sum: the same
    rate then serves vectors and tables.
    """
    number = features.shape[-1]
    return features * (math.pi / 2 / math.sqrt(2 * number))
