"""Random features: unit length and a Gaussian kernel. tests/agents/test_seeker.py: what for."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from isl.nn.random_features import BANDWIDTH, fourier


@pytest.mark.parametrize("d", [2, 8, 100])
def test_the_kernel(d):
    x, y = np.random.default_rng(1).normal(size=(2, 50, d)).astype(np.float32)
    y = x + 0.3 * y
    phi = [np.asarray(fourier(jnp.asarray(z), 4096)) for z in (x, y)]
    near = np.exp(-((x - y) ** 2).sum(-1) / (2 * BANDWIDTH**2 * d))
    np.testing.assert_allclose((phi[0] * phi[1]).sum(-1), near, atol=0.08)
    np.testing.assert_allclose((phi[0] ** 2).sum(-1), 1, atol=0.08)


def test_the_same_features_for_one_and_for_many():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)), jnp.float32)
    np.testing.assert_allclose(fourier(x, 32)[2], fourier(x[2], 32), atol=1e-5)
