"""`isl eval`: numbers, limits, and one clear line for whatever is wrong."""

import shutil

import gymnasium
import pytest

from isl import DQN
from isl.cli.main import main
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.model.evaluation import Evaluation, evaluate, playable
from isl.storage import run_folder, store
from isl.training import greedy
from isl.training.evaluations import Wish
from tests.support import endless  # noqa: F401  (registers its environment)

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


def test_an_episode_without_an_end_is_cut(tmp_path, capsys, caplog, monkeypatch):
    monkeypatch.setattr(greedy, "LONGEST", 70)
    DQN("Endless-v0", **TINY).save(tmp_path / "m.isl", replay=False)
    arguments = ["eval", str(tmp_path / "m.isl"), "--env", "Endless-v0", "--episodes", "2"]
    assert main(arguments) == 0
    assert "mean length 70 steps" in capsys.readouterr().out
    (line,) = caplog.messages
    assert "2 of 2 greedy episodes had not ended after 70 steps" in line
    assert "--max-steps" in line


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
        (["task.isl", "--best"], 2, "--best is for runs"),
        ([".", "--video", "films"], 2, "--video films one run"),
        (["."], 2, "holds no finished run"),
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


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a compiled task, with and without evaluations, and of a Gymnasium environment."""
    root = tmp_path_factory.mktemp("runs")
    small = {"hidden": [4], "batch_size": 4, "learning_starts": 20}
    tasks = {"deep_sea/3": {"episodes": 400}, "CartPole-v1": {"timesteps": 300}}
    for task, budget in tasks.items():
        spec = resolve(task, "dqn", small, **budget)
        run_cohort(spec, [0], root, wish=Wish())
        if task == "deep_sea/3":
            run_cohort(spec, [1], root)
    return root


def of(runs, task, seed=0):
    return next(run for run in store.scan(runs) if (run.task, run.seed) == (task, seed))


@pytest.mark.parametrize("task", ["deep_sea/3", "CartPole-v1"])
def test_the_last_and_the_best_policy_of_a_run(runs, capsys, task):
    run = of(runs, task)
    (best,) = run_folder.read_evaluations(run.path).sort("return_mean", "steps")[-1].to_dicts()
    for options, steps in (([], None), (["--best"], best["steps"])):
        assert main(["eval", str(run.path), "--episodes", "3", *options]) == 0
        out = capsys.readouterr().out
        assert "3 episodes" in out
        assert "mean length" in out
        if task == "deep_sea/3" and steps is not None:  # every episode is the same there
            assert f"mean return {best['return_mean']:.4g}, " in out


@pytest.mark.parametrize("task", ["deep_sea/3", "CartPole-v1"])
def test_runs_are_filmed_like_models(runs, tmp_path, capsys, task):
    """One video for each episode; without moviepy or pygame a line says what to install."""
    target = str(of(runs, task).path)
    code = main(["eval", target, "--episodes", "2", "--video", str(tmp_path / "v")])
    if code:
        error = capsys.readouterr().err
        assert (code, error.count("\n")) == (2, 1)
        assert "pip install" in error
        return
    assert len(list((tmp_path / "v").glob("*.mp4"))) == 2


def test_a_folder_of_runs_gives_a_line_each(runs, capsys):
    assert main(["eval", str(runs), "--episodes", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("CartPole-v1 dqn [")
    assert "seed 1: mean return" in lines[2]
    assert main(["eval", str(runs), "--episodes", "2", "--best"]) == 1
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 2
    (line,) = told.err.splitlines()
    assert line.endswith("has no best policy: it was trained without evaluations")


def test_nothing_that_a_folder_names_is_imported(runs, tmp_path, capsys, monkeypatch):
    (tmp_path / "stranger.py").write_text("raise SystemExit('executed')")
    monkeypatch.syspath_prepend(tmp_path)
    run = of(runs, "CartPole-v1")
    config = run.config | {"task": "stranger:CartPole-v1"}
    path = run_folder.run_path(tmp_path, config, 0)
    shutil.copytree(run.path, path)
    run_folder.start(path, config)
    run_folder.finish(path, run.summary | {"task": config["task"]})
    assert main(["eval", str(path)]) == 2
    assert "give the environment of the run: --env stranger:CartPole-v1" in capsys.readouterr().err
    assert main(["eval", str(path), "--env", "CartPole-v1", "--episodes", "1"]) == 0
    (path / "DONE.json").unlink()
    assert main(["eval", str(path)]) == 2
    assert "expected a finished run" in capsys.readouterr().err
