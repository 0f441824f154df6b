"""Looking inside while it trains: often enough to see something, and without a trace."""

import numpy as np
import pytest

from isl.envs.deep_sea import action_mapping
from isl.experiments import run_folder, snapshots
from isl.experiments.runner import MOST_PARTS, run_cohort
from isl.experiments.spec import resolve
from tests.sweeps import hashes

SMALL = {"batch_size": 8, "learning_starts": 64, "replay_capacity": 256, "hidden": [8]}


@pytest.fixture(scope="module")
def spec():
    return resolve("deep_sea/4", "isl", SMALL, episodes=300)


def test_snapshots_change_no_bit_of_a_run(spec, tmp_path):
    run_cohort(spec, [0], tmp_path / "with", snapshots=True)
    run_cohort(spec, [0], tmp_path / "without")
    assert hashes(tmp_path / "with") == hashes(tmp_path / "without")
    assert len(hashes(tmp_path / "with")) == 2

    maps = snapshots.read(run_folder.run_path(tmp_path / "with", spec.to_dict(), 0))
    frames = len(maps["episode"])
    assert frames > MOST_PARTS  # one after the random start, ten in each chunk
    assert maps["q"].shape == maps["ell"].shape == (frames, 16, 2)
    # Steps of finished episodes, and up to three of the one under way.
    steps = maps["visits"].sum(1)
    assert (steps // 4 == maps["episode"]).all()
    assert (np.diff(maps["visits"], axis=0) >= 0).all()
    np.testing.assert_array_equal(maps["right"], action_mapping(4, 42).ravel())
