"""Rewards in units of the returns seen: exact under a change of currency, values kept."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl.agents import stable_dqn
from isl.agents.base import Transition
from isl.agents.wrappers.scale_rewards import FORGOTTEN, Seen, include, nothing_seen
from tests.support import twin


def seen_after(rewards, discounts, gamma=0.99, seen: Seen | None = None) -> Seen:
    def one(seen, step):
        return include(seen, *step, gamma), None

    steps = jnp.asarray(rewards, jnp.float32), jnp.asarray(discounts, jnp.float32)
    return jax.lax.scan(one, nothing_seen() if seen is None else seen, steps)[0]


def test_a_reward_at_every_step_adds_up_over_the_horizon():
    assert seen_after([-1.0] * 500, [1.0] * 500).unit == pytest.approx(100, rel=1e-4)


def test_the_horizon_is_never_longer_than_what_was_seen():
    assert seen_after([2.0, 0.0], [1.0, 1.0], gamma=1.0).unit == pytest.approx(2, rel=1e-3)


def test_a_rare_reward_is_the_unit_itself():
    assert seen_after([0.0] * 100 + [1.0] + [0.0] * 399, [1.0] * 500).unit == 1


def test_a_long_stretch_without_rewards_leaves_the_unit_alone():
    """It went to 0, and rewards in it beyond what a float holds."""
    known = seen_after([-0.1, 0.0, 1.0], [1.0] * 3)
    later = seen_after(np.zeros(1_000_000), np.ones(1_000_000), seen=known)
    assert later.unit == pytest.approx(float(known.unit), rel=1e-5)


def test_costs_that_are_avoided_leave_the_unit_alone():
    """It fell with them, so κ did: who moved less explored less, and moved less."""
    moving = seen_after([-0.1] * 1_000, [1.0] * 1_000)
    still = seen_after(np.where(np.arange(20_000) % 50, 0.0, -0.1), np.ones(20_000), seen=moving)
    assert still.size < 0.1 * moving.size
    assert still.unit == pytest.approx(float(moving.unit), rel=0.01)


def test_a_return_that_does_not_come_back_is_forgotten():
    once = Seen(*map(jnp.float32, (1e6, 100, 1, 0.9)))
    later = seen_after(-np.ones(10 * FORGOTTEN), np.full(10 * FORGOTTEN, 0.9), seen=once)
    assert later.unit == pytest.approx(1 / (1 - 0.99 * 0.9), rel=1e-2)


def test_episodes_that_end_with_a_reward_carry_it():
    rewards, discounts = ([0.0] * 9 + [1.0]) * 50, ([1.0] * 9 + [0.0]) * 50
    assert seen_after(rewards, discounts, gamma=1.0).unit == pytest.approx(1, rel=1e-2)


def test_nothing_seen_is_no_unit():
    assert seen_after([0.0] * 3, [1.0] * 3).unit == 0


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
    agent = stable_dqn.make(stable_dqn.Config(hidden=(8,)), Discrete(5), 2)
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
    for a, b in zip(*map(jax.tree.leaves, (plain.inner.inner, scaled.inner.inner)), strict=True):
        np.testing.assert_array_equal(a, b)
    one, other = (agent.inspect(x, jnp.int32(3)) for x in (plain, scaled))
    np.testing.assert_array_equal(one["policy"], other["policy"])
    np.testing.assert_array_equal(one["q"] * factor, other["q"])  # shown in the environment's units
    np.testing.assert_array_equal(one["greedy"] * factor, other["greedy"])


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_other_factors_change_it_by_rounding(factor):
    agent, plain = trained(1.0)
    _, scaled = trained(factor)
    one, other = (agent.inspect(x, jnp.int32(3))["q"] for x in (plain, scaled))
    np.testing.assert_allclose(one * factor, other, rtol=1e-2)


def test_a_new_unit_leaves_values_what_they_were():
    """Without the change of the heads they would be a hundred times what they were."""
    _, learner = trained(1.0)
    in_unit = learner.inner
    average = in_unit.inner.q.params  # that stands still
    learner = learner._replace(
        inner=in_unit._replace(inner=in_unit.inner._replace(average=average))
    )
    config = stable_dqn.Config(hidden=(8,), lr=1e-12)  # Adam moves nothing
    still = stable_dqn.make(config, Discrete(5), 2)
    names = ("q", "greedy")
    before = twin.everywhere(still, learner, 5)
    surprise = jax.tree.map(lambda x: x[0], transitions(1.0))._replace(reward=jnp.float32(1000.0))
    after, _ = still.observe(learner, surprise, jax.random.key(0))
    update = twin.hurried(still.update)
    after, metrics = update(after, still.target(after), transitions(1.0), jax.random.key(0))
    assert metrics["unit"] == after.inner.unit > 100 * learner.inner.unit
    later = twin.everywhere(still, after, 5)
    for name in names:
        assert np.abs(before[name]).max() > 1e-3
        np.testing.assert_allclose(before[name], later[name], rtol=1e-5, atol=1e-6)
