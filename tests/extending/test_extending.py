"""A new task and a new agent take one file and one registry entry each: CONTRIBUTING.md, literally.

The package is copied, the two files and the two entries are added, and every command works on them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import isl

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def entry(title: str) -> str:
    """The Python block that CONTRIBUTING.md shows for a registry entry."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index(title) :]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """`run(command)` of a package with the toy task and the toy agent in it."""
    folder = tmp_path_factory.mktemp("extended")
    package = folder / "isl"
    shutil.copytree(
        Path(isl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(HERE / "corridor.py", package / "envs" / "corridor.py")
    shutil.copy(HERE / "coin.py", package / "agents" / "coin.py")
    for path, table, title in (
        ("envs/registry.py", "TASKS: dict[str, TaskFamily] = {\n", "## How to add a task"),
        ("agents/__init__.py", "AGENTS = {\n", "## How to add an agent"),
    ):
        source = package / path
        text = source.read_text(encoding="utf-8")
        assert text.count(table) == 1
        source.write_text(text.replace(table, table + entry(title)), encoding="utf-8")

    def run(command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "isl", *command.split()],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.folder = folder
    return run


def test_everything_knows_the_new_task_and_the_new_agent(extended):
    listed = extended("list")
    assert "corridor/5" in listed
    assert "tosses a coin" in listed
    assert "probability of the last action" in extended("list coin")

    command = "train corridor/5 --agent coin --seeds 2 --snapshots --workers 1 --until-solved"
    trained = extended(f"{command} --heads 0.8 --out runs")
    assert "2 of 2 seeds solved" in trained
    (path, _) = sorted((extended.folder / "runs").rglob("episodes.parquet"))
    episodes = pl.read_parquet(path)
    assert episodes["goal_visits"].max() == 10
    assert 0 < episodes["back_steps"].max() < episodes["steps"].max()

    status = extended("status runs")
    assert "corridor/5/coin" in status
    assert "2 of 2" in status
    another = command.replace("corridor/5", "corridor/6").replace(
        "--seeds 2 --snapshots", "--seeds 1"
    )
    extended(f"{another} --heads 0.8 --out runs")  # with two lengths there is an axis for them
    extended("report runs --out report")
    page = (extended.folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "corridor: episodes to the tenth goal" in page
    assert "length L" in page
    extended(f"inspect {path.parent.relative_to(extended.folder)} -o inspect.html")
    assert "coin" in (extended.folder / "inspect.html").read_text(encoding="utf-8")


def test_our_agents_learn_the_new_task(extended):
    trained = extended("train corridor/4 --agent isl --episodes 20 --workers 1 --out other")
    assert "corridor/4 isl" in trained
