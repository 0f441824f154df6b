"""Seeker on tables: sweeps against a NumPy twin, and what they are for."""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl import Seeker
from isl.agents import seeker
from isl.agents.base import Transition
from isl.agents.seeker import tables
from isl.model.evaluation import evaluate
from tests.reference.seeker import solve_table
from tests.support import twin

STATES, ACTIONS = 5, 3
CONFIG = seeker.Config(
    gamma=0.8, ell_gamma=0.7, kappa=0.6, ell_min=0.02, novelty_power=1.5, sweep=7, successors=3
)
# (s, a, reward, discount, s′): a noisy reward, three outcomes of one action, an end, a loop.
STEPS = [
    *((0, 0, 0.0, 1.0, 1), (0, 1, -0.1, 1.0, 2), (0, 1, -0.1, 1.0, 2), (1, 0, 0.3, 1.0, 0)),
    *((1, 2, 1.0, 0.0, 4), (1, 2, -0.5, 0.0, 4), (1, 2, 0.4, 0.0, 4), (2, 1, 0.0, 1.0, 2)),
    *((2, 2, 0.0, 1.0, 0), (2, 2, 0.0, 1.0, 1), (2, 2, 0.0, 1.0, 3), (2, 2, 0.0, 1.0, 1)),
    *((3, 0, 2.0, 1.0, 3), (3, 1, -1.0, 1.0, 0)),
]  # fmt: skip


def transition(s, a, r, discount, then) -> Transition:
    return Transition(
        jnp.int32(s), jnp.int32(a), jnp.float32(r), jnp.float32(discount), jnp.int32(then)
    )


def after(steps, updates=600, config=CONFIG, factor=1.0):
    """The agent, and its learner once the steps were seen and swept over."""
    agent = seeker.make(config, Discrete(STATES), ACTIONS)
    observe, key = twin.hurried(agent.observe), jax.random.key(0)
    learner = agent.init(key)
    for s, a, r, discount, then in steps:
        learner, item = observe(learner, transition(s, a, factor * r, discount, then), key)
        assert item.reward == jnp.float32(factor * r)  # the replay keeps what came
    return agent, twin.trained(agent, learner, item, updates)


def test_sweeps_end_where_the_twin_does():
    _, learner = after(STEPS)
    g, q, ell = solve_table(STEPS, STATES, ACTIONS, CONFIG)
    visited = slice(0, 4)  # nothing is known of the state that ends episodes
    for found, expected in (
        (learner.values.g, g),
        (learner.values.q, q),
        (learner.values.ell, ell),
    ):
        twin.assert_same(found[visited], expected[visited])
    np.testing.assert_array_equal(learner.values.ell[4], 1.0)


def test_all_rewards_times_a_power_of_two_change_no_bit():
    (agent, plain), (_, scaled) = after(STEPS), after(STEPS, factor=128.0)
    one, other = (twin.everywhere(agent, x, STATES) for x in (plain, scaled))
    np.testing.assert_array_equal(one["policy"], other["policy"])
    for name in ("q", "ell", "greedy"):
        np.testing.assert_array_equal(one[name] * 128, other[name])


def test_the_rarest_successor_gives_way():
    """Action 0 of state 0 leads to four states, of which three are kept."""
    led_to = [1, 1, 2, 2, 3, 4]
    _, learner = after([(0, 0, 0.0, 1.0, then) for then in led_to], updates=1)
    kept = np.asarray(learner.counts.successor[0, 0])
    assert {1, 2, 4} == set(kept.tolist())
    assert int(learner.counts.visits[0, 0]) == len(led_to)


def test_only_what_was_tried_is_exploited():
    agent, learner = after([(0, 1, -5.0, 1.0, 0)])
    assert int(agent.exploit(learner, jnp.int32(0))) == 1  # others would be worth 0
    forbidden = jnp.asarray([True, False, True])
    assert int(agent.exploit(learner, jnp.int32(0), forbidden)) in (0, 2)


def test_a_share_of_the_episodes_is_greedy():
    agent, learner = after(STEPS, config=CONFIG.replace({"greedy_share": 0.3}))
    keys = jax.random.split(jax.random.key(3), 4000)
    drawn = jax.vmap(lambda key: agent.begin_episode(learner, key))(keys).greedily
    assert np.mean(drawn) == pytest.approx(0.3, abs=0.03)

    def one(greedily, key):
        return agent.act(learner, tables.Episode(greedily, jnp.int32(0)), jnp.int32(2), key)

    act = twin.hurried(jax.vmap(one))
    played = act(jnp.ones(50, bool), keys[:50])
    np.testing.assert_array_equal(played, agent.exploit(learner, jnp.int32(2)))
    explored = np.bincount(act(jnp.zeros(4000, bool), keys), minlength=ACTIONS) / 4000
    np.testing.assert_allclose(agent.inspect(learner, jnp.int32(2))["policy"], explored, atol=0.03)


def test_a_greedy_walk_that_goes_on_for_ever_is_left_to_exploring():
    agent, learner = after(STEPS)
    now = Transition(jnp.int32(0), jnp.int32(0), jnp.float32(0), jnp.float32(1), jnp.int32(0))
    for steps, greedily in ((1, True), (tables.LONGEST_WALK - 1, False)):
        episode = tables.Episode(jnp.ones((), bool), jnp.int32(steps))
        _, episode, _ = agent.track(learner, episode, now, jnp.zeros((), bool))
        assert episode.greedily == greedily
        assert episode.steps == steps + 1


@pytest.mark.parametrize(
    ("make", "steps", "best"),
    [
        (lambda: gymnasium.make("CliffWalking-v1"), 10_000, -13.0),  # without a limit of steps
        (lambda: gymnasium.make("CliffWalking-v1", max_episode_steps=200), 3_000, -13.0),
        (lambda: gymnasium.make("FrozenLake8x8-v1", is_slippery=False), 12_000, 1.0),
    ],
    ids=["endless cliff", "cliff", "lake"],
)
def test_tables_of_gymnasium_are_solved(make, steps, best):
    """Falls cost a hundred, or the only reward lies 14 steps away."""
    model = Seeker(make(), seed=1000)
    model.learn(steps, progress_bar=False, n_eval_episodes=0)
    assert evaluate(model, make(), 1).mean == best


def test_options_of_networks_are_refused():
    unused = seeker.Config().unused(Discrete(3))
    assert {"lr", "hidden", "batch_size", "tilings"} <= set(unused)
