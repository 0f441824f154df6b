"""`learn` evaluates the policy that `predict` returns, and learns the same without."""

import gymnasium
import jax
import numpy as np
import pytest

from isl import DQN
from isl.errors import UsageError
from isl.model.evaluation import evaluate
from isl.storage import tensorboard
from isl.training import greedy
from tests.support.endless import Endless

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 16}


def same(one, other):
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


def test_learning_does_not_depend_on_it(tmp_path):
    model = DQN("CartPole-v1", seed=1, **TINY).learn(
        600, progress_bar=False, tensorboard_log=tmp_path, eval_freq=150, n_eval_episodes=2
    )
    plain = DQN("CartPole-v1", seed=1, **TINY).learn(600, progress_bar=False, n_eval_episodes=0)
    assert same(model.learner, plain.learner)
    assert same(model._loop.state(), plain._loop.state())
    assert plain.evaluations == []
    found = [row.steps for row in model.evaluations]
    assert len(found) > 2
    assert found[-1] == model.num_timesteps
    assert {row.evaluated for row in model.evaluations} == {2}
    rows = {row.step: row.values for row in tensorboard.read(tmp_path / "DQN_1")}
    for row in model.evaluations:
        assert rows[row.steps]["eval/mean_reward"] == pytest.approx(row.return_mean, rel=1e-6)
        assert rows[row.steps]["eval/mean_ep_length"] == pytest.approx(row.length_mean)


@pytest.fixture(scope="module")
def model():
    return DQN(gymnasium.make("CartPole-v1"), **TINY)


def test_an_environment_that_was_given_made_needs_another_one(model, caplog):
    for _ in range(2):
        model.learn(20, progress_bar=False)
    (line,) = caplog.messages  # once
    assert "learn(eval_env=…)" in line
    assert model.evaluations == []
    other = gymnasium.make("CartPole-v1")
    model.learn(20, progress_bar=False, eval_env=other)
    model.learn(20, progress_bar=False, eval_env=other, reset_num_timesteps=False)
    assert [row.steps for row in model.evaluations] == [20, 40]
    other.reset()  # it was not closed
    assert model.evaluations[0].return_mean == model.evaluations[0].length_mean > 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eval_freq": 0}, "eval_freq must be at least 1, got 0"),
        ({"n_eval_episodes": -1}, "n_eval_episodes must be at least 0"),
        ({"eval_freq": 5, "n_eval_episodes": 0}, "n_eval_episodes=0 leaves"),
        ({"eval_freq": 5}, "eval_freq needs eval_env"),
        ({"eval_env": "FrozenLake-v1"}, "the environment gives Discrete"),
        ({"eval_env": "its own"}, "give another one"),
        ({"eval_env": 3}, "cannot play on int"),
    ],
)
def test_mistakes_get_one_clear_line(model, options, words):
    if options.get("eval_env") == "its own":
        options = {"eval_env": model.env}
    with pytest.raises(UsageError, match=words):
        model.learn(10, progress_bar=False, **options)


def test_an_episode_without_an_end_is_cut_with_one_line(caplog, monkeypatch):
    monkeypatch.setattr(greedy, "LONGEST", 1_500)
    model = DQN(Endless, **TINY)
    model.learn(300, progress_bar=False).learn(300, progress_bar=False)
    assert {row.length_mean for row in model.evaluations} == {1_000.0}
    (line,) = caplog.messages  # once
    assert line == (
        "Endless: 1 of 1 greedy episodes had not ended after 1,000 steps and were cut there"
    )
    caplog.clear()
    assert evaluate(model, Endless, 2).lengths == [1_500] * 2
    (line,) = caplog.messages
    assert line.startswith("2 of 2 greedy episodes had not ended after 1,500 steps")
    caplog.clear()
    assert evaluate(model, Endless, 2, max_steps=20).lengths == [20] * 2
    assert caplog.messages == []  # as asked for
