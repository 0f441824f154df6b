"""Greedy episodes: the same each time, in environments of their own, compiled or not."""

import dataclasses
import random

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl import agents
from isl.envs.base import TimeStep
from isl.errors import EnvironmentFault
from isl.training import rng
from isl.training.greedy import LONGEST, UNCUT, PythonPlayer, limit_of, play
from isl.training.greedy_compiled import CompiledPlayer


class Count(gymnasium.Env):
    """Episodes of given lengths, one after the other; each step gives 1. It uses global dice."""

    observation_space = Discrete(2)
    action_space = Discrete(2)

    def __init__(self, lengths):
        self.lengths, self.seeds = list(lengths), []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.left = self.lengths.pop(0)
        return int(np.random.randint(2)), {}

    def step(self, action):
        self.left -= 1
        return random.randrange(2), 1.0, self.left == 0, False, {}


def learned(name, env, seed=0):
    """An agent with tiny networks, and a learner with random parameters."""
    module = agents.load(name)
    config = module.Config().replace({"hidden": [8]})
    agent = module.make(config, env.observation_space, env.num_actions)
    return agent, jax.jit(agent.init)(jax.random.key(seed))


def still(memory, obs):
    return 0, memory


def test_episodes_end_by_themselves_by_their_limit_or_for_want_of_steps():
    found = play(Count([3, 8, 5]), still, range(3), longest=6)
    assert found == ([3.0, 6.0, 5.0], [3, 6, 5], 1)
    env = Count([3, 8, 5])
    assert play(env, still, [7, 8, 9], steps=18).lengths == [3, 8]  # 8 more would be 19
    assert env.seeds == [7, 8]
    assert play(Count([30]), still, range(3), steps=2).lengths == [30]  # at least one
    seen = []

    def remembering(memory, obs):
        seen.append(memory)
        return 0, (memory or 0) + 1

    play(Count([3, 2]), remembering, range(2))
    assert seen == [None, 1, 2, None, 1]


def test_the_limit_of_steps_is_that_of_the_environment_or_a_generous_one():
    assert limit_of(gymnasium.make("CartPole-v1")) == 500
    assert limit_of(gymnasium.make("CartPole-v1", max_episode_steps=7)) == 7
    assert limit_of(gymnasium.make("CartPole-v1", max_episode_steps=-1)) == LONGEST
    assert limit_of(gymnasium.make("CliffWalking-v1")) == LONGEST
    assert limit_of(Count([1])) == LONGEST


def test_a_python_environment_is_played_on_the_same_seeds_each_time():
    agent, learner = learned("dqn", Dice())
    agent = agent._replace(exploit=lambda learner, obs, mask=None: jnp.int32(0))
    made = []
    player = PythonPlayer(agent, lambda: made.append(Count([4] * 20)) or made[0], "Count-v0", 1)
    assert not made  # until it is needed
    random.seed(5), np.random.seed(5)
    expected = random.random(), np.random.random()
    random.seed(5), np.random.seed(5)
    assert [player.play(learner, 3, np.inf).lengths for _ in range(2)] == [[4, 4, 4]] * 2
    assert (random.random(), np.random.random()) == expected
    (env,) = made
    assert env.seeds[:3] == env.seeds[3:]
    assert len(set(env.seeds)) == 3
    env.lengths = [5_000]
    assert player.play(learner, 3, 10).lengths == [UNCUT]
    env.lengths = [LONGEST + 5] * 2
    found = player.play(learner, 2, np.inf)
    assert (found.lengths, found.cut) == ([LONGEST] * 2, 2)
    env.lengths = [9]
    env.step = lambda action: 1 / 0
    message = "step 1 of an evaluation of Count-v0: raised ZeroDivisionError"
    with pytest.raises(EnvironmentFault, match=message):
        player.play(learner, 1, np.inf)
    lonely = PythonPlayer(agent, lambda: 1 / 0, "Count-v0", 1)
    with pytest.raises(EnvironmentFault, match=r"Count-v0 cannot be made a second time.* Zero"):
        lonely.play(learner, 1, np.inf)


@dataclasses.dataclass(frozen=True)
class Dice:
    """Every action pays something else, and may be the last."""

    name: str = "dice"
    num_actions: int = 3
    max_episode_steps: int = 8
    default_episodes: int = 1

    @property
    def observation_space(self):
        return Discrete(6)

    def reset(self, key):
        return jnp.int32(0), jax.random.randint(key, (), 0, 6)

    def step(self, steps, action, key):
        obs = jax.random.randint(key, (), 0, 6)
        last = (obs == 5) | (steps >= 7)
        reward = jnp.float32(action + 10 * obs)
        return TimeStep(steps + 1, obs, reward, 1.0 - last, last, {})


def stepped(env, agent, learner, seed, number):
    """One episode of a compiled task, step by step."""
    stream = jnp.asarray(rng.stream_key(env.name, seed, "evaluation"))
    key = rng.at(stream, jnp.uint32(number))
    step, exploit = jax.jit(env.step), jax.jit(agent.exploit)
    state, obs = env.reset(jax.random.fold_in(key, 0))
    total, length, over = 0.0, 0, False
    while not over:
        ts = step(state, exploit(learner, obs), jax.random.fold_in(key, length + 1))
        state, obs, over = ts.state, ts.obs, bool(ts.last)
        total, length = total + float(ts.reward), length + 1
    return total, length


def test_a_compiled_task_is_played_as_if_step_by_step():
    """Lanes that end early wait for the others without a change."""
    env = Dice()
    agent, learner = learned("dqn", env)
    player = CompiledPlayer(agent, env, seed=3)
    found = player.play(learner, 6, np.inf)
    each = [stepped(env, agent, learner, 3, number) for number in range(6)]
    assert found == ([total for total, _ in each], [length for _, length in each], 0)
    assert len(set(found.lengths)) > 2
    assert player.play(learner, 6, np.inf) == found
    few = player.play(learner, 6, 2 * 8)
    assert (few.returns, few.lengths) == (found.returns[:2], found.lengths[:2])
    assert len(player.play(learner, 6, 3).returns) == 1
    assert CompiledPlayer(agent, env, seed=4).play(learner, 6, np.inf) != found
