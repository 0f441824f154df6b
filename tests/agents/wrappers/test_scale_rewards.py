"""Rewards in units of the rewards seen: exact under a change of currency, values kept."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl import ISL
from isl.agents import isl as agent_module
from isl.agents.base import Transition
from isl.agents.config import Config
from isl.agents.wrappers.scale_rewards import MEMORY, REWARDS, Seen, include
from isl.agents.wrappers.scale_rewards import unit as unit_of
from isl.experiments import presets
from isl.experiments.spec import resolve
from isl.storage.run_folder import config_hash

SMALL = {"hidden": [8, 8], "batch_size": 8, "replay_capacity": 100, "learning_starts": 8}


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


def trained(factor: float, updates: int = 30):
    config = agent_module.Config().replace(presets.load("auto")["isl"] | SMALL)
    agent = agent_module.make(config, Discrete(5), 2)
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
    agent, learner = trained(1.0)
    before = agent.inspect(learner, jnp.int32(3))["q"]
    surprise = jax.tree.map(lambda x: x[0], transitions(1.0))._replace(reward=jnp.float32(1000.0))
    learner, _ = agent.observe(learner, surprise, jax.random.key(0))
    batch = transitions(1.0)
    learner, metrics = agent.update(learner, agent.target(learner), batch, jax.random.key(0))
    assert metrics["unit"] > 10
    after = agent.inspect(learner, jnp.int32(3))["q"]
    # One step of Adam moves an output by a little of the new unit; without the change of the head
    # the values would be more than a hundred times what they were.
    np.testing.assert_allclose(before, after, atol=0.2 * float(metrics["unit"]))


def test_the_hash_of_recorded_runs_is_what_it_was():
    spec = resolve("deep_sea/10", "isl", {}, until_solved=True)
    assert config_hash(spec.to_dict()) == "59fc16c3d656"  # docs/results/deep_sea.csv


def test_a_later_field_is_told_once_it_is_changed():
    plain = agent_module.Config()
    assert "scale_rewards" not in plain.to_dict()
    changed = plain.replace({"scale_rewards": True})
    assert changed.to_dict()["scale_rewards"] is True
    assert plain.replace(changed.to_dict()) == changed
    assert isinstance(plain, Config)


def test_auto_is_the_default_off_the_papers_tasks():
    auto = agent_module.Config().replace(presets.load("auto")["isl"])
    assert ISL("FrozenLake-v1").config == auto
    assert not ISL("deep_sea/4").config.scale_rewards
    assert ISL("deep_sea/4", preset="auto").config == auto
    assert resolve("MountainCar-v0", "isl", {}).config() == auto
    assert resolve("deep_sea/4", "isl", {}, preset="auto").config() == auto


@pytest.mark.parametrize(
    ("preset", "agent", "said"),
    [("atuo", "isl", "unknown preset 'atuo'; known: auto"), ("auto", "dqn", "nothing for agent")],
)
def test_presets_that_are_not_there_are_named(preset, agent, said):
    with pytest.raises(ValueError, match=said):
        presets.values(preset, "CartPole-v1", agent)


@pytest.mark.parametrize(
    "space", [Discrete(5), Box(-1, 1, (3,), np.float32), Box(0, 255, (8, 8, 1), np.uint8)]
)
def test_auto_reads_tables_vectors_and_images(space):
    config = agent_module.Config().replace(presets.load("auto")["isl"] | SMALL)
    agent = agent_module.make(config, space, 2)
    space.seed(0)
    states = list(range(space.n)) if isinstance(space, Discrete) else [space.sample()]
    learner = agent.init(jax.random.key(0))
    ell = [agent.inspect(learner, jnp.asarray(obs))["ell"] for obs in states]
    # Drawn by fan-in: five codes give logits up to 1, many inputs hardly any.
    np.testing.assert_allclose(ell, np.full_like(ell, config.ell_max / 2), rtol=0.5)
