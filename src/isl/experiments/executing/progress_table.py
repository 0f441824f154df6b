"""The live table of runs, which fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from isl.envs.registry import has_goal
from isl.experiments.executing.progress_row import Row
from isl.status import Status

MOST_ROWS = 24  # of more runs those at work or in trouble come first
TROUBLE = (Status.FAILED, Status.DIVERGED, Status.DAMAGED)


def progress_table(rows: Sequence[Row], title: str, final: bool = False) -> Table:
    """A line per run; `final`: all of them have ended, so no time is left.

    Names fold where there is no room; numbers and statuses are never cut.
    """
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, show_edge=False)
    for name in ("task", "agent"):
        table.add_column(name, overflow="fold")
    table.add_column("seed", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    goals = any(has_goal(row.spec.task) for row in rows)
    numbers = ["episodes", "steps/s", "best", *["visits", "solved"] * goals]
    for name in numbers + ["left"] * (not final):
        table.add_column(name, justify="right", no_wrap=True)
    shown = rows
    if len(rows) > MOST_ROWS:
        # False sorts before True.
        shown = sorted(
            rows, key=lambda row: (row.status is not Status.RUNNING, row.status not in TROUBLE)
        )[:MOST_ROWS]
        table.caption = f"and {len(rows) - len(shown)} more"
    for row in shown:
        best = "" if row.best_return is None else f"{row.best_return + 0.0:.3g}"  # not -0
        cells = [row.spec.task, row.who, str(row.seed), row.state]
        cells += [f"{row.episodes:,}", row.pace_text, best]
        if goals:
            cells += [str(row.goal_visits), str(row.solved_episode or "")]
        table.add_row(*cells, *([] if final else [row.eta]))
    return table
