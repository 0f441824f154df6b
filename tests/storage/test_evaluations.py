"""Greedy evaluations on the disk: sealed with the run, read without JAX, absent from old runs."""

from pathlib import Path

import polars as pl
import pytest

from isl.errors import DamagedFile
from isl.storage import checkpoint, evaluations, files, merge, run_folder, store
from tests.support.fault_injection import results, state_at, summary, write_run

FORMAT_1 = Path(__file__).parents[1] / "fixtures" / "format-1"
ROWS = [
    dict(zip(evaluations.COLUMNS, values, strict=True))
    for values in ((100, 9, 0.5, 0.0, 1.0, 11.5, 2), (200, 20, 0.25, 0.25, 0.25, 10.0, 2))
]


def evaluated(root, seed=0, rows=ROWS):
    """A finished run with evaluations."""
    run_dir = write_run(root, seed)
    run_folder.write_evaluations(run_dir, rows, rows[0], state_at(1))
    run_folder.finish(run_dir, summary(seed))
    return run_dir


def test_evaluations_are_read_back_with_their_types(tmp_path):
    run_dir = evaluated(tmp_path)
    found = run_folder.read_evaluations(run_dir)
    assert found.schema == evaluations.COLUMNS
    assert found.to_dicts() == ROWS
    best, meta = checkpoint.load_file(run_dir / "checkpoint" / "best.safetensors", state_at(0))
    assert best["n"] == 1
    assert meta == {"kind": "best", "evaluation": ROWS[0]}
    assert run_folder.verify(run_dir) == []
    assert {"evaluations.parquet", "checkpoint/best.safetensors"} <= set(
        run_folder.manifest(run_dir)
    )
    with run_folder.lock(run_dir):
        run_folder.discard(run_dir)
    assert results(tmp_path) == {}


def test_a_run_without_evaluations_has_none(tmp_path):
    (old,) = store.scan(FORMAT_1)
    assert run_folder.read_evaluations(old.path) is None
    assert store.load_evaluations(FORMAT_1).is_empty()
    evaluated(tmp_path, seed=1)
    write_run(tmp_path, seed=2)
    table = store.load_evaluations(tmp_path)
    assert table["seed"].to_list() == [1, 1]
    assert table["return_mean"].to_list() == [0.5, 0.25]


def test_what_an_attempt_with_evaluations_left_is_not_sealed_without_them(tmp_path):
    run_dir = evaluated(tmp_path)
    run_folder.write_evaluations(run_dir, [], {}, None)
    run_folder.finish(run_dir, summary(0))
    assert run_folder.read_evaluations(run_dir) is None
    assert not (run_dir / "checkpoint" / "best.safetensors").exists()


@pytest.mark.parametrize("name", ["evaluations.parquet", "checkpoint/best.safetensors"])
def test_damage_is_noticed(tmp_path, name):
    run_dir = evaluated(tmp_path)
    data = bytearray((run_dir / name).read_bytes())
    data[len(data) // 2] ^= 1
    (run_dir / name).write_bytes(data)
    (problem,) = run_folder.verify(run_dir)
    assert problem.path == str(run_dir / name)
    if name == "evaluations.parquet":
        with pytest.raises(DamagedFile, match="checksum"):
            run_folder.read_evaluations(run_dir)


def test_another_table_is_refused(tmp_path):
    run_dir = evaluated(tmp_path)
    frame = pl.DataFrame({"episode": [1]})
    files.write_bytes(run_dir / "evaluations.parquet", run_folder.episodes.to_parquet(frame))
    run_folder.finish(run_dir, summary(0))
    with pytest.raises(DamagedFile, match="columns episode of no evaluations"):
        run_folder.read_evaluations(run_dir)


def test_merging_keeps_the_run_that_was_evaluated(tmp_path):
    for first, second in (("with", "without"), ("without", "with")):
        target = tmp_path / first
        evaluated(tmp_path / "with")
        write_run(tmp_path / "without")
        merge.merge(tmp_path / second, target)
        assert len(store.load_evaluations(target)) == 2
        for name in ("with", "without"):
            for run in list(store.scan(tmp_path / name)):
                run_folder.discard(run.path)


def test_a_checkpoint_may_fit_the_second_of_two_templates(tmp_path, caplog):
    checkpoint.save(tmp_path, 1, (state_at(1), None), {})
    (state, best), _ = checkpoint.latest(tmp_path, (state_at(0), state_at(0)), (state_at(0), None))
    assert state["n"] == 1
    assert best is None
    assert not caplog.messages
