"""The scripts beside the results: rows done again, the film of a swing-up, learning curves."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from isl.cli.main import main
from isl.paper import rows, table
from isl.storage import store

pytestmark = pytest.mark.slow  # trains and draws

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Run a script as from the command line; its exit code."""
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTS.parent))

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(SCRIPTS / name), run_name="__main__")
        return ended.value.code

    return run


def trained(out, command):
    """The runs of a command."""
    assert main(f"train {command} --workers 1 --out {out}".split()) == 0
    return sorted(store.scan(out), key=lambda run: run.seed)


def test_rows_are_done_again_and_a_wrong_one_is_found(tmp_path, script, capsys):
    (run,) = trained(
        tmp_path / "runs", "deep_sea/3 --agent tests.support.counting_agent --episodes 30"
    )
    row = rows.row_of(run)
    table.add(tmp_path / "deep_sea.csv", [row])
    assert script("check_rows.py", "--folder", tmp_path) == 0
    assert "1 of 1 rows hold" in capsys.readouterr().out
    wrong = row._replace(best_return=2.0, records="0" * 12)
    (tmp_path / "deep_sea.csv").write_text(table.to_csv([wrong]))
    assert script("check_rows.py", "--folder", tmp_path, "--table", "deep_sea") == 1
    said = capsys.readouterr().out
    assert f"best_return {row.best_return} instead of 2.0" in said
    assert f"records {row.records} instead of 000000000000" in said
    assert script("check_rows.py", "--folder", tmp_path / "nothing") == 2
    slow = row._replace(seconds=61.0)
    (tmp_path / "deep_sea.csv").write_text(table.to_csv([slow]))
    assert script("check_rows.py", "--folder", tmp_path, "--within", "1") == 2
    elsewhere = row._replace(cpu="another")
    (tmp_path / "deep_sea.csv").write_text(table.to_csv([elsewhere]))
    assert script("check_rows.py", "--folder", tmp_path, "--here") == 2


def test_a_film_learning_curves_and_rewards_of_a_cartpole_run(tmp_path, script, capsys):
    tiny = "--agent dqn --hidden 4 --batch-size 4 --episodes 2 --seeds 2 --snapshots"
    first, second = trained(tmp_path, f"cartpole_swingup/2 {tiny}")
    film, picture = tmp_path / "swingup.gif", tmp_path / "learning.svg"
    assert script("draw_swingup.py", first.path, film) == 0
    assert film.read_bytes().startswith(b"GIF89a")
    assert "cartpole_swingup/2 dqn seed 0: 20 episodes, median return" in capsys.readouterr().out
    table = tmp_path / "learning.csv"
    assert script("draw_learning.py", "collect", first.path, table) == 0
    assert script("draw_learning.py", "collect", second.path, first.path, table) == 0
    collected = table.read_bytes()  # adding a run again changes nothing
    assert script("draw_learning.py", "collect", second.path, table) == 0
    assert table.read_bytes() == collected
    assert script("draw_learning.py", "draw", table, picture) == 0
    assert "seed 1, upright: q̂ " in capsys.readouterr().out
    drawn = picture.read_bytes()
    assert len(drawn) > 10_000
    assert script("draw_learning.py", "draw", table, picture) == 0
    assert picture.read_bytes() == drawn
    capsys.readouterr()
    assert script("count_rewards.py", second.path) == 0
    said = capsys.readouterr().out
    assert re.match(
        r"cartpole_swingup/2 dqn seed 1: [\d,]+ of [\d,]+ steps rewarded, in \d of 2", said
    )
    assert "the same returns as recorded" in said
    assert script("count_rewards.py", tmp_path) == 2
    assert script("draw_swingup.py", tmp_path, film) == 2
    assert script("draw_learning.py", "collect", tmp_path, table) == 2
    assert script("draw_learning.py", "draw", tmp_path / "none.csv", picture) == 2
    assert table.read_bytes() == collected
