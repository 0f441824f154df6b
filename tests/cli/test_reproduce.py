"""`isl reproduce` from asking to rows, figures and pages, with an agent that needs no learning."""

from pathlib import Path

import pytest

from isl.cli import reproduce
from isl.cli.main import main
from isl.paper import table as results_table
from isl.paper.reproductions import REPRODUCTIONS, Part, Reproduction
from isl.storage import store

pytestmark = pytest.mark.slow  # trains

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two sizes, two seeds; the second tranche is one run of them. In a folder of its own."""
    budget = {"until_solved": True, "episodes": 120}
    agents = ("tests.support.counting_agent",)
    whole = Part("deep_sea", (3, 4), 2, agents, budget=budget)
    one = Part("deep_sea", (4,), 1, agents, budget=budget)
    monkeypatch.setitem(REPRODUCTIONS, "deep_sea", Reproduction([whole], [one], ([whole], [one])))
    monkeypatch.setattr(reproduce, "seconds_per_step", lambda specs: [1e-5 for _ in specs])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the workers to find the agent
    return tmp_path


def isl(words):
    return main(words.split())


def test_rows_accumulate_and_need_no_folders(small, capsys):
    assert isl("reproduce deep_sea --tranche 2 --out a --record r --workers 1") == 0
    rows = results_table.read_folder(small / "r")
    assert [(r.task, r.seed) for r in rows] == [("deep_sea/4", 0)]
    assert "deep_sea: 1 runs, 0 of them in r" in capsys.readouterr().out

    # Elsewhere, with the table alone: only what is missing is run.
    assert isl("reproduce deep_sea --out b --record r --workers 1") == 0
    said = capsys.readouterr().out
    assert "deep_sea: 4 runs, 1 of them in r\n" in said
    assert "on 1 core: at most" in said
    assert {(run.task, run.seed) for run in store.scan(small / "b")} == {
        ("deep_sea/3", 0),
        ("deep_sea/3", 1),
        ("deep_sea/4", 1),
    }
    rows = results_table.read_folder(small / "r")
    assert len(rows) == 4
    assert (small / "r/deep_sea.svg").is_file()
    assert (small / "r/deep_sea.png").is_file()

    # Rows of another machine count too, and are said to be its own.
    table = small / "s/deep_sea.csv"
    results_table.add(table, [row._replace(cpu="another") for row in rows])
    assert isl("reproduce deep_sea --record s --out c") == 0
    assert "4 of them in s (4 with another JAX or processor" in capsys.readouterr().out

    # All there: nothing runs, and the tables alone draw the same figure.
    before = (small / "r/deep_sea.svg").read_bytes()
    (small / "r/deep_sea.svg").unlink()
    assert isl("reproduce deep_sea --figures --record r --out c") == 0
    assert (small / "r/deep_sea.svg").read_bytes() == before
    assert isl("reproduce deep_sea --record r --out c") == 0
    assert not (small / "c").exists()


def test_runs_that_are_done_already_are_recorded_and_conflicts_stop_the_day(small, capsys):
    assert isl("reproduce deep_sea --tranche 2 --out a --record r --workers 1") == 0
    # Another table, the same folder of runs: the row comes from the folder.
    assert isl("reproduce deep_sea --tranche 2 --out a --record s --workers 1") == 0
    table = small / "s/deep_sea.csv"
    assert table.read_bytes() == (small / "r/deep_sea.csv").read_bytes()
    (row,) = results_table.read(table)
    recorder = reproduce._Recorder(table)
    table.write_text(results_table.to_csv([row._replace(best_return=7.0)]))
    (run,) = store.scan(small / "a")
    recorder(run)
    assert recorder.conflicts == 1
    assert "has another result of deep_sea/4" in capsys.readouterr().out
    assert results_table.read(table)[0].best_return == 7.0


def test_a_spent_budget_starts_nothing_more(small):
    """The first run takes longer than no time at all; the others are left, in order."""
    command = "reproduce deep_sea --out a --record r --workers 1 --max-core-hours 1e-6"
    assert isl(command) == 130
    (row,) = results_table.read_folder(small / "r")
    assert (row.task, row.seed) == ("deep_sea/3", 0)
    assert isl(command) == 130
    rows = results_table.read_folder(small / "r")
    assert [(r.task, r.seed) for r in rows] == [("deep_sea/3", 0), ("deep_sea/4", 0)]


def test_the_cost_alone_runs_nothing(small, capsys):
    assert isl("reproduce deep_sea --cost --cores 50 --out a --record r") == 0
    assert "on 50 cores: at most" in capsys.readouterr().out
    assert not (small / "a").exists()


def test_quick_stays_out_of_the_projects_tables(small):
    (small / "docs/results").mkdir(parents=True)
    assert isl("reproduce deep_sea --quick --out a --workers 1") == 0
    assert (small / "a/results/deep_sea.csv").is_file()
    assert not list((small / "docs/results").iterdir())
    assert isl("reproduce deep_sea --tranche 2 --out a --workers 1") == 0
    assert (small / "docs/results/deep_sea.csv").is_file()


@pytest.mark.parametrize(
    "wrong",
    ["--quick --tranche 1", "--tranche 9", "--cores 0", "--max-core-hours -1", "--cost --figures"],
)
def test_bad_usage_is_one_line(small, capsys, wrong):
    assert main(["reproduce", "deep_sea", *wrong.split()]) == 2
    assert capsys.readouterr().err.count("\n") == 1
