"""Rows of results: written and read back, merged in any order, never overwritten, run again."""

import dataclasses
import itertools
import multiprocessing

import pytest

from isl.cli.main import main
from isl.errors import DamagedFile
from isl.experiments.spec import resolve
from isl.paper import rows, table
from isl.paper.table import Row, add, merge, read, read_folder, to_csv
from isl.storage import store
from tests.support.results import row


def test_read_gives_what_was_written(tmp_path):
    rows = [
        row(0, best_return=0.1 + 0.2),
        row(1, solved_episode=None, censored_at=310, status="diverged", best_return=None),
        row(2, variant='hidden=[50,50] ell_bias=true', until_solved=False, commit="ab+", cpu='"x"'),
    ]  # fmt: skip
    path = tmp_path / "deep_sea.csv"
    assert add(path, rows) == []
    assert sorted(read(path), key=lambda r: r.seed) == rows
    assert read(tmp_path / "absent.csv") == []


def test_merging_is_free_of_order_and_may_be_repeated():
    """Equal numbers from two machines: the same row stays whoever comes first."""
    here, there = row(1, cpu="A", seconds=2.0), row(1, cpu="B", seconds=1.0)
    rows = [row(0), here, there, row(2), row(0, task="deep_sea/8")]
    texts = {to_csv(merge(order).rows) for order in itertools.permutations(rows)}
    assert len(texts) == 1
    once = merge(rows)
    assert once.conflicts == []
    assert merge(once.rows, once.rows) == once
    assert [r.size for r in once.rows] == [8, 10, 10, 10]  # numbers, not letters


def test_a_conflict_is_reported_and_nothing_is_overwritten(tmp_path):
    path = tmp_path / "deep_sea.csv"
    add(path, [row(0), row(1)])
    before = path.read_bytes()
    other = row(0, solved_episode=301)
    assert add(path, [other]) == [(row(0), other)]
    assert path.read_bytes() == before
    add(tmp_path / "ablation.csv", [row(1)])
    assert len(read_folder(tmp_path)) == 2
    add(tmp_path / "cartpole_swingup.csv", [other])
    with pytest.raises(DamagedFile, match="two results of deep_sea/10 isl seed 0"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("deep_sea/10,isl", "line 2 has 2 cells"),
        (to_csv([row()]).splitlines()[1].replace("3100", "many"), "line 2: invalid literal"),
        (to_csv([row()]).splitlines()[1].replace("true", "yes"), "line 2: expected true or false"),
        (to_csv([row()]).splitlines()[1].replace("0.99", "nan"), "line 2: expected a finite"),
        (to_csv([row()]).splitlines()[1].replace("done", "failed"), "failed is not finished"),
        (to_csv([row()]).splitlines()[1].replace("/10", "/x"), "has no number"),
    ],
)
def test_a_damaged_table_names_the_line(tmp_path, wrong, reason):
    path = tmp_path / "deep_sea.csv"
    path.write_text(",".join(Row._fields) + "\n" + wrong + "\n")
    with pytest.raises(DamagedFile, match=reason):
        read(path)
    path.write_text("task,agent\n")
    with pytest.raises(DamagedFile, match="other columns"):
        read(path)


def _add_ten(path, first):
    for seed in range(first, first + 10):
        add(path, [row(seed)])


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    path = tmp_path / "deep_sea.csv"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_ten, args=(path, 10 * k)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert [r.seed for r in read(path)] == list(range(30))


@pytest.mark.parametrize(
    ("task", "agent", "overrides", "more", "variant"),
    [
        ("deep_sea/10", "isl", {}, {"until_solved": True}, ""),
        ("deep_sea/9", "isl", {"ell_bias": True}, {"mapping_seed": 7},
         "ell_bias=true mapping_seed=7"),
        ("cartpole_swingup/3", "isl", {"kappa": 26, "eta1": 0}, {}, "eta1=0.0 kappa=26.0"),
        ("deep_sea/10", "dqn", {"hidden": [20, 30]}, {"episodes": 70}, "hidden=[20,30]"),
    ],
)  # fmt: skip
def test_a_rows_command_is_the_run_it_came_from(monkeypatch, task, agent, overrides, more, variant):
    """DQN's ε depends on the budget; that is no variant."""
    spec = resolve(task, agent, overrides, **more)
    assert rows.variant_of(spec) == variant
    made = row(3, task=task, agent=agent, variant=variant, budget=spec.episodes,
               until_solved=spec.until_solved)  # fmt: skip
    asked = []
    monkeypatch.setattr("isl.cli.train.run_locally", lambda jobs, out, **_: asked.extend(jobs) or 0)
    assert main(rows.command_of(made)) == 0
    (job,) = asked
    assert (job.spec, job.seeds) == (spec, (3,))


def test_a_run_becomes_a_row(tmp_path):
    command = "train deep_sea/3 --agent tests.support.counting_agent --first-seed 2 --episodes 40"
    assert main([*command.split(), "--until-solved", "--out", str(tmp_path)]) == 0
    (run,) = store.scan(tmp_path)
    made = rows.row_of(run)
    again = tmp_path / "again"
    assert main([*rows.command_of(made), "--out", str(again)]) == 0
    (repeated,) = store.scan(again)
    assert rows.row_of(repeated).numbers == made.numbers
    assert (made.key, made.size) == ((run.config_hash, 2), 3)
    assert made.solved_episode is None
    assert made.censored_at == made.episodes == 40
    assert made.jax
    other = dict(run.provenance[0], git_sha="f" * 40, git_dirty=True)
    continued = dataclasses.replace(run, provenance=[*run.provenance, other])
    assert rows.row_of(continued).commit == f"{made.commit}/{'f' * 12}+"
    assert table.merge([made], [rows.row_of(repeated)]).conflicts == []
