"""Scores of runs whose answer is known, and of hand-made tables."""

import importlib
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isl.analysis import scores
from isl.errors import UsageError


def runs(rows):
    """As `isl.experiments.load` gives them: (task, agent, seed, solved episode, best return)."""
    names = ("task", "agent", "seed", "solved_episode", "best_return")
    table = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    return table.with_columns(
        pl.lit("done").alias("status"),
        (pl.col("task") + pl.col("agent")).alias("config_hash"),
        pl.lit(1000).alias("config.episodes"),
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_are_numpys(values, q):
    found = scores.quantile(values, q)
    assert found == pytest.approx(np.quantile(values, q), rel=1e-9, abs=1e-6)


def test_censored_runs_count_as_longer_than_anything():
    """Of seven seeds three are unsolved: the median is known, the upper quartile is not."""
    solved = [100, 200, 300, 400, None, None, None]
    rows = [("deep_sea/10", "isl", seed, episode, 0.99) for seed, episode in enumerate(solved)]
    (row,) = scores.summary(runs(rows)).rows(named=True)
    assert (row["seeds"], row["solved"]) == (7, 4)
    assert row["episodes_median"] == 400
    assert row["episodes_q1"] == 250
    assert row["episodes_q3"] == math.inf
    assert row["best_return_median"] == 0.99
    assert scores.quantile([1.0, math.inf], 0.5) == math.inf
    assert scores.quantile([1.0, 2.0, math.inf], 0.5) == 2.0


def test_tasks_without_a_goal_are_judged_by_their_best_return():
    rows = [("cartpole_swingup/3", "isl", seed, None, 10.0 * seed) for seed in range(5)]
    (row,) = scores.summary(runs(rows)).rows(named=True)
    assert (row["best_return_q1"], row["best_return_median"], row["best_return_q3"]) == (10, 20, 30)
    assert "solved" not in row


@pytest.fixture
def two_agents():
    """`good` solves both tasks early in every seed, `bad` one of them late and the other never."""
    rows = []
    for seed in range(8):
        rows += [("deep_sea/10", "good", seed, 100 + seed, 1.0)]
        rows += [("deep_sea/20", "good", seed, 200 + seed, 1.0)]
        rows += [
            ("deep_sea/10", "bad", seed, 800 + seed, 1.0),
            ("deep_sea/20", "bad", seed, None, 0.0),
        ]
    return runs(rows)


def test_normalised_scores(two_agents):
    found = scores.normalised(two_agents)
    assert {name: matrix.shape for name, matrix in found.items()} == {"good": (8, 2), "bad": (8, 2)}
    np.testing.assert_allclose(found["good"][3], [1 - 0.103, 1 - 0.203])
    np.testing.assert_allclose(found["bad"][3], [1 - 0.803, 0.0], atol=1e-12)
    fewer = two_agents.filter((pl.col("seed") < 5) | (pl.col("task") != "deep_sea/20"))
    assert scores.normalised(fewer)["good"].shape == (5, 2)
    with pytest.raises(UsageError, match="bad has 0 configurations of deep_sea/20"):
        scores.normalised(
            two_agents.filter((pl.col("agent") == "good") | (pl.col("task") == "deep_sea/10"))
        )


def test_rliable_statistics(two_agents):
    found = scores.normalised(two_agents)
    iqm = scores.interquartile_mean(found, reps=200)
    middle = np.sort(found["good"].ravel())[4:12].mean()
    assert iqm["good"].point[0] == pytest.approx(middle)
    assert iqm["good"].low[0] <= iqm["good"].point[0] <= iqm["good"].high[0]
    assert iqm["bad"].high[0] < iqm["good"].low[0]
    again = scores.interquartile_mean(found, reps=200)
    assert again["good"].low == iqm["good"].low  # the same data, the same interval

    profile = scores.performance_profile(found, np.array([0.0, 0.5, 0.95]), reps=50)
    np.testing.assert_allclose(profile["good"].point, [1, 1, 0])
    np.testing.assert_allclose(profile["bad"].point, [0.5, 0, 0])

    better = scores.probability_of_improvement(found, [("good", "bad"), ("bad", "good")], reps=50)
    assert better["good", "bad"].point[0] == 1.0
    assert better["bad", "good"].point[0] == 0.0


def test_without_rliable_the_extra_is_named(two_agents, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="rliable")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UsageError, match=r"need rliable .*isl\[report\]"):
        scores.interquartile_mean(scores.normalised(two_agents))
