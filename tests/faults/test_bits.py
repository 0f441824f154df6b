"""Row 9: the same bits from a fresh process, on one core or two, in any order, by any executor."""

import importlib.util
import os
import subprocess

import pytest

from tests.sweeps import ISL, ROOT, finish, hashes

SMALL = "--hidden 8 --batch-size 8 --learning-starts 20 --replay-capacity 200"


@pytest.fixture(scope="module")
def agents(often):
    return often(["tests.counting_agent"], ["isl", "boot_dqn", "ube", "sbeed", "dqn"])


def sweep(out, agents, *more, seeds="--seeds 2", sizes="3 4"):
    options = f"{seeds} --sizes {sizes} --episodes 400 --out {out}"
    return [*ISL, "sweep", "deep_sea", "--agents", *agents, *options.split(), *more]


@pytest.fixture(scope="module")
def whole(agents, tmp_path_factory):
    """Two processes, on as many cores as there are."""
    out = tmp_path_factory.mktemp("whole")
    finish(sweep(out, agents, "--workers", "2"))
    found = hashes(out)
    assert len(found) == 2 * 4 * len(agents)
    return found


def test_one_core_and_another_order(agents, whole, tmp_path, tally):
    """One process on one core; agents, sizes and seeds the other way round, in two commands."""
    one = ["--workers", "1"]
    core = min(os.sched_getaffinity(0))
    for seeds in ("--first-seed 1 --seeds 1", "--seeds 2"):
        arguments = sweep(tmp_path, agents[::-1], *one, seeds=seeds, sizes="4 3")
        ended = subprocess.run(
            arguments,
            cwd=ROOT,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert hashes(tmp_path) == whole
    tally(9, f"fresh processes, one core, other order: {len(whole)} of {len(whole)} hashes equal")


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'isl[ray]'"
)
def test_ray(agents, whole, tmp_path, tally):
    finish(sweep(tmp_path, agents, "--executor", "ray", "--workers", "2"))
    assert hashes(tmp_path) == whole
    tally(9, f"executor ray: {len(whole)} of {len(whole)} hashes equal")
