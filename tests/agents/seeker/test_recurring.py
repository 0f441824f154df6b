"""Seeker where observations come back: the table's agent on rows, and networks if they run out."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl.agents.base import Transition
from isl.agents.seeker import Config, make, networks, recurring, tables
from isl.envs.kinds import Recurring

BOX = Box(-np.inf, np.inf, (2,), np.float32)
CFG = Config()
KEY = jax.random.key(0)


def step(place, following, action=0, reward=0.0, discount=1.0):
    return Transition(
        jnp.asarray(place, jnp.float32),
        jnp.int32(action),
        jnp.float32(reward),
        jnp.float32(discount),
        jnp.asarray(following, jnp.float32),
    )


@pytest.fixture(scope="module")
def agent():
    return make(CFG, Recurring(BOX), 3)


def batch_of(one, size):
    return jax.tree.map(lambda x: jnp.stack([x] * size), one)


def learned(agent, steps, updates=5):
    learner = agent.init(KEY)
    observe, update = jax.jit(agent.observe), jax.jit(agent.update)
    for each in steps:
        learner, _ = observe(learner, each, KEY)
    for _ in range(updates):
        batch = batch_of(steps[-1], CFG.batch_size)
        learner, metrics = update(learner, agent.target(learner), batch, KEY)
    return learner, metrics


CORRIDOR = [
    step((0, 0), (0, 1), 0),
    step((0, 1), (0, 0), 1),
    step((0, 0), (0.5, 0), 2, reward=1.0, discount=0.0),
]


def test_it_believes_what_the_table_of_the_rows_believes(agent):
    learner, metrics = learned(agent, CORRIDOR)
    rooms = recurring.rows_for(3, jnp.zeros(2))
    table = tables.make(CFG, Discrete(rooms), 3)
    numbered = [(0, 1), (1, 0), (0, 2)]
    same = [
        each._replace(obs=jnp.int32(i), next_obs=jnp.int32(j))
        for each, (i, j) in zip(CORRIDOR, numbered, strict=True)
    ]
    expected, _ = learned(table, same)
    for row, place in enumerate([(0, 0), (0, 1), (0.5, 0)]):
        told = agent.inspect(learner, jnp.asarray(place, jnp.float32))
        ours = table.inspect(expected, jnp.int32(row))
        for name in (*recurring.BELIEFS, "visits"):
            np.testing.assert_allclose(told[name], ours[name], rtol=1e-6)
    assert metrics["known_states"] == 3
    assert agent.exploit(learner, jnp.zeros(2)) == 2


def test_of_what_was_never_met_nothing_is_known(agent):
    learner, _ = learned(agent, CORRIDOR)
    told = agent.inspect(learner, jnp.asarray([7.0, 7.0]))
    np.testing.assert_array_equal(told["visits"], 0)
    assert (told["ell"] == told["ell"].max()).all()


def test_networks_take_over_where_observations_do_not_come_back(agent):
    many = recurring.PATIENCE + 10
    places = jnp.asarray(np.random.default_rng(0).normal(size=(many, 2)), jnp.float32)

    def one(learner, place):
        now = step((0, 0), (0, 0))._replace(obs=place, next_obs=place + 1)
        return agent.observe(learner, now, KEY)[0], learner.over

    learner, over = jax.jit(lambda start: jax.lax.scan(one, start, places))(agent.init(KEY))
    assert not over[0]
    assert learner.over
    rows = learner.rows.known
    plain = networks.make(CFG, BOX, 3)
    expected = plain.init(KEY)
    expected, _ = jax.jit(
        lambda start: jax.lax.scan(
            lambda own, place: (
                plain.observe(
                    own, step((0, 0), (0, 0))._replace(obs=place, next_obs=place + 1), KEY
                )[0],
                None,
            ),
            start,
            places,
        )
    )(expected)
    batch = batch_of(step((0, 0), (1, 1), reward=1.0), CFG.batch_size)
    before = learner.table
    after, _ = jax.jit(agent.update)(learner, agent.target(learner), batch, KEY)
    other, _ = jax.jit(plain.update)(expected, plain.target(expected), batch, KEY)
    for ours, theirs in zip(jax.tree.leaves(after.networks), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert after.rows.known == rows
    for ours, theirs in zip(jax.tree.leaves(after.table), jax.tree.leaves(before), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_table_is_given_up_before_its_rows_run_out():
    room = 64
    rows = recurring.rows.no_rows(room, jnp.zeros(2))._replace(known=jnp.int32(room - 2))
    assert recurring.given_up(rows, jnp.float32(1e6), room)
    assert not recurring.given_up(rows._replace(known=jnp.int32(room - 3)), jnp.float32(1e6), room)


def test_masks_are_followed(agent):
    learner, _ = learned(agent, CORRIDOR)
    mask = jnp.asarray([True, True, False])
    assert agent.exploit(learner, jnp.zeros(2), mask) != 2
    episode = agent.begin_episode(learner, KEY)
    for number in range(20):
        key = jax.random.key(number)
        assert agent.act(learner, episode, jnp.zeros(2), key, mask) != 2


def test_a_labyrinth_of_places_is_solved_as_fast_as_a_table():
    import isl
    import isl.paper.grids  # registers it
    from isl.model.evaluation import evaluate

    env = gymnasium.make("isl/Labyrinth-v0")
    model = isl.Seeker(env, seed=1000).learn(3000, progress_bar=False, n_eval_episodes=0)
    assert evaluate(model, env, 1).mean == pytest.approx(0.72)
