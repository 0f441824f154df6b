"""Row 11: every result says where it comes from; merging forgets nothing and overwrites nothing."""

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from isl.storage import files, merge, run_folder, store
from tests.support.fault_injection import results, write_run

# A result of a run: its seed, its episodes (two that differ disagree) and its timing.
runs = st.tuples(st.integers(0, 2), st.sampled_from([3, 4]), st.sampled_from([1.0, 2.0]))
folders = st.lists(st.lists(runs, max_size=3, unique_by=lambda run: run[0]), min_size=2, max_size=3)


def merged(sources, order, target):
    """The target after merging in this order, and the runs that were reported as conflicts."""
    conflicts = set()
    for number in order:
        report = merge.merge(sources[number], target)
        assert report.damaged == report.busy == []
        conflicts |= {path.name for path in report.conflicts}
    return results(target) if target.exists() else {}, conflicts


@settings(max_examples=25)
@given(folders, st.randoms(use_true_random=False))
def test_any_folders_in_any_order(folders, random):
    before = vars(files.steps).copy()
    files.steps.fsync = files.steps.fsync_dir = lambda where: None
    root = Path(tempfile.mkdtemp(prefix="isl-merge-"))
    try:
        sources = []
        for number, content in enumerate(folders):
            sources.append(root / f"source-{number}")
            sources[-1].mkdir()
            for seed, goal, seconds in content:
                write_run(sources[-1], seed, seconds, goal)
        untouched = [results(source) for source in sources]
        order = list(range(len(sources)))
        first, conflicts = merged(sources, order, root / "first")
        again, same = merged(sources, order, root / "first")  # idempotent
        assert (again, same) == (first, conflicts)
        random.shuffle(order)
        other, found = merged(sources, order, root / "other")
        disagreeing = {
            f"seed-{seed}"
            for seed in range(3)
            if len({goal for content in folders for s, goal, _ in content if s == seed}) > 1
        }
        assert conflicts == found == disagreeing  # reported in any order
        for name in first.keys() | other.keys():  # and the rest is the same in any order
            assert first.get(name) == other.get(name) or disagreeing & {*name.split("/")}
        assert [results(source) for source in sources] == untouched
        assert all(run_folder.verify(run.path) == [] for run in store.scan(root))
    finally:
        vars(files.steps).update(before)
        shutil.rmtree(root)


def test_every_result_carries_its_provenance(tmp_path, tally):
    run_dir = write_run(tmp_path)
    record = json.loads((run_dir / "config.json").read_text())
    assert record["config_hash"] == run_folder.config_hash(record["config"]) == run_dir.parent.name
    (where,) = record["provenance"]
    assert len(where["git_sha"]) == 40
    assert where["git_dirty"] in (True, False)
    for name in ("isl", "python", "jax", "jaxlib", "flax", "optax", "numpy", "gymnasium", "polars"):
        assert where[name], name
    assert {"platform", "cpu", "cores", "xla_flags", "jax_environment"} <= where.keys()
    listed = json.loads((run_dir / "DONE.json").read_text())["files"]
    assert "config.json" in listed  # so nobody changes it unnoticed
    tally(11, "25 random sets of folders merged twice and in two orders; conflicts all reported")
