"""dm_env and functional environments made into ours."""

from dataclasses import dataclass
from typing import NamedTuple

import dm_env
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.experiments.deep_sea.deep_sea import load as load_deep_sea
from dm_env import specs

from isl import DQN, envs
from isl.envs.adapters import DmEnvAdapter, FunctionalAdapter
from isl.envs.task_env import TaskEnv
from isl.errors import UsageError
from isl.model.environment import attach


class Scripted(dm_env.Environment):
    """Two steps, then the end that it was told to have."""

    def __init__(self, end):
        self._end = end

    def reset(self):
        self._left = 2
        return dm_env.restart(self._observe())

    def step(self, action):
        self._left -= 1
        return (
            self._end(1.5, self._observe())
            if not self._left
            else dm_env.transition(0.5, self._observe())
        )

    def _observe(self):
        return {"left": self._left, "flat": np.ones((1, 2), np.float64)}

    def observation_spec(self):
        return {"left": specs.DiscreteArray(3), "flat": specs.Array((1, 2), np.float64)}

    def action_spec(self):
        return specs.DiscreteArray(2)


@pytest.mark.parametrize(
    ("end", "terminated"), [(dm_env.termination, True), (dm_env.truncation, False)]
)
def test_dm_env_ends_become_gymnasium_ends(end, terminated):
    env = DmEnvAdapter(Scripted(end))
    obs, _ = env.reset(seed=0)
    assert env.observation_space.contains(obs)
    assert env.step(1)[1:4] == (0.5, False, False)
    assert env.step(1)[1:4] == (1.5, terminated, not terminated)


def test_bsuite_environments_can_be_attached():
    attached = attach(load_deep_sea(size=4, deterministic=True, mapping_seed=42), seed=0)
    assert attached.kind == "host"
    assert attached.observations.seen.shape == (4, 4)
    assert attached.actions.number == 2


def test_a_model_learns_in_a_bare_dm_env_environment():
    model = DQN(Scripted(dm_env.termination), hidden=(4,), batch_size=4, learning_starts=8)
    model.learn(12, progress_bar=False)
    assert model.episodes.finished == 6
    assert model.episodes.means() == (2.0, 2.0)


def test_dm_env_actions_that_are_not_discrete_are_refused():
    class Continuous(Scripted):
        def action_spec(self):
            return specs.BoundedArray((2,), np.float32, -1, 1)

    with pytest.raises(UsageError, match="DiscreteArray"):
        DmEnvAdapter(Continuous(dm_env.termination))


@dataclass(frozen=True)
class Params:
    goal: int = 3
    max_steps_in_episode: int = 5


class LineState(NamedTuple):
    place: jax.Array
    time: jax.Array


class Line:
    """gymnax's shape: walk right to the goal; ends there, or at the limit of steps."""

    default_params = Params()

    def observation_space(self, params):
        return gymnasium.spaces.Discrete(params.goal + 1)

    def action_space(self, params):
        return gymnasium.spaces.Discrete(2)

    def reset_env(self, key, params):
        state = LineState(jnp.int32(0), 0)  # a plain number, as gymnax's states have
        return state.place, state

    def step_env(self, key, state, action, params):
        place = jnp.clip(state.place + 2 * action - 1, 0, params.goal)
        state = LineState(place, state.time + 1)
        found = place == params.goal
        done = found | (state.time >= params.max_steps_in_episode)
        return place, state, found.astype(jnp.float32), done, {}


def walk(actions):
    task = FunctionalAdapter(Line())
    state, _ = task.reset(jax.random.key(0))
    for action in actions:
        ts = task.step(state, jnp.int32(action), jax.random.key(0))
        state = ts.state
    return ts


def test_a_functional_environment_ends_by_termination():
    ts = walk([1, 1, 1])
    assert (float(ts.reward), float(ts.discount), bool(ts.last)) == (1.0, 0.0, True)


def test_a_functional_environments_limit_of_steps_is_a_truncation():
    assert not bool(walk([0] * 4).last)
    ts = walk([0] * 5)
    assert (float(ts.reward), float(ts.discount), bool(ts.last)) == (0.0, 1.0, True)


def test_a_functional_environment_is_a_compiled_task():
    attached = attach(FunctionalAdapter(Line()), seed=0)
    assert (attached.kind, attached.task, attached.actions.number) == ("compiled", "Line", 2)


def test_a_bare_functional_environment_is_told_how_to_be_named_or_wrapped():
    said = (
        r"^Line is a compiled environment of another package: give its name there, such as "
        r"'gymnax:MountainCar-v0', or wrap it with isl\.envs\.adapters\.FunctionalAdapter\(env\)$"
    )
    with pytest.raises(UsageError, match=said):
        attach(Line(), seed=0)


def test_something_else_is_not_a_functional_environment():
    with pytest.raises(UsageError, match="has no reset_env"):
        FunctionalAdapter(object())


def test_a_compiled_task_can_be_played():
    env = TaskEnv(envs.make("deep_sea/3"))
    obs, _ = env.reset(seed=0)
    assert obs == 0
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (True, False)]


@pytest.mark.parametrize("thing", [object(), 3, None])
def test_what_is_no_environment_is_named(thing):
    with pytest.raises(UsageError, match="expected a Gymnasium id"):
        attach(thing, seed=0)


def test_an_unknown_id_is_named():
    with pytest.raises(UsageError, match="no environment called 'Nowhere-v0'"):
        attach("Nowhere-v0", seed=0)
