"""What is printed about runs at their end."""

import io
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from isl.experiments.executing.display import Display
from isl.experiments.spec import RunSpec
from isl.status import Status


def shown(tmp_path, task, rows, **more):
    """The lines of the display at the end; rows: (status, solved episode, best return)."""
    display = Display(tmp_path)
    out = io.StringIO()
    display._console = Console(file=out, width=200, markup=False)
    display.plan(0, RunSpec(task, "isl", {}, 1000), tuple(range(len(rows))))
    for seed, (status, solved, best) in enumerate(rows):
        summary = {"solved_episode": solved, "best_return": best, "episodes": 1000}
        summary |= {name: values[seed] for name, values in more.items()}
        run = SimpleNamespace(status=status, problem="", summary=summary)
        display.finished_before(0, seed, run)
    display.results()
    return out.getvalue()


@pytest.mark.parametrize(
    ("solved", "said"),
    [
        ([67, None, None], "1 of 3 seeds solved, median episodes (quartiles) ∞ (∞–∞)"),
        ([67, 69, None], "2 of 3 seeds solved, median episodes (quartiles) 69 (68–∞)"),
        ([67, 69, 71], "3 of 3 seeds solved, median episodes (quartiles) 69 (68–70)"),
        ([None, None], "0 of 2 seeds solved\n"),
    ],
)
def test_unsolved_seeds_count_as_infinite(tmp_path, solved, said):
    assert said in shown(tmp_path, "deep_sea/5", [(Status.DONE, s, 0.99) for s in solved])


def test_a_seed_that_diverged_unsolved_counts_too(tmp_path):
    rows = [(Status.DONE, 67, 0.99), (Status.DIVERGED, None, 0.0), (Status.DIVERGED, None, 0.0)]
    assert "1 of 3 seeds solved, median episodes (quartiles) ∞" in shown(
        tmp_path, "deep_sea/5", rows
    )


def test_a_warning_is_printed_at_once_and_once(tmp_path):
    display, out = Display(tmp_path), io.StringIO()
    display._console = Console(file=out, width=200, markup=False)
    display.plan(0, RunSpec("deep_sea/5", "isl", {}, 1000), (0,))
    numbers = dict.fromkeys(("episodes", "steps", "goal_visits", "steps_per_second"), 1)
    unknown = dict.fromkeys(("solved_episode", "greedy_return", "best_greedy_return"))
    event = {"seed": 0, "status": "running", "best_return": 0.0, **unknown, **numbers}
    for message in ("", "values are diverging", "values are diverging"):
        display.progress(0, event | {"message": message})
    assert out.getvalue().count("deep_sea/5 isl seed 0: values are diverging\n") == 1


def test_tasks_without_a_goal_are_summed_up_by_their_best_return(tmp_path):
    rows = [(Status.DONE, None, best) for best in (100.0, 300.0, 200.0)]
    text = shown(tmp_path, "cartpole_swingup/3", rows)
    assert "3 of 3 seeds done, median best return 200 (100–300)" in text
    assert "goal visits" not in text


def test_the_greedy_return_is_told_where_it_was_evaluated(tmp_path):
    rows = [(Status.DONE, None, 1.0)] * 3
    greedy = {"greedy_return": [0.1, None, 0.3], "best_greedy_return": [0.9, None, 0.7]}
    assert "; greedy return: last 0.2, best 0.8\n" in shown(tmp_path, "deep_sea/5", rows, **greedy)
    assert "greedy return" not in shown(tmp_path, "deep_sea/5", rows)


def event(steps, status="running", **more):
    """What a worker says of a run of Deep Sea 5."""
    numbers = {"episodes": steps // 5, "steps": steps, "goal_visits": 0, "steps_per_second": 1e6}
    unknown = dict.fromkeys(("solved_episode", "greedy_return", "best_greedy_return"))
    what = {"seed": 0, "status": status, "best_return": 0.0, "message": ""}
    return what | unknown | numbers | more


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes when it is told to."""
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: now.seconds)
    return now


def test_compiling_is_said_and_neither_measured_nor_projected(tmp_path, clock):
    display = Display(tmp_path)
    display.plan(0, RunSpec("deep_sea/5", "isl", {}, 1000), (0,))
    (row,) = display._rows.values()
    display.started(0)
    assert row.state == "compiling…"
    clock.seconds += 1
    display.progress(0, event(100))  # steps before learning, by a small program: very fast
    assert (row.state, row.pace_text, row.eta) == ("compiling…", "", "")
    assert "compiling…" in display._headline()
    clock.seconds += 60  # the compilation of the training loop
    display.progress(0, event(200))
    assert (row.state, row.pace_text, row.eta) == ("running", "", "")
    clock.seconds += 4
    display.progress(0, event(600))
    assert row.pace == pytest.approx(100)  # not (600 - 100) / 64
    assert row.eta == "44s"
    clock.seconds += 4
    assert row.eta == "40s"


def test_the_pace_is_recent(tmp_path, clock):
    display = Display(tmp_path)
    display.plan(0, RunSpec("deep_sea/5", "isl", {}, 1000), (0,))
    (row,) = display._rows.values()
    display.started(0, compiled=True)
    for steps in (0, 1000, 1100, 1200, 1300, 1400):
        display.progress(0, event(steps))
        clock.seconds += 15
    assert row.pace == pytest.approx(100 / 15)


def test_runs_that_end_when_solved_are_judged_by_those_that_ended(tmp_path, clock):
    display = Display(tmp_path)
    spec = RunSpec("deep_sea/5", "isl", {}, 1_000_000, until_solved=True)
    display.plan(0, spec, (0,))
    display.plan(1, spec, (1,))
    display.started(0, compiled=True)
    for steps in (0, 500):
        display.progress(0, event(steps))
        clock.seconds += 5
    assert display.seconds_left() is None  # its budget says nothing about it
    display.progress(0, event(600, status="done", solved_episode=100))
    assert display.seconds_left() == pytest.approx(10)
    display.started(1, compiled=True)
    clock.seconds += 4
    assert display.seconds_left() == pytest.approx(6)
    assert "about 6s left" in display._headline()


@pytest.mark.parametrize("task", ["deep_sea/20", "cartpole_swingup/10", "deep_sea_stochastic/100"])
def test_the_live_table_fits_80_columns_and_cuts_no_number(tmp_path, clock, task):
    """Names may fold; numbers, statuses and times may not."""
    display, out = Display(tmp_path), io.StringIO()
    display.plan(0, RunSpec(task, "boot_dqn", {}, 10_000, until_solved=True), (0, 1))
    display.started(0)
    for steps in (10, 20):
        display.progress(0, event(steps))
    clock.seconds += 29
    news = {"episodes": 1234, "best_return": -0.00071412, "goal_visits": 3}
    display.progress(0, event(345_678, **news))
    Console(file=out, width=80, markup=False).print(display._table())
    assert max(map(len, out.getvalue().splitlines())) <= 80
    words = out.getvalue().split()
    assert {"status", "episodes", "steps/s", "best", "left"} <= set(words)
    assert {"running", "compiling…", "1,234", "-0.000714"} <= set(words)
    assert "≤" in words
    assert "…" not in out.getvalue().replace("compiling…", "")
