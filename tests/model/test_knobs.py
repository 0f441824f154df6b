"""Schedules of learning rates, torsos by name, what is printed, the replay, parameters in and out,
and what callbacks see."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from gymnasium.spaces import Box

from isl import DQN, Seeker
from isl.agents.config import Config
from isl.callbacks import BaseCallback
from isl.cli.main import main
from isl.errors import UsageError
from isl.experiments.spec import resolve
from isl.model import torsos
from isl.nn import rates, scheduled
from isl.nn.networks import Convolutions, Flat

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 16}


def quiet(model, steps, **options):
    return model.learn(steps, **{"progress_bar": False, "n_eval_episodes": 0} | options)


@pytest.fixture(scope="module")
def cartpole():
    """Used by several tests: it learns on from wherever it is."""
    model = DQN("CartPole-v1", replay_capacity=50, lr="linear:1e-3", **TINY)
    return quiet(model, 116)


def courses(model):
    found = jax.tree.leaves(model.learner, is_leaf=lambda x: isinstance(x, scheduled.Progress))
    return [x for x in found if isinstance(x, scheduled.Progress)]


def test_a_schedule_moves_as_adam_with_that_rate_does():
    params, grads = jnp.array([1.0, -2.0]), jnp.array([0.3, -0.1])
    ours, state = scheduled.adam((0.1, 0.0), None), None
    state = scheduled.planned(ours.init(params), 10, anew=True)
    theirs = optax.adam(optax.linear_schedule(0.1, 0.0, 10))
    fixed = scheduled.adam((0.1, 0.0), 10)
    others = [[theirs, theirs.init(params)], [fixed, fixed.init(params)]]
    for _ in range(12):
        step, state = ours.update(grads, state)
        for other in others:
            expected, other[1] = other[0].update(grads, other[1])
            np.testing.assert_allclose(step, expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(step, 0)  # beyond its end the rate stays 0


def test_a_function_is_written_down_as_points():
    text = rates.from_function(lambda remaining: 1e-3 * remaining**2, "lr")
    course = rates.parse(text)
    assert (len(course.values), course.values[0], course.values[-1]) == (rates.POINTS, 1e-3, 0.0)
    assert course.values[50] == pytest.approx(1e-3 / 4)
    model = DQN("CartPole-v1", lr=lambda remaining: 1e-3 * remaining**2, **TINY)
    assert model.config.lr == text


def test_learn_tells_a_schedule_how_long_the_training_is(cartpole, tmp_path):
    (course,) = courses(cartpole)
    assert (int(course.done), int(course.begin), int(course.total)) == (100, 0, 100)
    cartpole.save(tmp_path / "m.isl")
    again = DQN.load(tmp_path / "m.isl", env="CartPole-v1")
    assert again.config.lr == "linear:1e-3"
    quiet(again, 40)
    assert [int(x) for x in courses(again)[0]] == [140, 100, 40]
    quiet(again, 60, reset_num_timesteps=False)
    assert [int(x) for x in courses(again)[0]] == [200, 100, 100]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("falling:5e-4", "lr must be a number or a schedule such as linear:5e-4"),
        ("linear:-1", "got 'linear:-1'"),
        ("linear:1e-3@0", "got 'linear:1e-3@0'"),
        ("points:1e-3", "got 'points:1e-3'"),
        (lambda remaining: 1 / remaining, "it raised ZeroDivisionError"),
        (lambda remaining: -1.0, "lr must be a number or a schedule"),
    ],
)
def test_a_schedule_that_is_none_is_named(given, words):
    with pytest.raises(UsageError) as error:
        DQN("CartPole-v1", lr=given, **TINY)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_takes_no_schedule():
    with pytest.raises(UsageError, match="these observations are a table; give a number, or obs"):
        DQN("deep_sea/3", lr="linear:5e-4")
    with pytest.raises(UsageError, match="lr has no effect here"):
        Seeker("deep_sea/3", lr="linear:5e-4")


def test_the_command_line_takes_schedules_over_its_budget(tmp_path, capsys):
    spec = resolve("CartPole-v1", "dqn", {"lr": "linear:5e-4"}, timesteps=5_128)
    assert spec.hyper["lr"] == "linear:5e-4@5000"
    fixed = resolve("CartPole-v1", "dqn", {"lr": "linear:5e-4@77"}, timesteps=5_128)
    assert fixed.hyper["lr"] == "linear:5e-4@77"
    words = ["train", "CartPole-v1", "--agent", "dqn", "--timesteps", "200", "--lr", "cosine:1"]
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "lr must be a number or a schedule" in capsys.readouterr().err


def test_numbers_are_recorded_as_before():
    assert resolve("CartPole-v1", "dqn", {}, timesteps=1_000).hyper["lr"] == 5e-4
    assert "lr" not in Config().to_dict()


PICTURE, VECTOR = Box(0, 255, (8, 8), np.uint8), Box(-1, 1, (3,), np.float32)
FLOATS = Box(0, 1, (8, 8, 3), np.float32)


def test_torsos_by_name():
    assert torsos.module("mlp", VECTOR) is None
    assert torsos.module("cnn", PICTURE) is None
    assert isinstance(torsos.module("mlp", PICTURE), Flat)
    assert isinstance(torsos.module("cnn", FLOATS), Convolutions)
    own = Flat()
    assert torsos.module(own, PICTURE) is own
    for torso, space, words in [
        ("cnn", VECTOR, "reads observations with 2 or 3 axes"),
        ("mlpp", VECTOR, "unknown torso 'mlpp'; did you mean mlp"),
        ("lstm", VECTOR, 'expected "mlp", "cnn" or a flax module'),
        ("mlp", gymnasium.spaces.Discrete(4), "has no effect on a table"),
    ]:
        with pytest.raises(UsageError, match=words):
            torsos.module(torso, space)


class Pictures(gymnasium.Env):
    observation_space, action_space = PICTURE, gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros((8, 8), np.uint8), {}

    def step(self, action):
        return np.full((8, 8), 255, np.uint8), 1.0, True, False, {"seen": int(action)}


def test_a_named_torso_is_loaded_by_its_name(tmp_path):
    model = quiet(DQN(Pictures, torso="mlp", **TINY), 20)
    kernel = next(x for name, x in model.get_parameters().items() if "first" in name)
    assert model.learner.q.params["q"]["params"]["first"]["kernel"].shape == (4, 64)
    model.save(tmp_path / "m.isl", replay=False)
    again = DQN.load(tmp_path / "m.isl")
    assert again.torso == "mlp"
    obs = np.full((8, 8), 255, np.uint8)
    np.testing.assert_array_equal(again.inspect(obs)["q"], model.inspect(obs)["q"])
    assert kernel.shape[0] == 4
    with pytest.raises(UsageError, match="was saved with torso mlp; leave torso out"):
        DQN.load(tmp_path / "m.isl", torso=Flat())


def test_verbose_prints_what_is_logged(capsys):
    model = DQN("CartPole-v1", verbose=1, **TINY)
    quiet(model, 60, log_interval=1)
    printed = capsys.readouterr().out
    assert "| rollout/ep_rew_mean " in printed
    assert "| time/total_timesteps " in printed
    model.verbose = 0
    quiet(model, 20)
    assert capsys.readouterr().out == ""
    with pytest.raises(UsageError, match="verbose must be 0"):
        DQN("CartPole-v1", verbose=True + 2)


def test_the_replay_can_be_looked_into(cartpole):
    held = cartpole.replay
    assert (len(held), held.capacity) == (50, 50)
    every = held[:]
    assert every.obs.shape == (50, 4)
    going_on = every.discount[:-1] == 1
    same = (every.next_obs[:-1] == every.obs[1:]).all(axis=1)
    assert (same | ~going_on).mean() > 0.9  # oldest first: one follows from the other
    np.testing.assert_array_equal(held[-1].obs, every.obs[-1])
    np.testing.assert_array_equal(held[-3:].reward, every.reward[-3:])
    one, two = held.sample(8, seed=1), held.sample(8, seed=1)
    np.testing.assert_array_equal(one.obs, two.obs)
    with pytest.raises(UsageError, match="the replay is empty"):
        DQN("CartPole-v1", **TINY).replay.sample(3)


def test_parameters_go_in_as_they_came_out(cartpole):
    other = DQN("CartPole-v1", seed=5, replay_capacity=50, lr="linear:1e-3", **TINY)
    obs = np.array([0.1, 0.2, -0.1, 0.0], np.float32)
    assert not np.array_equal(other.inspect(obs)["q"], cartpole.inspect(obs)["q"])
    other.set_parameters(cartpole.get_parameters())
    np.testing.assert_array_equal(other.inspect(obs)["q"], cartpole.inspect(obs)["q"])
    target, q = other._loop.state()["device"]["target"], other.learner.q
    assert jax.tree.all(jax.tree.map(np.array_equal, target.params, q.params))
    quiet(other, 20)
    name = next(iter(cartpole.get_parameters()))
    with pytest.raises(UsageError, match="parameters are missing"):
        other.set_parameters({name: cartpole.get_parameters()[name]})
    other.set_parameters({name: cartpole.get_parameters()[name]}, exact_match=False)
    np.testing.assert_array_equal(other.get_parameters()[name], cartpole.get_parameters()[name])
    with pytest.raises(UsageError, match=r"unknown parameter '\w+'; get_parameters\(\) has the"):
        other.set_parameters({"zzz": 1}, exact_match=False)
    with pytest.raises(UsageError, match="parameters do not fit: tensor"):
        other.set_parameters({name: np.zeros(7, np.float32)}, exact_match=False)


def test_parameters_of_a_compiled_task():
    model, other = (DQN("deep_sea/3", seed=seed, **TINY) for seed in (0, 1))
    quiet(model, 50)
    other.set_parameters(model.get_parameters())
    np.testing.assert_array_equal(other.inspect(4)["q"], model.inspect(4)["q"])
    quiet(other, 20)


class Follows(BaseCallback):
    def __init__(self):
        super().__init__(verbose=1)
        self.rewards, self.ends, self.seen = [], 0, []

    def _on_step(self):
        assert self.training_env is self.model.get_env()
        self.rewards.append(float(self.locals["rewards"][0]))
        self.ends += int(self.locals["dones"].sum())
        self.seen.append(self.locals["infos"][0]["seen"])
        self.logger.record("my/number", len(self.rewards))
        self.logger.record("my/secret", 1.0, exclude="tensorboard")
        return self.locals["num_timesteps"] < 10


def test_callbacks_have_logger_facts_and_environment():
    follows, rows = Follows(), []
    model = DQN(Pictures, torso="mlp", **TINY)

    class Listens(BaseCallback):
        def _on_training_start(self):
            self.logger.sinks.append(lambda step, values: rows.append((step, dict(values))))

    quiet(model, 30, callback=[follows, Listens()], log_interval=1)
    assert follows.rewards == [1.0] * 10
    assert follows.ends == 10
    assert set(follows.seen) <= {0, 1}
    assert follows.verbose == 1
    assert rows[3][1]["my/number"] == 4
    assert "my/secret" not in rows[3][1]
    assert model.logger.values["my/secret"] == 1.0
    with pytest.raises(UsageError, match="3 is no callback; expected a BaseCallback"):
        quiet(model, 5, callback=3)
