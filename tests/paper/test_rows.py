"""The row of a run: its digest stays that of the first rows, whatever is recorded since."""

import polars as pl

from isl.paper import rows
from isl.storage import run_folder


def test_facts_recorded_since_a_later_version_are_no_part_of_the_digest(monkeypatch):
    table = pl.DataFrame({"episode": [1, 2], "return": [0.5, -1.0], "goal_visits": [0, 1]})

    def digest(found):
        monkeypatch.setattr(run_folder, "read_episodes", lambda path: found)
        return rows._digest("cartpole_swingup/0", None)

    before = digest(table)
    assert digest(table.with_columns(rewarded_steps=pl.Series([3, 9]))) == before
    assert digest(table.with_columns(goal_visits=pl.Series([0, 2]))) != before
    assert digest(table.drop("goal_visits")) != before
