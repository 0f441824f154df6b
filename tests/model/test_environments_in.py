"""What a user may call an environment: functions that make one, several at once, VecEnvs."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from isl import DQN
from isl.errors import UsageError
from tests.support.masked_envs import Corridor, as_vec_env

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 16}


def cartpole():
    return gymnasium.make("CartPole-v1")


def quiet(model, steps=40, **options):
    return model.learn(steps, **{"progress_bar": False, "n_eval_episodes": 0} | options)


def parameters(model):
    return model.get_parameters().values()


def test_a_function_is_as_good_as_the_name():
    named = quiet(DQN("CartPole-v1", num_envs=2, **TINY))
    made = quiet(DQN(cartpole, num_envs=2, **TINY))
    assert made.task == "CartPole-v1"
    assert made._attached.width == 2
    assert all(map(np.array_equal, parameters(named), parameters(made)))


def test_a_function_makes_the_environment_for_evaluations_too(caplog):
    model = quiet(DQN(cartpole, **TINY), n_eval_episodes=1)
    assert len(model.evaluations) >= 1
    assert not caplog.messages


def test_a_function_that_returns_one_environment_again_and_again(caplog):
    env = cartpole()
    model = quiet(DQN(lambda: env, **TINY), n_eval_episodes=1)
    assert model.env is env
    assert not model.evaluations
    assert "no greedy evaluations" in caplog.messages[0]
    with pytest.raises(UsageError, match="returned the same one twice; make it inside"):
        DQN(lambda: env, num_envs=2, **TINY)


def test_a_class_is_a_function_that_makes_environments():
    model = quiet(DQN(Corridor, num_envs=2, **TINY))
    assert model.task == "Corridor"


def test_a_vec_env_is_learned_in(tmp_path):
    makers = [lambda i=i: Corridor(length=3 + i) for i in range(3)]
    model = quiet(DQN(as_vec_env(makers), num_envs=3, **TINY), 90)
    assert model.num_timesteps == 90
    assert model.task == "VecEnv"
    assert model.episodes.finished > 3
    storage = model._loop.state()["device"]["storage"]
    assert set(storage.obs[:, 1].tolist()) == {3, 4, 5}
    ended = storage.discount == 0
    assert (storage.reward[ended] == 1).all()
    assert (storage.reward[~ended] == 0).all()
    model.save(tmp_path / "m.isl")
    quiet(DQN.load(tmp_path / "m.isl", env=as_vec_env(makers)), 30)


def test_num_envs_and_environments_that_were_given():
    with pytest.raises(UsageError, match="num_envs needs the environment's name, or a function"):
        DQN(cartpole(), num_envs=2)
    vector = SyncVectorEnv([cartpole, cartpole])
    with pytest.raises(UsageError, match="num_envs=3, but the vector environment has 2"):
        DQN(vector, num_envs=3)
    assert quiet(DQN(vector, num_envs=2, **TINY)).num_timesteps >= 40
    with pytest.raises(UsageError, match="expected a Gymnasium id or environment, a function"):
        DQN(object())
