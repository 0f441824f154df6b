"""Rewards in units of the rewards seen: exact under a change of currency, values kept."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl.agents import seeker
from isl.agents.base import Transition
from isl.agents.wrappers.scale_rewards import MEMORY, REWARDS, Seen, include
from isl.agents.wrappers.scale_rewards import unit as unit_of
from tests.support import twin


def seen_after(rewards, discounts) -> Seen:
    seen = Seen(*[jnp.float32(0)] * 4)
    for reward, discount in zip(rewards, discounts, strict=True):
        seen = include(seen, jnp.float32(reward), jnp.float32(discount))
    return seen


def average_reward(seen, gamma):
    return unit_of(seen, gamma) / REWARDS


def test_a_reward_at_every_step_is_the_average():
    assert average_reward(seen_after([-1.0] * 500, [1.0] * 500), 0.99) == pytest.approx(1)


def test_the_horizon_is_never_longer_than_what_was_seen():
    assert average_reward(seen_after([2.0, 0.0], [1.0, 1.0]), 1.0) == pytest.approx(1, rel=1e-3)


def test_a_rare_reward_counts_as_if_every_episode_ended_with_it():
    rewards, discounts = [0.0] * 100 + [1.0] + [0.0] * 399, [1.0] * 500
    found = average_reward(seen_after(rewards, discounts), 0.99)
    assert found == pytest.approx(0.01 * (1 - 1 / MEMORY) ** 399, rel=1e-3)


def test_a_reward_that_does_not_come_back_is_forgotten():
    once = Seen(jnp.float32(1e6), jnp.float32(100), jnp.float32(1), jnp.float32(0.9))

    def later(i, seen):
        return include(seen, jnp.float32(-1), jnp.float32(0.9))

    long_after = jax.lax.fori_loop(0, 10 * MEMORY, later, once)
    assert average_reward(once, 0.99) == pytest.approx(100 * (1 - 0.99 * 0.9), rel=1e-3)
    assert average_reward(long_after, 0.99) == pytest.approx(1, rel=1e-2)


def test_episodes_that_end_with_a_reward_pay_it_over_their_length():
    rewards, discounts = ([0.0] * 9 + [1.0]) * 50, ([1.0] * 9 + [0.0]) * 50
    found = average_reward(seen_after(rewards, discounts), 1.0)
    assert found == pytest.approx(0.1, rel=1e-2)


def test_nothing_seen_is_no_unit():
    assert unit_of(seen_after([0.0] * 3, [1.0] * 3), 0.99) == 0


def transitions(factor: float, number: int = 16) -> Transition:
    draw = np.random.default_rng(0)
    return Transition(
        obs=jnp.asarray(draw.integers(0, 5, number), jnp.int32),
        action=jnp.asarray(draw.integers(0, 2, number), jnp.int32),
        reward=jnp.asarray(factor * draw.normal(size=number), jnp.float32),
        discount=jnp.asarray(draw.integers(0, 2, number), jnp.float32),
        next_obs=jnp.asarray(draw.integers(0, 5, number), jnp.int32),
    )


@cache
def trained(factor: float):
    agent = seeker.make(seeker.Config(), Discrete(5), 2)
    learner, batch = agent.init(jax.random.key(0)), transitions(factor)
    update = jax.jit(agent.update)
    for i in range(len(batch.reward)):
        one = jax.tree.map(lambda x, i=i: x[i], batch)
        learner, item = agent.observe(learner, one, jax.random.key(1))
        assert item.reward == one.reward  # the replay keeps what came
        learner, _ = update(learner, agent.target(learner), batch, jax.random.key(2))
    return agent, learner


@pytest.mark.parametrize("factor", [2.0**-7, 2.0**7])
def test_powers_of_two_change_no_bit_of_what_is_learned(factor):
    agent, plain = trained(1.0)
    _, scaled = trained(factor)
    for a, b in zip(*map(jax.tree.leaves, (plain.inner, scaled.inner)), strict=True):
        np.testing.assert_array_equal(a, b)
    one, other = (agent.inspect(x, jnp.int32(3)) for x in (plain, scaled))
    np.testing.assert_array_equal(one["policy"], other["policy"])
    np.testing.assert_array_equal(one["q"] * factor, other["q"])  # shown in the environment's units
    np.testing.assert_array_equal(one["ell"] * factor, other["ell"])


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_other_factors_change_it_by_rounding(factor):
    agent, plain = trained(1.0)
    _, scaled = trained(factor)
    one, other = (agent.inspect(x, jnp.int32(3))["q"] for x in (plain, scaled))
    np.testing.assert_allclose(one * factor, other, rtol=1e-2)


def test_a_new_unit_leaves_values_what_they_were():
    """Without the change of the tables they would be a hundred times what they were."""
    _, learner = trained(1.0)
    still = seeker.make(seeker.Config(lr_codes=1e-12), Discrete(5), 2)  # Adam moves nothing
    names = ("q", "greedy")
    before = twin.everywhere(still, learner, 5)
    surprise = jax.tree.map(lambda x: x[0], transitions(1.0))._replace(reward=jnp.float32(1000.0))
    after, _ = still.observe(learner, surprise, jax.random.key(0))
    update = twin.hurried(still.update)
    after, metrics = update(after, still.target(after), transitions(1.0), jax.random.key(0))
    assert metrics["unit"] == after.unit > 100 * learner.unit
    later = twin.everywhere(still, after, 5)
    for name in names:
        assert np.abs(before[name]).max() > 0.1
        np.testing.assert_allclose(before[name], later[name], rtol=1e-5, atol=1e-6)
