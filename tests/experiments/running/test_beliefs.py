"""Looking inside while it trains: often enough to see something, and without a trace."""

import numpy as np
import pytest

from isl.envs.deep_sea import action_mapping
from isl.experiments.running import beliefs
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.storage import run_folder, snapshots
from isl.training import compiled_loop
from isl.training.compiled_loop import MOST_PARTS
from tests.support.sweeps import hashes

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
    assert (steps // 4 == maps["episode"])[:-1].all()
    # The chunk goes on after the last episode: the moment after it stands for the end of the run.
    assert steps[-1] // 4 >= maps["episode"][-1] == 300 > maps["episode"][-2]
    assert (np.diff(maps["visits"], axis=0) >= 0).all()
    np.testing.assert_array_equal(maps["right"], action_mapping(4, 42).ravel())


def test_time_passes_in_whole_chunks_once_moments_are_far_apart(spec, tmp_path, monkeypatch):
    """Cutting a chunk into parts costs, and what is not kept need not be looked at."""
    looks = []
    inspect = beliefs.Snapshots.take

    def few(env, agent):
        return beliefs.Snapshots(env, agent, most=2)

    def take(self, learner, cells, episodes, parts=1):
        inspect(self, lambda: looks.append(episodes) or learner(), cells, episodes, parts)

    monkeypatch.setattr(beliefs, "recorder", few)
    monkeypatch.setattr(beliefs.Snapshots, "take", take)
    longer = resolve("deep_sea/4", "isl", SMALL, episodes=2400)
    run_cohort(longer, [0], tmp_path / "with", snapshots=True)
    maps = snapshots.read(run_folder.run_path(tmp_path / "with", longer.to_dict(), 0))
    monkeypatch.setattr(compiled_loop.Programs, "part", None)  # not used, so it need not be there
    run_cohort(longer, [0], tmp_path / "without")
    assert hashes(tmp_path / "with") == hashes(tmp_path / "without")

    parts = 10 * (maps["visits"][-1].sum() - 64) // 1000  # a chunk is a thousand steps
    assert parts >= 64
    assert len(maps["episode"]) <= 3  # thinned, but for the last one,
    assert maps["episode"][-1] == 2400  # which is where the run ends
    assert len(looks) < parts / 4


def test_moments_are_evenly_spread_whatever_passes_at_a_time():
    kept, moments = [], beliefs.Moments(most=8)
    while moments.passed < 1000:
        if moments.pass_by(1 if moments.every < 10 else 10):
            kept.append(moments.passed)
            if moments.too_many(len(kept)):
                kept = kept[1::2]
    assert 4 <= len(kept) <= 8
    assert all(now - now // moments.every * moments.every < 10 for now in kept)
    assert set(np.diff([now // moments.every for now in kept])) == {1}
