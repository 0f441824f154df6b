"""The tools that draw the documentation's pictures: a film of a swing-up, learning curves."""

import runpy
import sys
from pathlib import Path

import pytest

from isl.cli.main import main
from isl.storage import store

TOOLS = Path(__file__).parents[1] / "docs" / "tools"


@pytest.fixture
def tool(monkeypatch):
    """Run a tool as from the command line; its exit code."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(TOOLS / name), run_name="__main__")
        return ended.value.code

    return run


def test_a_film_and_learning_curves_of_cartpole_runs(tmp_path, tool, capsys):
    tiny = "--agent dqn --hidden 4 --batch-size 4 --episodes 2 --seeds 2 --snapshots --workers 1"
    assert main(f"train cartpole_swingup/2 {tiny} --out {tmp_path}".split()) == 0
    first, second = sorted(store.scan(tmp_path), key=lambda run: run.seed)
    film, picture = tmp_path / "swingup.gif", tmp_path / "learning.svg"
    assert tool("draw_swingup.py", first.path, film) == 0
    assert film.read_bytes().startswith(b"GIF89a")
    assert "cartpole_swingup/2 dqn seed 0: 20 episodes, median return" in capsys.readouterr().out
    table = tmp_path / "learning.csv"
    assert tool("draw_learning.py", "collect", first.path, table) == 0
    assert tool("draw_learning.py", "collect", second.path, first.path, table) == 0
    collected = table.read_bytes()  # adding a run again changes nothing
    assert tool("draw_learning.py", "collect", second.path, table) == 0
    assert table.read_bytes() == collected
    assert tool("draw_learning.py", "draw", table, picture) == 0
    assert "seed 1, upright: q̂ " in capsys.readouterr().out
    drawn = picture.read_bytes()
    assert len(drawn) > 10_000
    assert tool("draw_learning.py", "draw", table, picture) == 0
    assert picture.read_bytes() == drawn
    assert tool("draw_swingup.py", tmp_path, film) == 2
    assert tool("draw_learning.py", "collect", tmp_path, table) == 2
    assert tool("draw_learning.py", "draw", tmp_path / "none.csv", picture) == 2
    assert table.read_bytes() == collected
    # What the agent believed at its landmarks can be looked into, too.
    page = tmp_path / "inside.html"
    assert main(["inspect", str(first.path), "-o", str(page)]) == 0
    assert "upright" in page.read_text()


def test_the_charts_of_the_readme_are_drawn_from_the_tables(tmp_path, tool, capsys):
    assert tool("draw_charts.py", "--out", tmp_path) == 0
    for suffix in ("", "-dark"):
        assert "<!-- 407 steps/s -->" in (tmp_path / f"speed{suffix}.svg").read_text()
        assert "<!-- ISL, tables -->" in (tmp_path / f"scaling{suffix}.svg").read_text()
    assert tool("draw_logo.py", "--out", tmp_path) == 0
    assert (tmp_path / "logo.svg").read_text().startswith("<svg")


def test_a_film_of_door_key(tmp_path, tool, capsys):
    film = tmp_path / "door_key.gif"
    assert tool("draw_door_key.py", film, 600) == 0
    assert film.read_bytes().startswith(b"GIF89a")
    assert "door_key/5, 600 steps: " in capsys.readouterr().out
    assert tool("draw_door_key.py", film, "many") == 2
