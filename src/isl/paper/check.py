"""Rows of the results done again, each compared number by number.

Rows made on another processor or with another version of JAX may differ in the last bits, and then
in everything that follows from them.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from isl.errors import UsageError
from isl.experiments.executing.local import run_locally
from isl.experiments.executing.plan import Job
from isl.paper.comparisons import COMPARISONS, key_of
from isl.paper.rows import command_of, made_here, row_of, spec_of
from isl.paper.table import Row
from isl.paper.trial import Trial
from isl.paper.trial_pool import run_apart
from isl.storage import store


class Verdict(NamedTuple):
    """Whether a row holds, and a line that says so."""

    holds: bool
    text: str


def draw_rows(
    rows: Sequence[Row | Trial],
    number: int,
    seed: int = 0,
    here: bool = False,
    within: float = math.inf,
) -> list[Row | Trial]:
    """Some rows at random.

    Args:
        rows: what to draw from.
        number: how many.
        seed: of the draw.
        here: only rows of this JAX on this kind of processor.
        within: only rows that took at most these minutes.
    """
    if number < 1:
        raise UsageError(f"--check must be at least 1, got {number}")
    left: list[Row | Trial] = [row for row in rows if (row.seconds or 0.0) <= 60 * within]
    if here:
        runs = made_here(row for row in left if isinstance(row, Row))
        left = [*runs, *made_here(row for row in left if isinstance(row, Trial))]
    if not left:
        raise UsageError("there are no such rows: check less strictly, or run the reproduction")
    return random.Random(seed).sample(left, min(number, len(left)))


def check(row: Row | Trial) -> Verdict:
    """Do a row's run again and compare."""
    return _check_run(row) if isinstance(row, Row) else _check_trial(row)


def _check_run(row: Row) -> Verdict:
    said = f"isl {' '.join(command_of(row))}"
    with tempfile.TemporaryDirectory() as folder:
        run_locally([Job(spec_of(row), (row.seed,))], Path(folder), workers=1)
        runs = [run for run in store.scan(Path(folder)) if run.summary is not None]
        if not runs:
            return Verdict(False, f"{said}: did not finish")
        again = row_of(runs[0])
    measured = [f"solved at {row.solved_episode}"] if row.solved_episode else []
    measured += ["unsolved"] if row.censored_at else []
    measured += [] if row.best_return is None else [f"best return {row.best_return:.6g}"]
    return _compared(said, row, again, [*measured, f"episodes {row.records}"])


def _check_trial(row: Trial) -> Verdict:
    said = f"{row.env} × {row.factor:g}, {row.who} {row.preset}, seed {row.seed}"
    for comparison in COMPARISONS.values():
        for wanted in comparison.chosen():
            if key_of(*wanted) == row.key:
                return _compared(said, row, run_apart(*wanted), [row.measured])
    return Verdict(False, f"{said}: no longer among the cases, it cannot be done again")


def _compared(said: str, row: Row | Trial, again: Row | Trial, measured: Sequence[str]) -> Verdict:
    pairs = zip(row._fields, row.numbers, again.numbers, strict=False)
    differ = [
        f"{name} {new} instead of {old}"
        for name, old, new in pairs
        if old != new and not (old is None and name in row.later())  # not measured then
    ]
    told = "; ".join(differ) or f"same ({', '.join(measured)})"
    return Verdict(not differ, f"{said}: {told}")
