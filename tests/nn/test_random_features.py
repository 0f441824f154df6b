"""Random features: unit length, a Gaussian kernel, and what they are for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from isl.agents import isl as agent_module
from isl.agents.base import Transition
from isl.experiments import presets
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


def learned_ell(**changes) -> tuple[np.ndarray, np.ndarray]:
    """ℓ where everything is known (around the origin and elsewhere), and far from there."""
    config = agent_module.Config().replace(
        presets.load("auto")["isl"] | {"scale_observations": False} | changes
    )
    agent = agent_module.make(config, Box(-9, 9, (2,), np.float32), 2)
    draw = np.random.default_rng(0)
    obs = jnp.asarray(draw.normal(size=(64, 2)) * 0.3, jnp.float32)
    end = Transition(  # every step ends its episode without reward: nothing is left to learn
        obs=obs,
        action=jnp.asarray(draw.integers(0, 2, 64), jnp.int32),
        reward=jnp.zeros(64),
        discount=jnp.zeros(64),
        next_obs=obs,
    )

    @jax.jit
    def train(learner):
        def one(_, learner):
            return agent.update(learner, agent.target(learner), end, jax.random.key(0))[0]

        return jax.lax.fori_loop(0, 1500, one, learner)

    learner = train(agent.init(jax.random.key(0)))
    look = jax.vmap(agent.inspect, in_axes=(None, 0))
    around = jnp.concatenate([jnp.zeros((1, 2)), obs[:8]])
    away = jnp.asarray([[3, 0], [-3, 0], [0, 3], [0, -3], [2.5, 2.5]], jnp.float32)
    return look(learner, around)["ell"], look(learner, away)["ell"]


def test_ell_falls_where_the_agent_was_and_stays_where_it_was_not():
    known, unknown = learned_ell()
    assert known.max() < 0.3 * unknown.min()


def test_without_features_it_is_blind_at_the_origin_or_forgets_the_unknown():
    no_bias_known, _ = learned_ell(ell_features=0)
    _, bias_unknown = learned_ell(ell_features=0, ell_bias=True)
    known, unknown = learned_ell()
    assert no_bias_known[0].max() > 3 * known[0].max()
    assert bias_unknown.min() < 0.3 * unknown.min()
