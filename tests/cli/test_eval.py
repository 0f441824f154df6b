"""`isl eval`: numbers, limits, and one clear line for whatever is wrong."""

import gymnasium
import pytest

from isl import DQN
from isl.cli.main import main
from isl.model.evaluation import Evaluation, evaluate, playable

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 8}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of a compiled task and one of a Gymnasium environment."""
    folder = tmp_path_factory.mktemp("models")
    DQN("deep_sea/3", **TINY).save(folder / "task.isl", replay=False)
    DQN("CartPole-v1", **TINY).save(folder / "cartpole.isl", replay=False)
    return folder


def test_episodes_are_the_same_each_time(saved):
    model = DQN.load(saved / "cartpole.isl")
    first, second = (evaluate(model, "CartPole-v1", 3) for _ in range(2))
    assert first == second
    assert first.returns == [float(length) for length in first.lengths]  # CartPole pays per step


def test_the_interval_holds_the_mean_and_shrinks_to_it():
    low, high = Evaluation([0.0, 1.0, 2.0, 3.0], [1] * 4, 0).interval
    assert 0 < low < 1.5 < high < 3
    assert Evaluation([2.0] * 5, [1] * 5, 0).interval == (2.0, 2.0)


def test_eval_of_a_compiled_task_needs_no_env(saved, capsys):
    assert main(["eval", str(saved / "task.isl"), "--episodes", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 episodes" in out
    assert "mean length 3 steps" in out


def test_max_steps_ends_an_episode(saved, capsys):
    arguments = ["eval", str(saved / "cartpole.isl"), "--env", "CartPole-v1", "--max-steps", "5"]
    assert main([*arguments, "--episodes", "2"]) == 0
    out = capsys.readouterr().out
    assert "mean length 5 steps" in out
    assert "2 episodes were ended by --max-steps" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["cartpole.isl"], 2, "give the environment; the model was trained on --env CartPole-v1"),
        (["cartpole.isl", "--env", "Nowhere-v0"], 2, "no environment called 'Nowhere-v0'"),
        (["cartpole.isl", "--env", "deep_sea/4"], 2, "the model reads Box"),
        (["task.isl", "--episodes", "0"], 2, "episodes must be at least 1"),
        (["task.isl", "--max-steps", "0"], 2, "max_steps must be at least 1"),
        (["absent.isl"], 2, "no such model file"),
        (["text.isl"], 1, "is not a checkpoint or model file of isl"),
    ],
)
def test_mistakes_get_one_clear_line(saved, capsys, arguments, code, words):
    (saved / "text.isl").write_text("hello")
    assert main(["eval", str(saved / arguments[0]), *arguments[1:]]) == code
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_videos(saved, tmp_path, capsys):
    arguments = ["eval", str(saved / "task.isl"), "--episodes", "1", "--video", str(tmp_path / "v")]
    try:
        import moviepy  # noqa: F401
    except ModuleNotFoundError:
        assert main(arguments) == 2
        assert "pip install 'isl[video]'" in capsys.readouterr().err
        return
    assert main(arguments) == 0
    assert list((tmp_path / "v").glob("*.mp4"))


def test_compiled_tasks_are_played_on_their_drawn_twins():
    env = playable("deep_sea/4", render_mode="rgb_array")
    assert isinstance(env, gymnasium.Env)
    env.reset(seed=0)
    assert env.render().ndim == 3
