"""Rows done again: `isl reproduce NAME --check N`."""

from pathlib import Path

import pytest

from isl.cli.main import main
from isl.experiments.spec import resolve
from isl.paper import check, rows, table
from isl.storage import store
from tests.support.results import row
from tests.support.trials import trial

ROOT = Path(__file__).parents[2]


def isl(words, folder):
    return main([*words.split(), "--record", str(folder)])


def test_rows_are_done_again_and_a_wrong_one_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")  # for the worker to find the agent
    agent = "--agent tests.support.counting_agent --episodes 30 --workers 1"
    assert main(f"train deep_sea/3 {agent} --out {tmp_path / 'runs'}".split()) == 0
    (run,) = store.scan(tmp_path / "runs")
    made = rows.row_of(run)
    path = tmp_path / "deep_sea.csv"
    table.add(path, [made])
    assert isl("reproduce all --check 5 --here", tmp_path) == 0
    assert "1 of 1 rows hold" in capsys.readouterr().out
    path.write_text(table.to_csv([made._replace(best_return=2.0, records="0" * 12)]))
    assert isl("reproduce deep_sea --check 1", tmp_path) == 1
    said = capsys.readouterr().out
    assert f"best_return {made.best_return} instead of 2.0" in said
    assert f"records {made.records} instead of 000000000000" in said
    assert "0 of 1 rows hold" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reproduce deep_sea --check 1 --within 1", "no such rows"),  # it took 61 seconds
        ("reproduce deep_sea --check 1 --here", "no such rows"),  # made elsewhere
        ("reproduce ablation --check 1", "no such rows"),
        ("reproduce deep_sea --check 0", "--check must be above 0"),
        ("reproduce all", "all is for --check"),
        ("reproduce deep_sea --here", "choose the rows of --check"),
        ("reproduce deep_sea --check-seed 0", "choose the rows of --check"),
    ],
)
def test_what_cannot_be_checked_is_one_line(tmp_path, capsys, words, said):
    table.add(tmp_path / "deep_sea.csv", [row(seconds=61.0, cpu="another")])
    assert isl(words, tmp_path) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1


def test_the_draw_is_fixed_by_its_seed():
    many = [row(seed) for seed in range(50)]
    assert check.draw_rows(many, 5, 1) == check.draw_rows(many, 5, 1)
    assert check.draw_rows(many, 5, 1) != check.draw_rows(many, 5, 2)
    assert len(set(check.draw_rows(many, 99))) == 50
    quick = [row(0, seconds=59.0), row(1, seconds=61.0)]
    assert check.draw_rows(quick, 5, within=1) == quick[:1]


@pytest.mark.parametrize(
    ("variant", "overrides", "more"),
    [
        ("", {}, {}),
        ("ell_bias=true mapping_seed=7", {"ell_bias": True}, {"mapping_seed": 7}),
        ("cohort_width=2 hidden=[20,30]", {"hidden": [20, 30]}, {"cohort_width": 2}),
    ],
)
def test_a_rows_spec_is_the_run_it_came_from(variant, overrides, more):
    made = row(3, task="deep_sea/9", variant=variant, budget=70)
    spec = resolve("deep_sea/9", "isl", overrides, episodes=70, until_solved=True, **more)
    assert rows.spec_of(made) == spec
    assert rows.variant_of(spec) == variant


def test_a_trial_is_done_again_too(monkeypatch):
    monkeypatch.setattr(check, "run_apart", lambda *wanted: trial(final_return=0.5))
    held = check.check(trial(final_return=0.5, seconds=9.0, cpu="another"))
    assert held.holds
    verdict = check.check(trial(final_return=0.25))
    assert not verdict.holds
    assert "final_return 0.5 instead of 0.25" in verdict.text
    gone = check.check(trial(env="Nowhere-v0"))
    assert not gone.holds
    assert "no longer among the cases" in gone.text
