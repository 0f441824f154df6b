"""The exponent of simulated runs whose exponent is known, censored ones included."""

import math

import numpy as np
import pytest
from scipy import stats

from isl.analysis.exponent import fit


def simulated(rng, b, sizes, seeds, budget, sigma=0.5):
    """(sizes, episodes, solved) of runs that end at the budget."""
    n = np.repeat(np.array(sizes, float), seeds)
    took = 3 * n**b * np.exp(sigma * rng.normal(size=len(n)))
    return n, np.minimum(took, budget), took <= budget


def test_without_censoring_it_is_least_squares_and_students_interval():
    n, took, solved = simulated(np.random.default_rng(1), 1.2, range(10, 51, 10), 3, math.inf)
    line = stats.linregress(np.log(n), np.log(took))
    reach = stats.t.ppf(0.975, len(n) - 2) * line.stderr
    found = fit(n, took, solved)
    assert found.b == pytest.approx(line.slope, abs=1e-4)
    assert (found.low, found.high) == pytest.approx(
        (line.slope - reach, line.slope + reach), abs=1e-3
    )
    assert found.episodes(30) == pytest.approx(math.exp(line.intercept + line.slope * math.log(30)))
    assert (found.solved, found.censored) == (15, 0)


def test_censored_runs_do_not_pull_the_exponent_down():
    """Half of the runs are cut off; those that remain alone give 1.65 where the truth is 2."""
    rng = np.random.default_rng(2)
    estimates, naive, covered = [], [], 0
    for _ in range(60):
        n, took, solved = simulated(rng, 2.0, range(10, 51, 10), 3, 3_000)
        found = fit(n, took, solved)
        assert found.censored == (~solved).sum() > 0
        estimates.append(found.b)
        naive.append(np.polyfit(np.log(n[solved]), np.log(took[solved]), 1)[0])
        covered += found.low <= 2.0 <= found.high
    assert np.mean(naive) < 1.75
    assert np.mean(estimates) == pytest.approx(2.0, abs=0.12)
    assert covered >= 53  # 95 % of 60 is 57, give or take 1.7


def test_what_a_size_that_nobody_solved_says():
    """It bounds the exponent from below only."""
    n = [10] * 3 + [20] * 3
    took, solved = [100, 120, 90] + [400] * 3, [True] * 3 + [False] * 3
    assert fit(n, took, solved) is None  # solved runs of one size
    more = fit([*n, 12, 12], [*took, 130, 140], [*solved, True, True])
    assert more.low > 0.8
    assert fit([10, 20], [100, 200], [True, True]) is None  # a line, and nothing to judge it by
