"""The grid tasks in the compiled loop: resets in a cohort, and bits that repeat."""

import jax
import numpy as np
import pytest

from isl import agents
from isl.experiments.spec import resolve
from isl.training.compiled import compile_training

HYPER = {"hidden": (8,), "replay_capacity": 128, "learning_starts": 100, "batch_size": 8}


@pytest.fixture(scope="module")
def program():
    spec = resolve("multi_room/2", "dqn", HYPER, episodes=10)
    task = spec.environment()
    agent = agents.load("dqn").make(spec.config(), task.observation_space, task.num_actions)
    return compile_training(task, agent, chunk_updates=16)


def same(a, b):
    return all(
        np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def test_seeds_meet_the_same_episodes_alone_and_in_a_cohort(program):
    """Before learning begins nothing but integers is computed: the bits do not depend on width."""
    together, records = program.warm_up(program.init([0, 1, 2]))
    ends = np.asarray(records.last)
    assert ends.any(axis=1).all(), "no seed reached a second episode"
    assert len({tuple(row) for row in np.asarray(together.seeds.env.grid)}) == 3
    for place, seed in enumerate([0, 1, 2]):
        alone, its = program.warm_up(program.init([seed]))
        row = jax.tree.map(lambda x, at=place: x[at : at + 1], together.seeds)
        assert same(alone.seeds.env, row.env)
        assert same(alone.seeds.obs, row.obs)
        np.testing.assert_array_equal(its.last[0], ends[place])
        np.testing.assert_array_equal(its.reward[0], records.reward[place])


def test_a_run_continues_with_the_same_bits(program):
    state, _ = program.warm_up(program.init([0, 1]))
    state, *_ = program.chunk(state)
    kept = jax.tree.map(np.array, state)  # what a checkpoint holds
    straight = program.chunk(state)
    resumed = program.chunk(jax.tree.map(jax.numpy.asarray, kept))
    assert same(straight, resumed)


def test_the_end_of_an_episode_draws_another_grid(program):
    state = program.init([0])
    before = np.asarray(state.seeds.env.grid[0])
    state, records = program.warm_up(state)
    assert np.asarray(records.last).sum() >= 2
    assert (np.asarray(state.seeds.env.grid[0]) != before).any()
