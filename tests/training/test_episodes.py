import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isl.envs import Fact
from isl.experiments.running.seed_run import measures
from isl.storage.episodes import table
from isl.training.episodes import Episodes
from isl.training.loop import Steps

SEA = "deep_sea_stochastic/4"  # has the facts goal and bad


def naive(rewards, lasts, goals):
    """The same, one step at a time."""
    rows, total, length, visits = [], 0.0, 0, 0
    for step, (reward, last, goal) in enumerate(zip(rewards, lasts, goals, strict=True), start=1):
        total, length, visits = total + reward, length + 1, visits + goal
        if last:
            rows.append((len(rows) + 1, step, total, length, visits))
            total, length = 0.0, 0
    return rows


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 1)), max_size=60),
    st.lists(st.integers(0, 60), max_size=4),
    st.booleans(),
)
def test_episodes_do_not_depend_on_how_steps_arrive(steps, cuts, through_checkpoint):
    rewards, lasts, goals = (np.array([s[i] for s in steps], t) for i, t in enumerate("f?i"))
    recorder = Episodes.of(SEA)
    edges = [0, *sorted(min(c, len(steps)) for c in cuts), len(steps)]
    for a, b in itertools.pairwise(edges):
        facts = {"goal": goals[a:b], "bad": 1 - goals[a:b]}
        recorder.add(Steps(None, rewards[a:b], lasts[a:b], facts))
        if through_checkpoint:
            saved, recorder = recorder, Episodes.of(SEA)
            recorder.restore(saved.state(), saved.columns())
            assert (recorder.finished, recorder.steps) == (saved.finished, saved.steps)
            assert (recorder.recent, recorder.best_return) == (saved.recent, saved.best_return)
    frame = table(recorder.columns(), 1_000)
    assert (frame["goal_visits"] + frame["bad_episodes"]).to_list() == frame["steps"].to_list()
    assert frame.drop("bad_episodes").rows() == [
        pytest.approx(row) for row in naive(rewards, lasts, goals)
    ]
    assert recorder.steps == len(steps)
    assert recorder.goal_visits == goals.sum()


def test_solved_is_the_episode_of_the_tenth_visit():
    recorder = Episodes.of("deep_sea/4")
    visits = np.ones(12, np.int32)
    recorder.add(Steps(None, np.zeros(12, np.float32), np.ones(12, bool), {"goal": visits}))
    assert recorder.solved_episode == 10
    columns = recorder.columns()
    assert measures(table(columns, 12), "deep_sea/4")["solved_episode"] == 10
    assert measures(table(columns, 9), "deep_sea/4")["solved_episode"] is None


def test_tasks_without_a_goal_have_no_visits():
    recorder = Episodes.of("FrozenLake-v1")
    recorder.add(Steps(None, np.array([1.0, 2.0], np.float32), np.array([False, True]), {}))
    frame = table(recorder.columns(), 5)
    assert frame.columns == ["episode", "steps", "return", "length"]
    assert measures(frame, "FrozenLake-v1") == {
        "episodes": 1,
        "steps": 2,
        "best_return": 3.0,
        "goal_visits": None,
        "solved_episode": None,
    }


def test_no_finished_episode_is_an_empty_table():
    frame = table(Episodes.of("deep_sea/4").columns(), 5)
    assert frame.height == 0
    assert frame.schema["return"] == pl.Float64


def test_any_fact_is_summed_under_its_own_column():
    recorder = Episodes(facts=(Fact("cheese", "cheeses"),), goal="cheese", history=True)
    last = np.array([False, True, True])
    recorder.add(Steps(None, np.zeros(3), last, {"cheese": np.array([2, 3, 4])}))
    assert recorder.columns()["cheeses"].tolist() == [5, 9]
    assert recorder.goal_visits == 9


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3), st.booleans()), max_size=60),
    st.integers(0, 60),
)
def test_environments_side_by_side_have_episodes_of_their_own(steps, cut):
    """Records in the order in which the episodes end, whichever environment they are of."""
    env, reward, last = (np.array([s[i] for s in steps], t) for i, t in enumerate("if?"))
    recorder = Episodes(width=3, history=True)
    for part in (slice(cut), slice(cut, None)):
        recorder.add(Steps(None, reward[part], last[part], {}, env[part]))
    rows, open_returns, open_lengths = [], [0.0] * 3, [0] * 3
    for number, (e, r, ended) in enumerate(steps, start=1):
        open_returns[e] += r
        open_lengths[e] += 1
        if ended:
            rows.append((len(rows) + 1, number, open_returns[e], open_lengths[e]))
            open_returns[e], open_lengths[e] = 0.0, 0
    assert table(recorder.columns(), 100).rows() == rows
    assert recorder.state()["open_returns"].tolist() == open_returns
    assert recorder.state()["open_lengths"].tolist() == open_lengths
    assert list(recorder.recent) == [(total, length) for _, _, total, length in rows]
