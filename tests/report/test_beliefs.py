"""What the page is given to look into an agent."""

import base64

import numpy as np
import pytest

from isl.report import beliefs, collect
from isl.report.beliefs import FirstGoal
from isl.storage import snapshots
from tests.support import made_runs


def test_it_opens_at_the_first_treasure_or_at_the_end(tmp_path):
    for seed, solves_at in enumerate((120, None, 600)):
        path = made_runs.make(tmp_path, "deep_sea/5", hyper={"eta1": seed}, solves_at=solves_at)
        made_runs.add_snapshots(path, 5)
    found = beliefs.items(collect.collect_runs(tmp_path))
    by_goal = {(item["first_goal"] or {}).get("episode"): item for item in found}
    assert by_goal[120]["episodes"][by_goal[120]["opens"]] == 150  # the first moment after it
    # Never found, and found after the last moment: there is nothing to open at.
    assert by_goal[None]["opens"] == by_goal[600]["opens"] == 4
    assert by_goal[120]["first_goal"]["name"] == "treasure"


def test_the_moment_of_the_first_treasure_and_the_last_stay_when_most_are_left_out():
    times = 500
    maps = {"q": np.zeros((times, 3, 2), np.float32), "episode": np.arange(times)}
    item = beliefs.pack(
        "t", maps, kappa=None, first_goal=FirstGoal(333, "goal"), most_bytes=10 * 3 * 2 * 4
    )
    assert len(item["episodes"]) == 11
    assert (item["episodes"][0], item["episodes"][-1]) == (0, times - 1)
    assert item["episodes"][item["opens"]] == 333
    assert len(base64.b64decode(item["q"])) == 11 * 3 * 2 * 4


@pytest.mark.parametrize(
    "strange",
    [
        {"ell": np.ones((2, 24, 2), np.float32)},
        {"policy": np.ones((2, 25, 3), np.float32)},
        {"visits": np.ones((2, 25, 2), np.int32)},
        {"right": np.full(25, 7)},
        {"episode": np.arange(9)},
        {"q": np.zeros((0, 25, 2), np.float32), "episode": np.arange(0)},
    ],
)
def test_strange_content_is_a_problem_and_not_a_page_that_breaks(tmp_path, strange):
    path = made_runs.make(tmp_path, "deep_sea/5")
    maps = {"q": np.zeros((2, 25, 2), np.float32), "episode": np.arange(2)}
    snapshots.write(path, maps | strange)
    found = collect.collect_runs(tmp_path)
    assert beliefs.items(found) == []
    assert "strange content" in found.problems[0]
