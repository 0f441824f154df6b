"""at_any_scale: a kept policy acts and is shown as it was when it was judged."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from isl.agents import seeker, stable_dqn
from isl.agents.base import Transition
from tests.support import twin

SPACE = Box(-np.inf, np.inf, (2,), np.float32)
SMALL = {"hidden": (8, 8), "lr": 0.05, "averaging": 1.0}


def steps(scale: float, reward: float) -> Transition:
    draw = np.random.default_rng(0)
    obs, next_obs = (jnp.asarray(scale * draw.normal(size=(16, 2)), jnp.float32) for _ in range(2))
    action = jnp.asarray(draw.integers(0, 2, 16), jnp.int32)
    rewards = jnp.asarray(reward * draw.normal(size=16), jnp.float32)
    return Transition(obs, action, rewards, jnp.ones(16), next_obs)


def seen(agent, learner, batch):
    for i in range(len(batch.reward)):
        one = jax.tree.map(lambda x, i=i: x[i], batch)
        learner, _ = agent.observe(learner, one, jax.random.key(i))
    return twin.trained(agent, learner, batch, 30)


@pytest.mark.parametrize("module", [seeker, stable_dqn], ids=["seeker", "stable_dqn"])
def test_other_observations_and_rewards_leave_the_champion_what_it_was(module):
    agent = module.make(module.Config(**SMALL), SPACE, 2)
    learner = seen(agent, agent.init(jax.random.key(0)), steps(1.0, 1.0))
    obs = jnp.asarray(np.random.default_rng(1).normal(size=(50, 2)), jnp.float32)
    told = jax.vmap(agent.inspect, (None, 0))
    newest = told(learner, obs)["greedy"]  # there is no champion yet
    crowned = learner._replace(
        champion=learner.challenger, best=learner.best._replace(episodes=jnp.float32(5))
    )
    before = told(crowned, obs)["greedy"]
    later = seen(agent, crowned, steps(30.0, 100.0))
    assert later.best.episodes == 5
    after = told(later, obs)["greedy"]
    np.testing.assert_array_equal(before, after)
    acted = jax.vmap(agent.exploit, (None, 0))(later, obs)
    np.testing.assert_array_equal(acted, before.argmax(-1))
    without = later._replace(best=later.best._replace(episodes=jnp.float32(0)))
    assert np.abs(told(without, obs)["greedy"] - newest).max() > 1.0  # the newest one has moved
