"""The command line as a user meets it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len

from isl.agents import AGENTS
from isl.cli.main import COMMANDS, GROUPS, main
from isl.envs.registry import TASKS
from isl.status import ExitCode

pytestmark = pytest.mark.slow  # runs whole commands

ISL = [sys.executable, "-c", "import sys; from isl.cli.main import main; sys.exit(main())"]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("train deep_see/20", "did you mean 'deep_sea/20'?"),
        ("train cartpole_swingup/25", "0–19, got 25"),
        ("train deep_sea/10 --seeds 0", "--seeds must be at least 1, got 0"),
        ("train deep_sea/10 --first-seed -1", "--first-seed must be at least 0, got -1"),
        ("train deep_sea/10 --kappa -1", "kappa must be > 0, got -1"),
        ("train deep_sea/10 --kappa x", "expected a number, got 'x'"),
        ("train deep_sea/10 --kapa 1", "unknown option --kapa; did you mean --kappa?"),
        ("train deep_sea/10 --episodes 0", "--episodes must be at least 1, got 0"),
        ("train deep_sea/10 --workers 0", "--workers must be at least 1, got 0"),
        ("train deep_sea/10 --out /proc/nowhere", "cannot write to --out /proc/nowhere"),
        ("train deep_sea/10 --agent dqm", "did you mean dqn?"),
        ("train deep_sea/10 --agent no.such_agent", "no module named 'no'"),
        ("train deep_sea/10 --agent json.decoder", "has no Config and no make"),
        (
            "train cartpole_swingup/1 --until-solved",
            "tasks with a goal to visit; cartpole_swingup/1 has none",
        ),
        ("train FrozenLake-v1 --hidden 8", "hidden has no effect here: a table has neither"),
        ("train CartPole-v1 --sweep 9", "sweep has no effect here"),
        ("train deep_sea/4 --agent sbeed --target-period 2", "target_period has no effect here"),
        ("train deep_sea/4 --preset deep_sea_tables", "has nothing for agent 'isl'; it has isl_t"),
        ("train deep_sea/4 --preset auto", "unknown preset 'auto'; known: cartpole_swingup"),
        ("train deep_sea/4 --eval-every 0", "--eval-every must be at least 1, got 0"),
        (
            "train deep_sea/4 --eval-episodes 0",
            "--eval-episodes must be at least 1, got 0; or",
        ),
        (
            "sweep deep_sea/4 --no-eval --eval-every 9",
            "--no-eval leaves --eval-every and",
        ),
        ("train deep_sea/10 --learning-rate 1", "it is --lr-q, --lr-rho and --lr-ell"),
        ("train deep_sea/10 --foo 1", "unknown option --foo; see isl train --help"),
        ("train Pendulum-v1", "action space Box(-2.0, 2.0, (1,), float32) is not supported"),
        ("train", "task is missing, as in: isl train deep_sea/20"),
        ("reproduce deepsea", "unknown name 'deepsea'; did you mean deep_sea?"),
        ("sweep deep_sea --sizes 3 --kappa 1 13", "several are given as --grid kappa=1,13"),
        ("sweep deep_sea --sizes 3 --kappa=1,13", "several are given as --grid kappa=1,13"),
        ("sweep deep_sea/3 --agents isl dqn --kappa 1", "with several give --grid kappa=1"),
        (
            "sweep --kappa 1",
            "TASK is missing, as in: isl sweep deep_sea --sizes 10 20 --seeds 5 --g",
        ),
        ("trian deep_sea/10", "unknown command 'trian'; did you mean train?"),
    ],
)
def test_bad_input_is_one_line_and_code_2(command, line, capsys):
    assert main(command.split()) == 2
    printed = capsys.readouterr()
    assert line in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(f"isl {name}" in printed for name in COMMANDS)
    assert max(map(len, printed.splitlines())) <= 80


def test_help_has_every_command_in_one_group():
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= set(COMMANDS)


def test_list_is_short_and_shows_tasks_and_agents(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in AGENTS)
    assert all(family.example in printed for family in TASKS.values())
    assert max(map(cell_len, printed.splitlines())) <= 80
    assert printed.count("\n") <= 50


def test_list_shows_a_task(capsys):
    assert main(["list", "deep_sea", "point_maze"]) == 0
    printed = capsys.readouterr().out
    assert "deep_sea/20: an N × N grid" in printed
    assert "size: 2 to 46,340" in printed
    assert "it has no number" in printed


def test_list_shows_the_options_of_agents_basic_ones_first(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list", "isl", "boot_dqn"]) == 0
    printed = capsys.readouterr().out
    titles = ["basic options of isl", "advanced options of isl"]
    titles += ["basic options of boot_dqn", "advanced options of boot_dqn"]
    places = [printed.index(title) for title in titles]
    assert places == sorted(places)
    basic, advanced, bsp, others = (
        printed[i:j] for i, j in zip(places, [*places[1:], len(printed)], strict=True)
    )
    assert "--kappa" in basic
    assert "--eta1" in advanced
    assert "--ensemble" in bsp
    assert "--mask-probability" in others
    presets_of_isl = advanced[advanced.index("what it changes") :]
    assert "cartpole_swingup " in presets_of_isl
    assert "--kappa 13" in presets_of_isl
    assert "nothing: it is the defaults" in presets_of_isl
    assert max(map(cell_len, printed.splitlines())) <= 80


def test_help_of_train_has_both_groups_of_options(capsys):
    with pytest.raises(SystemExit):
        main(["train", "CartPole-v1", "--help"])
    printed = capsys.readouterr().out
    _, basic, advanced = re.split(r"\n(?:basic|advanced) options of seeker", printed)
    assert "  --kappa X " in basic
    assert "  --ell-gamma X " in advanced


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        ("CartPole-v1", "seeker"),
        ("deep_sea/3", "isl"),
        ("cartpole_swingup/3 --workers 1", "isl"),
        ("--seeds 2 CartPole-v1", "seeker"),
        ("--hidden 8 8 --kappa 1e-3 CartPole-v1 --out somewhere", "seeker"),
        ("--until-solved deep_sea/3", "isl"),
        ("CartPole-v1 --agent isl", "isl"),
        ("--agent=dqn CartPole-v1", "dqn"),
    ],
)
def test_without_a_name_the_task_decides_which_agent_trains(command, agent, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(
        "isl.cli.train.run_locally", lambda jobs, *_, **__: asked.append(jobs) or ExitCode.OK
    )
    assert main(["train", *command.split()]) == 0
    ((first, *_),) = asked
    assert first.spec.agent_name == agent
    beyond_paper = agent == "isl" and "CartPole" in command
    told = "ISL takes the paper's preset cartpole_swingup here; Seeker is the agent for"
    assert capsys.readouterr().err.startswith(told) == beyond_paper


def test_train_learns_repeats_its_bits_and_continues(tmp_path):
    """Deep Sea 10 is solved; two processes on two cores, or one on one, give the same bytes."""
    command = [*ISL, "train", "deep_sea/10", "--seeds", "2", "--until-solved"]
    two = subprocess.run(
        [*command, "--out", tmp_path / "two"], capture_output=True, text=True, check=True
    )
    assert "2 of 2 seeds solved" in two.stdout
    folders = sorted((tmp_path / "two").glob("deep_sea/10/isl/*/seed-*"))
    for folder in folders:
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["status"] == "done"
        assert summary["solved_episode"] < 1_000
        assert summary["best_return"] == pytest.approx(0.99, abs=1e-6)
        assert pl.read_parquet(folder / "episodes.parquet")["goal_visits"][-1] == 10

    one_core = ["taskset", "-c", "0"] if Path("/usr/bin/taskset").exists() else []
    subprocess.run(
        [*one_core, *command, "--workers", "1", "--seeds", "1", "--out", tmp_path / "one"],
        capture_output=True,
        check=True,
    )
    name = folders[0].relative_to(tmp_path / "two")
    for file in ("episodes.parquet", "checkpoint/final.safetensors"):
        assert (folders[0] / file).read_bytes() == (tmp_path / "one" / name / file).read_bytes()

    again = subprocess.run(
        [*command, "--out", tmp_path / "two"], capture_output=True, text=True, check=True
    )
    assert "2 of 2 seeds solved" in again.stdout
    assert "started" not in again.stdout


@pytest.mark.parametrize("name", ["my_agent", "my_pkg.my_agent"])
def test_an_agent_of_the_users_own(tmp_path, name):
    """The documentation's example, from a folder outside the package."""
    example = Path(__file__).parents[2] / "docs" / "examples" / "my_agent.py"
    path = tmp_path / f"{name.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(example.read_text())
    ended = subprocess.run(
        [*ISL, "train", "deep_sea/3", "--agent", name, "--episodes", "300"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert list((tmp_path / "runs").glob(f"deep_sea/3/{name}/*/seed-0/DONE.json"))


def test_a_run_that_raises_is_recorded_and_named(tmp_path):
    (tmp_path / "broken_agent.py").write_text(
        "from tests.support.counting_agent import Config\n"
        "def make(*_):\n    raise RuntimeError('no such thing')\n"
    )
    package = tmp_path / "broken"
    package.mkdir()
    (package / "__init__.py").touch()
    (tmp_path / "broken_agent.py").rename(package / "agent.py")
    ended = subprocess.run(
        [*ISL, "train", "deep_sea/3", "--agent", "broken.agent"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "deep_sea/3 broken.agent seed 0: failed: RuntimeError: no such thing" in ended.stdout
