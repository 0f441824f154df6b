"""heads: where g, q̂ and h are, in networks of their own or in one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from isl.agents import seeker
from isl.agents.seeker.heads import HOPE, Heads

CONFIG = seeker.Config(hidden=(6,))
SPACES = {
    "vectors": Box(-1, 1, (3,), np.float32),
    "images": Box(0, 255, (8, 8, 1), np.uint8),
}


@pytest.fixture(params=SPACES)
def made(request):
    """Heads with some parameters that are not 0, and an observation."""
    space = SPACES[request.param]
    heads = Heads(CONFIG, space, 4, layer_norm=True)
    state = heads.networks.init(jax.random.key(0))
    leaves, shape = jax.tree.flatten(state.params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    moved = [x + jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    state = state._replace(params=jax.tree.unflatten(shape, moved))
    return heads, state, jnp.asarray(space.sample())


def test_images_share_one_network():
    networks = {name: len(Heads(CONFIG, s, 4).networks.nets) for name, s in SPACES.items()}
    assert networks == {"vectors": 2, "images": 1}


def test_the_policy_is_what_g_depends_on(made):
    heads, state, obs = made
    told = heads.read(state, obs)
    assert [x.shape for x in told] == [(4,)] * 3
    assert len({float(x.sum()) for x in told}) == 3  # three different things
    np.testing.assert_array_equal(heads.values_of(state, heads.policy(state), obs), told.g)


def test_values_are_scaled_and_h_is_not(made):
    heads, state, obs = made
    before = heads.read(state, obs)
    after = heads.read(heads.scaled(state, jnp.float32(3)), obs)
    np.testing.assert_allclose(after.g, 3 * before.g, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(after.q, 3 * before.q, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(after.h, before.h, rtol=1e-5, atol=1e-5)
    policy = heads.scaled_policy(heads.policy(state), jnp.float32(3))
    np.testing.assert_allclose(
        heads.values_of(state, policy, obs), 3 * before.g, rtol=1e-5, atol=1e-5
    )


def test_before_learning_values_are_0_and_most_is_hoped_for(made):
    heads, _, obs = made
    told = heads.read(heads.networks.init(jax.random.key(0)), obs)
    np.testing.assert_array_equal(told.g, 0.0)
    np.testing.assert_array_equal(told.h, HOPE)
