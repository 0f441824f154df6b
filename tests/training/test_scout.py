"""Whether observations come back is seen in a copy of the environment, and only there."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import isl
from isl.envs import spaces
from isl.errors import EnvironmentFault, UsageError
from isl.training.python_envs.scout import comes_back, scouted


class Places(gymnasium.Env):
    """A walk over `size` places of a circle, told as two floats, with noise or without."""

    observation_space = Box(-2, 2, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, size=12, noise=0.0, fault_at=None):
        self.size, self.noise, self.fault_at, self.steps = size, noise, fault_at, 0

    def _obs(self):
        angle = 2 * np.pi * self.at / self.size
        noise = self.noise * self.np_random.normal(size=2)
        return (np.array([np.cos(angle), np.sin(angle)]) + noise).astype(np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.left = 0, 30
        return self._obs(), {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.fault_at:
            raise RuntimeError("broken")
        self.at = (self.at + (1 if action else -1)) % self.size
        self.left -= 1
        return self._obs(), float(self.at == self.size // 2), False, self.left == 0, {}


def reading(env):
    return spaces.observations(env.observation_space)


def test_places_come_back_and_noise_does_not():
    assert comes_back(Places(), reading(Places()))
    assert not comes_back(Places(noise=0.1), reading(Places()))


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"])
def test_continuous_environments_are_read_as_before(name):
    env = gymnasium.make(name)
    assert scouted(reading(env), lambda: gymnasium.make(name)).kind == "vector"


def test_the_environment_that_is_trained_in_is_not_touched():
    env = Places()
    model = isl.Seeker(env)
    assert model._observations.kind == "recurring"
    assert env.steps == 0


def test_a_function_that_makes_environments_is_asked_for_one_more():
    made = []

    def make():
        made.append(Places())
        return made[-1]

    model = isl.Seeker(make, num_envs=2)
    assert model._observations.kind == "recurring"
    assert [env.steps > 0 for env in made] == [False, False, True]


def test_an_environment_that_cannot_be_copied_is_read_by_its_space():
    class Stubborn(Places):
        def __deepcopy__(self, memo):
            raise TypeError("no copies")

    assert isl.Seeker(Stubborn())._observations.kind == "vector"


def test_a_fault_is_left_to_training_to_name():
    model = isl.Seeker(Places(fault_at=40))
    assert model._observations.kind == "vector"
    with pytest.raises(EnvironmentFault, match="broken"):
        model.learn(100, progress_bar=False, n_eval_episodes=0)


def test_only_agents_that_make_a_difference_look():
    class Untouched(Places):
        def __deepcopy__(self, memo):
            raise AssertionError("copied")

    assert isl.DQN(Untouched())._observations.kind == "vector"
    assert isl.Seeker(Untouched(), observations="vector")._observations.kind == "vector"


def test_readings_that_do_not_fit_are_refused_in_one_line():
    with pytest.raises(UsageError, match="keep a table of what comes back, and DQN"):
        isl.DQN(Places(), observations="recurring")
    with pytest.raises(UsageError, match="that are no table yet"):
        isl.Seeker("FrozenLake-v1", observations="recurring")
    with pytest.raises(UsageError, match='torso="mlp" has no effect'):
        isl.Seeker(Places(), observations="recurring", torso="mlp")


def test_a_model_is_saved_loaded_and_goes_on(tmp_path):
    quiet = {"progress_bar": False, "n_eval_episodes": 0}
    model = isl.Seeker(Places(), seed=3).learn(700, **quiet)
    model.save(tmp_path / "m.isl")
    again = isl.load(tmp_path / "m.isl", env=Places())
    assert again._observations.kind == "recurring"
    model.learn(200, reset_num_timesteps=False, **quiet)
    again.learn(200, reset_num_timesteps=False, **quiet)
    for obs in ([1.0, 0.0], [0.3, 0.3]):
        ours, theirs = (each.inspect(np.array(obs, np.float32)) for each in (model, again))
        for name, value in ours.items():
            np.testing.assert_array_equal(value, theirs[name])


def test_the_command_line_reads_them_so_as_well(tmp_path):
    from isl.experiments.spec import observations_of, resolve

    task = "isl.paper.grids:isl/Labyrinth-v0"
    assert observations_of(task, "auto", "seeker").kind == "recurring"
    assert resolve(task, "seeker", {}, timesteps=100).observations == "recurring"
    assert resolve(task, "dqn", {}, timesteps=100).observations is None
    assert resolve(task, "seeker", {}, timesteps=100, observations="vector").observations is None
