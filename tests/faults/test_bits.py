"""Row 9: the same bits from a fresh process, on one core or two, in any order, by any executor.

Every agent, and only with `--long`: test_cli.py and test_executors.py do it with one each.
"""

import importlib.util
import os

import pytest

from tests.support.sweeps import ISL, after, finish, hashes

AGENTS = ["isl", "boot_dqn", "ube", "sbeed", "dqn"]
pytestmark = pytest.mark.usefixtures("only_long")


def sweep(out, agents, *more, seeds="--seeds 2", sizes="3 4"):
    options = f"{seeds} --sizes {sizes} --episodes 400 --out {out}"
    return [*ISL, "sweep", "deep_sea", "--agents", *agents, *options.split(), *more]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two processes, on as many cores as there are."""
    out = tmp_path_factory.mktemp("whole")
    finish(sweep(out, AGENTS, "--workers", "2"))
    found = hashes(out)
    assert len(found) == 2 * 4 * len(AGENTS)
    return found


def test_one_core_and_another_order(whole, tmp_path, tally):
    """One process on one core; agents, sizes and seeds the other way round, in two commands."""
    one = ["--workers", "1"]
    on_one_core = f"os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})"
    for seeds in ("--first-seed 1 --seeds 1", "--seeds 2"):
        finish(after(on_one_core, sweep(tmp_path, AGENTS[::-1], *one, seeds=seeds, sizes="4 3")))
    assert hashes(tmp_path) == whole
    tally(9, f"fresh processes, one core, other order: {len(whole)} of {len(whole)} hashes equal")


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'isl[ray]'"
)
def test_ray(whole, tmp_path, tally):
    finish(sweep(tmp_path, AGENTS, "--executor", "ray", "--workers", "2"))
    assert hashes(tmp_path) == whole
    tally(9, f"executor ray: {len(whole)} of {len(whole)} hashes equal")
