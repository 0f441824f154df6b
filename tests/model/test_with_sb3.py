"""Stable-Baselines3's own evaluation, callbacks, checker and VecEnvs with our models."""

import gymnasium
import numpy as np
import pytest

import isl  # noqa: F401  (registers the tasks)
from isl import DQN
from isl.errors import UsageError
from tests.support.masked_envs import Corridor

sb3 = pytest.importorskip("stable_baselines3", reason="needs the extra `peers`")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
TINY = {"hidden": (8,), "batch_size": 8, "learning_starts": 16}


def cartpole():
    return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))


def quiet(model, steps, **options):
    return model.learn(steps, **{"progress_bar": False, "n_eval_episodes": 0} | options)


@pytest.fixture(scope="module")
def model():
    return quiet(DQN(cartpole, **TINY), 60)


def test_their_evaluation_takes_our_models(model):
    from stable_baselines3.common.evaluation import evaluate_policy

    mean, deviation = evaluate_policy(model, cartpole(), n_eval_episodes=2)
    assert mean >= 8
    assert deviation >= 0
    lengths = evaluate_policy(
        model, cartpole(), 3, deterministic=False, return_episode_rewards=True
    )
    assert len(lengths[1]) == 3


@pytest.mark.parametrize("wrapper", ["DummyVecEnv", "VecNormalize"])
def test_their_vector_environments_are_learned_in(wrapper):
    from stable_baselines3.common import vec_env

    envs = vec_env.DummyVecEnv([cartpole, cartpole])
    if wrapper == "VecNormalize":
        envs = vec_env.VecNormalize(envs)
    learned = quiet(DQN(envs, **TINY), 120)
    assert learned.num_timesteps == 120
    assert learned.task == "CartPole-v1"
    assert learned.episodes.finished >= 2
    assert learned.replay[:].obs.shape == (120, 4)


@pytest.mark.parametrize("says", ["info", "method"])
def test_masks_are_followed_in_their_vector_environments(says):
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: Corridor(says=says), lambda: Corridor(says=says)])
    learned = quiet(DQN(envs, **TINY), 200)  # the corridor raises on a forbidden move
    assert learned._loop.masked
    assert learned.episodes.finished > 5


def test_their_callbacks_work_as_they_are(model, tmp_path):
    from stable_baselines3.common import callbacks as theirs

    class Tutorial(theirs.BaseCallback):
        """The template of their documentation: every event, facts, logger and environment."""

        def __init__(self):
            super().__init__(verbose=1)
            self.events = []

        def _on_training_start(self):
            self.events.append("start")
            assert self.locals["total_timesteps"] == 40

        def _on_rollout_start(self):
            self.events.append("rollout")

        def _on_step(self):
            self.events.append("step")
            self.logger.record("random_value", float(np.mean(self.locals["rewards"])))
            assert self.training_env is self.model.get_env()
            assert self.num_timesteps == self.model.num_timesteps == self.n_calls
            return True

        def _on_rollout_end(self):
            self.events.append("end of rollout")

        def _on_training_end(self):
            self.events.append("end")

    tutorial = Tutorial()
    stop = theirs.StopTrainingOnRewardThreshold(reward_threshold=-1.0, verbose=0)
    evaluates = theirs.EvalCallback(
        cartpole(),
        callback_on_new_best=stop,
        eval_freq=25,
        n_eval_episodes=1,
        best_model_save_path=str(tmp_path / "best"),
        log_path=str(tmp_path),
        verbose=0,
    )
    saves = theirs.CheckpointCallback(save_freq=20, save_path=str(tmp_path), name_prefix="m")
    each = theirs.EveryNTimesteps(10, theirs.LogEveryNTimesteps(10))
    quiet(model, 40, callback=[tutorial, saves, evaluates, each])
    assert tutorial.events[0] == "start"
    assert tutorial.events.count("step") == 25  # the threshold ended it
    assert tutorial.events[-1] == "end"
    assert model.logger.values["random_value"] == 1.0
    assert model.logger.values["eval/mean_reward"] > 0
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"evaluations.npz", "m_20_steps.zip", "best/best_model"} <= files | {
        name.removesuffix(".zip") for name in files
    }


@pytest.mark.parametrize("name", ["isl/DeepSea-v0", "isl/CartpoleSwingup-v0", "isl/DoorKey-v0"])
def test_their_checker_and_gymnasiums_accept_our_environments(name):
    from gymnasium.utils import env_checker
    from stable_baselines3.common.env_checker import check_env

    check_env(gymnasium.make(name).unwrapped)
    env_checker.check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


def test_another_number_of_environments_is_refused():
    from stable_baselines3.common.vec_env import DummyVecEnv

    with pytest.raises(UsageError, match="the vector environment has 1; leave it out"):
        DQN(DummyVecEnv([cartpole]), num_envs=4)
