"""Weariness: the first time nothing changes, in a circle the next best action is taken."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isl
from isl.agents import base, seeker, stable_dqn
from isl.agents.base import Transition, follow_of
from isl.agents.weariness import PLACES, Weariness, nowhere, staler, tired, went
from isl.agents.wrappers.keep_best import CHALLENGER, EXPLORE
from isl.envs.kinds import Symbols
from isl.model.evaluation import evaluate, evaluate_compiled

KEY = jax.random.key(0)
VALUES = jnp.asarray([1.0, 0.9, 0.5])
WEARY = Weariness(lambda obs: obs, lambda policy: policy * 0.3, 3)


def actions_taken(obs: list[int], policy: float = 1.0) -> list[int]:
    """Greedy actions at a series of observations of one episode."""
    been, taken = nowhere(WEARY), []
    for one in obs:
        own = tired(WEARY, been, policy, jnp.int32(one), VALUES)
        taken.append(int(jnp.argmax(own)))
        been = went(WEARY, been, jnp.int32(one), jnp.int32(taken[-1]))
    return taken


def test_only_what_is_repeated_loses():
    assert actions_taken([0, 1, 2, 3]) == [0, 0, 0, 0]
    assert actions_taken([0, 1, 0, 1]) == [0, 0, 1, 1]
    assert actions_taken([5] * 6) == [0, 1, 0, 1, 2, 0]
    assert actions_taken([5] * 4, policy=0.1) == [0, 0, 0, 0], "the cost is the policy's"
    assert nowhere(None) == ()
    assert tired(None, (), 1.0, jnp.int32(0), VALUES) is VALUES


@pytest.mark.parametrize("module", [seeker, stable_dqn])
def test_agents_on_symbols_remember_the_episode(module):
    space = Symbols((3, 3, 2), 6)
    agent = module.make(module.Config(hidden=(8, 8)), space, 4)
    learner = agent.init(KEY)
    obs = jnp.asarray(np.random.default_rng(0).integers(0, 6, (3, 3, 2)), jnp.uint8)
    follow = follow_of(agent)
    memory, taken = follow.begin(), []
    for _ in range(4):
        action, memory = follow.act(learner, memory, obs)
        taken.append(int(action))
    assert sorted(taken) == [0, 1, 2, 3], "before the first reward all values are 0"
    assert {int(agent.exploit(learner, obs)) for _ in range(4)} == {taken[0]}
    assert memory.sum() == 4
    mask = jnp.asarray([False, True, False, True])
    memory, taken = follow.begin(), []
    for _ in range(4):
        action, memory = follow.act(learner, memory, obs, mask)
        taken.append(int(action))
    assert sorted(taken) == [1, 1, 3, 3]


def test_greedy_episodes_of_training_remember_and_others_count_too():
    agent = seeker.make(seeker.Config(hidden=(8, 8), longest_stretch=1), Symbols((3, 3, 2), 6), 4)
    learner = agent.init(KEY)
    obs = jnp.zeros((3, 3, 2), jnp.uint8)
    episode = agent.begin_episode(learner, KEY)
    assert int(episode.role) == EXPLORE
    assert episode.been.shape == (PLACES, 4)
    greedy = episode._replace(role=jnp.int32(CHALLENGER))
    taken = []
    for _ in range(4):
        action = agent.act(learner, greedy, obs, KEY)
        taken.append(int(action))
        step = Transition(obs, action, jnp.float32(0), jnp.float32(1), obs)
        learner, greedy, _ = agent.track(learner, greedy, step, jnp.bool_(False))
    assert sorted(taken) == [0, 1, 2, 3]


def explored(been: jax.Array, agent: base.Agent, learner: Any, obs: jax.Array) -> set[int]:
    """The actions that exploring takes, of 20."""
    episode = agent.begin_episode(learner, KEY)._replace(role=jnp.int32(EXPLORE), been=been)
    act = jax.jit(agent.act)
    return {int(act(learner, episode, obs, jax.random.key(i))) for i in range(20)}


def test_exploring_goes_on_to_what_was_not_done_in_this_episode():
    config = seeker.Config(hidden=(8, 8), longest_stretch=1)
    agent = seeker.make(config, Symbols((3, 3, 2), 6), 4)
    learner, obs = agent.init(KEY), jnp.zeros((3, 3, 2), jnp.uint8)
    assert explored(jnp.zeros((PLACES, 4)), agent, learner, obs) == {0, 1, 2, 3}
    done = jnp.zeros((PLACES, 4)).at[:, jnp.asarray([0, 1, 3])].set(5.0)
    assert explored(done, agent, learner, obs) == {2}


def test_staler_divides_by_how_often_an_action_was_taken():
    been, ell = jnp.zeros((2, 3)).at[1, 2].set(3.0), jnp.asarray([0.4, 0.6, 0.8])
    np.testing.assert_allclose(staler(lambda obs: obs, been, jnp.int32(1), ell), [0.4, 0.6, 0.2])
    np.testing.assert_allclose(staler(lambda obs: obs, been, jnp.int32(0), ell), ell)
    assert staler(None, (), jnp.int32(1), ell) is ell


@pytest.mark.parametrize("cost", [0.0, 0.3])
def test_vectors_tables_and_free_repetition_have_no_memory(cost):
    config = seeker.Config(hidden=(8, 8), repeat_cost=cost)
    assert (seeker.make(config, Symbols((3, 3, 2), 6), 4).follow is None) == (cost == 0.0)
    vectors = isl.Seeker("CartPole-v1")
    assert vectors._agent.follow is None
    obs = vectors.env.reset(seed=0)[0]
    assert vectors.predict(obs)[1] is None


def test_predict_hands_back_a_state_that_gets_out_of_a_loop():
    model = isl.Seeker("isl/DoorKey-v0", hidden=(8, 8))
    obs, _ = model.env.reset(seed=0)
    state, taken = None, []
    for _ in range(7):
        action, state = model.predict(obs, state=state)
        taken.append(int(action))
    assert sorted(taken) == list(range(7))
    assert {int(model.predict(obs)[0]) for _ in range(3)} == {taken[0]}, "without a state: none"
    again, state = model.predict(obs, state=state, episode_start=np.array([True]))
    assert again == taken[0]
    several = np.stack([obs, obs])
    actions, memory = model.predict(several)
    actions, memory = model.predict(several, memory, np.array([False, True]))
    assert actions.tolist() == [taken[1], taken[0]]
    explored, drawn = model.predict(obs, state=state, deterministic=False)
    assert 0 <= explored < 7
    assert model.predict(obs, state=drawn)[0] == taken[0], "the state of another mode is left"


class Still(gymnasium.Env):
    """Shows the same view for seven steps, whatever is done."""

    observation_space = gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(7)

    def __init__(self) -> None:
        self.taken: list[list[int]] = []

    def reset(self, *, seed=None, options=None):
        self.taken.append([])
        return np.zeros((7, 7, 3), np.uint8), {}

    def step(self, action):
        self.taken[-1].append(int(action))
        return np.zeros((7, 7, 3), np.uint8), 0.0, False, len(self.taken[-1]) == 7, {}


def test_evaluations_remember_each_episode_for_itself():
    env = Still()
    model = isl.Seeker(env, hidden=(8, 8))
    env.taken.clear()
    evaluate(model, env, 2)
    assert [sorted(episode) for episode in env.taken] == [list(range(7))] * 2
    assert env.taken[0] == env.taken[1]


def test_evaluations_of_compiled_tasks_remember():
    """An untrained policy that does one thing after the other meets the goal at times."""
    options = {"hidden": (8, 8), "learning_starts": 10}
    moving, standing = (
        isl.Seeker("door_key/5", repeat_cost=cost, **options) for cost in (0.3, 0.0)
    )
    assert max(evaluate_compiled(moving, 40).returns) > 0
    assert max(evaluate_compiled(standing, 40).returns) == 0
