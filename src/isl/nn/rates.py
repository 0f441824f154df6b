"""Learning rates that change in the course of a training, as text that files and hashes can hold.

    linear:5e-4             from 5e-4 down to 0, over the training
    linear:5e-4@20000       over 20,000 updates, however long the training is
    points:5e-4,2e-4,1e-5   straight lines between values that are evenly spaced over the training

A function of Python, of what remains of the training (from 1 to 0, as in Stable-Baselines3), is
written down as points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from isl.errors import UsageError

POINTS = 101  # of a function


class Course(NamedTuple):
    """A rate over a training."""

    values: tuple[float, ...]  # evenly spaced, at least two
    updates: int | None  # that it takes; None: the whole training


def is_rate(name: str) -> bool:
    """Whether an option of an agent is a learning rate."""
    return name == "lr" or name.startswith("lr_")


def from_function(function: Callable[[float], float], name: str) -> str:
    """The text for a function of what remains of the training."""
    remaining = [1 - i / (POINTS - 1) for i in range(POINTS)]
    try:
        values = [float(function(x)) for x in remaining]
    except Exception as error:  # whatever the user's function raises
        raise UsageError(
            f"{name} must be a function from what remains of the training, 1 to 0, to a rate; "
            f"it raised {type(error).__name__}: {error}"
        ) from None
    return f"points:{','.join(f'{value:.6g}' for value in values)}"


def parse(text: str, name: str = "lr") -> Course:
    """The course that a text describes; `UsageError` if it describes none."""
    kind, colon, rest = text.partition(":")
    rest, at, updates = rest.partition("@")
    try:
        values = tuple(float(part) for part in rest.split(","))
        over = int(updates) if at else None
    except ValueError:
        raise _bad(name, text) from None
    if not colon or kind not in ("linear", "points") or (kind == "linear") != (len(values) == 1):
        raise _bad(name, text)
    sound = all(math.isfinite(value) and value >= 0 for value in values) and max(values) > 0
    if not sound or (over is not None and over < 1):
        raise _bad(name, text)
    return Course((values[0], 0.0) if kind == "linear" else values, over)


def over(text: str, updates: int) -> str:
    """The same schedule over `updates` updates, unless its text has a number of its own."""
    return text if parse(text).updates is not None else f"{text}@{max(updates, 1)}"


def _bad(name: str, text: str) -> UsageError:
    shown = text if len(text) <= 40 else f"{text[:37]}…"
    return UsageError(
        f"{name} must be a number or a schedule such as linear:5e-4 (to 0 over the training), "
        f"linear:5e-4@20000 (over 20,000 updates) or points:5e-4,1e-4; got {shown!r}"
    )
