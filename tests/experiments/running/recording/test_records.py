import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isl.experiments.running.recording.records import EpisodeRecorder, counted_facts, measures

FACTS = ("goal", "bad")


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
    recorder = EpisodeRecorder(FACTS)
    edges = [0, *sorted(min(c, len(steps)) for c in cuts), len(steps)]
    for a, b in itertools.pairwise(edges):
        recorder.add(rewards[a:b], lasts[a:b], {"goal": goals[a:b], "bad": 1 - goals[a:b]})
        if through_checkpoint:
            recorder = EpisodeRecorder.restored(FACTS, recorder.state())
    frame = recorder.frame(1_000)
    assert (frame["goal_visits"] + frame["bad_episodes"]).to_list() == frame["steps"].to_list()
    assert frame.drop("bad_episodes").rows() == [
        pytest.approx(row) for row in naive(rewards, lasts, goals)
    ]
    assert recorder.steps == len(steps)
    assert recorder.goal_visits == goals.sum()


def test_solved_is_the_episode_of_the_tenth_visit():
    recorder = EpisodeRecorder(["goal"])
    visits = np.ones(12, np.int32)
    recorder.add(np.zeros(12, np.float32), np.ones(12, bool), {"goal": visits})
    assert recorder.solved_episode == 10
    assert measures(recorder.frame(12))["solved_episode"] == 10
    assert measures(recorder.frame(9))["solved_episode"] is None


def test_tasks_without_a_goal_have_no_visits():
    recorder = EpisodeRecorder()
    recorder.add(np.array([1.0, 2.0], np.float32), np.array([False, True]), {})
    frame = recorder.frame(5)
    assert frame.columns == ["episode", "steps", "return", "length"]
    assert measures(frame) == {
        "episodes": 1,
        "steps": 2,
        "best_return": 3.0,
        "goal_visits": None,
        "solved_episode": None,
    }


def test_no_finished_episode_is_an_empty_table():
    frame = EpisodeRecorder(counted_facts("deep_sea/4")).frame(5)
    assert frame.height == 0
    assert frame.schema["return"] == pl.Float64
