"""What is printed about runs at their end."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from isl.experiments.executing.display import Display
from isl.experiments.spec import RunSpec
from isl.status import Status


def shown(tmp_path, task, rows):
    """The lines of the display at the end; rows: (status, solved episode, best return)."""
    display = Display(tmp_path)
    out = io.StringIO()
    display._console = Console(file=out, width=200, markup=False)
    display.plan(0, RunSpec(task, "isl", {}, 1000), tuple(range(len(rows))))
    for seed, (status, solved, best) in enumerate(rows):
        summary = {"solved_episode": solved, "best_return": best, "episodes": 1000}
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


def test_tasks_without_a_goal_are_summed_up_by_their_best_return(tmp_path):
    rows = [(Status.DONE, None, best) for best in (100.0, 300.0, 200.0)]
    text = shown(tmp_path, "cartpole_swingup/3", rows)
    assert "3 of 3 seeds done, median best return 200 (100–300)" in text
    assert "goal visits" not in text
