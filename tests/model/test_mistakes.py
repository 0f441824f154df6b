"""What people who come from other libraries get wrong: one line says what, and what to do."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl import DQN
from isl.callbacks import EvalCallback
from isl.errors import DamagedFile, EnvironmentFault, UsageError

TINY = {"hidden": (8,), "batch_size": 8, "learning_starts": 8, "replay_capacity": 100}
QUIET = {"progress_bar": False, "n_eval_episodes": 0}


class Plain(gymnasium.Env):
    observation_space = Box(-1, 1, (2,))
    action_space = Discrete(2)

    def __init__(self, reward=0.0, info=None):
        self.reward, self.info = reward, info or {}

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), self.info

    def step(self, action):
        return np.zeros(2, np.float32), self.reward, False, False, self.info


class OldReset(Plain):
    def reset(self):
        return np.zeros(2, np.float32)


class OldStep(Plain):
    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, {}


class Broken(Plain):
    def step(self, action):
        raise ValueError("of its own")


@pytest.fixture(scope="module")
def model():
    return DQN("CartPole-v1", **TINY)


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (Plain(reward=None), "step 1 of Plain: gave the reward None, expected one number"),
        (Plain(reward=np.zeros(2)), r"gave the reward array\(\[0., 0.\]\), expected one number"),
        (OldReset(), "expected Gymnasium's interface: reset"),
        (OldStep(), "expected Gymnasium's interface: reset"),
        (Plain(info={"action_masks": np.ones(2)}), 'which nobody reads; its name is "action_mask"'),
        (Broken(), "ValueError: of its own$"),
    ],
)
def test_environments(env, told):
    with pytest.raises(EnvironmentFault, match=told) as error:
        DQN(env, **TINY).learn(10, **QUIET)
    assert "\n" not in str(error.value)


def theirs(local_variables, global_variables):
    return True


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"total_timesteps": "100"}, "total_timesteps must be a whole number, got '100'"),
        ({"total_timesteps": 10.5}, "total_timesteps must be a whole number, got 10.5"),
        ({"callback": EvalCallback}, r"is a class; give an object of it, EvalCallback\(…\)"),
        ({"callback": theirs}, r"theirs\(local_variables, .* expected a function of the model"),
        ({"callback": [3]}, "3 is no callback; expected a BaseCallback"),
        ({"tensorboard_log": __file__}, "is a file; expected a folder"),
    ],
)
def test_learn(model, given, told):
    with pytest.raises(UsageError, match=told):
        model.learn(**{"total_timesteps": 4} | QUIET | given)


def test_whole_floats_are_numbers_of_steps(model):
    assert model.learn(1e1, **QUIET).num_timesteps == 10


@pytest.mark.parametrize("seed", ["0", None, 0.5])
def test_seeds(seed):
    with pytest.raises(UsageError, match="seed must be a whole number"):
        DQN("CartPole-v1", seed=seed)


def test_attributes(model):
    with pytest.raises(
        AttributeError, match=r"no attribute 'replay_buffer'; here it is model.replay"
    ):
        model.replay_buffer  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        model.nothing  # noqa: B018
    assert not hasattr(model, "q_net")


def test_files(model, tmp_path):
    (tmp_path / "theirs.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(DamagedFile, match="but a zip archive, as of Stable-Baselines3"):
        DQN.load(tmp_path / "theirs.zip")
    path = tmp_path / "new" / "folder" / "m.isl"  # as there, folders are made
    model.save(path)
    assert DQN.load(path).num_timesteps == model.num_timesteps
    model.export(tmp_path / "another" / "p.npz")
    assert (tmp_path / "another" / "p.npz").exists()
