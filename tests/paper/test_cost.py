"""What is told before runs start: rates from rows, or measured; at most and usually."""

import itertools

import pytest

from isl.experiments.executing.plan import Job
from isl.experiments.spec import resolve
from isl.paper import calibration, cost
from tests.support.results import sea

CPU = "AMD, of some kind"


def job(size, agent="isl", seed=0, **overrides):
    return Job(resolve(f"deep_sea/{size}", agent, overrides, until_solved=True), (seed,))


def refuse(specs):
    raise AssertionError("there are rows: nothing to measure")


def test_rows_give_speed_and_usual_length():
    """Rows of 1,000 steps/s; solved after 100 episodes at size 10 and 200 at size 20."""
    rows = [*sea(10, "isl", [90, 100, 110]), *sea(20, "isl", [200])]
    (line,) = cost.estimate([job(10), job(20)], rows, CPU, refuse)
    assert line.runs == 2
    assert line.steps_per_second == pytest.approx((1000, 1000))
    assert line.at_most == pytest.approx(10_000 * (10 + 20) / 1000)
    assert line.usually == pytest.approx((100 * 10 + 200 * 20) / 1000)
    assert line.longest == pytest.approx(200)
    # Between and beyond measured sizes; never more than the budget.
    (line,) = cost.estimate([job(15)], rows, CPU, refuse)
    assert line.usually == pytest.approx((1000 + 4000) / 2 / 1000)
    (line,) = cost.estimate([job(40)], rows, CPU, refuse)
    assert 12 < line.usually < 20  # a power law: about four times the steps of size 20
    (line,) = cost.estimate([job(10)], sea(10, "isl", [None]), CPU, refuse)
    assert line.usually == line.at_most


def test_what_no_row_tells_is_measured_at_the_ends():
    asked = []

    def measure(specs):
        asked.extend((spec.agent, spec.task) for spec in specs)
        return [0.001 for spec in specs]

    wanted = itertools.product((10, 14, 20), ("isl", "dqn"), (0, 1))
    jobs = [job(*some) for some in wanted]
    elsewhere = sea(10, "isl", [100, 100], cpu="another processor")
    isl, dqn = cost.estimate(jobs, elsewhere, CPU, measure)
    assert sorted(asked) == [(a, f"deep_sea/{n}") for a in ("dqn", "isl") for n in (10, 20)]
    assert dqn.usually is None  # nothing is known of how long such a run is
    assert isl.usually is not None  # how long is the same on every processor
    assert "unknown" in cost.described([isl, dqn], [1])


def test_factors_do_not_change_the_speed_but_whole_numbers_do():
    asked = []

    def measure(specs):
        asked.extend(spec.hyper["ell_ensemble"] for spec in specs)
        return [0.002 for _ in specs]

    rows = sea(10, "isl", [100])
    cost.estimate([job(10, kappa=7.0)], rows, CPU, refuse)
    cost.estimate([job(10, "isl_authors", ell_ensemble=2, kappa=7.0)], rows, CPU, measure)
    assert asked == [2]
    cost.estimate([job(10, "isl_tables", lr_codes=0.01)], rows, CPU, measure)  # no hidden layers
    assert asked == [2, 1]


def test_more_cores_help_until_the_longest_run():
    line = cost.Line("isl", 10, (900.0, 1000.0), 36_000.0, 3600.0, 7200.0)
    text = cost.described([line], [1, 2, 1000])
    assert "on 1 core: at most 10h 00m, usually 1h 00m" in text
    assert "on 2 cores: at most 5h 00m, usually 30m 00s" in text
    assert "on 1000 cores: at most 2h 00m" in text
    assert "10.00 h" in text.splitlines()[-4]


def test_calibration_measures_a_run_in_a_process_like_the_workers():
    spec = resolve("deep_sea/4", "tests.support.counting_agent", {}, episodes=100_000)
    (pace,) = calibration.seconds_per_step([spec])
    assert 1e-8 < pace < 1e-3
