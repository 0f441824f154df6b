"""The compiled tasks by name: `make("deep_sea/20")`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import NamedTuple

from isl.envs.base import Environment, State, TimeStep
from isl.envs.cartpole_swingup import CartpoleSwingup
from isl.envs.deep_sea import DeepSea
from isl.errors import UsageError

__all__ = [
    "TASKS",
    "CartpoleSwingup",
    "DeepSea",
    "Environment",
    "State",
    "TaskFamily",
    "TimeStep",
    "is_compiled_task",
    "make",
]


class TaskFamily(NamedTuple):
    """Tasks that differ by one whole number, written after the slash."""

    build: Callable[[int, int], Environment]  # (the number, the mapping seed) → the task
    about: str
    number: str  # what the number is called
    numbers: range  # the ones that exist
    example: str


TASKS: dict[str, TaskFamily] = {
    "deep_sea": TaskFamily(
        lambda size, mapping_seed: DeepSea(size, False, mapping_seed),
        "an N × N grid where only N right turns in a row find the treasure",
        "size",
        DeepSea.SIZES,
        "deep_sea/20",
    ),
    "deep_sea_stochastic": TaskFamily(
        lambda size, mapping_seed: DeepSea(size, True, mapping_seed),
        "Deep Sea whose right turns slip with probability 1/N and whose last rewards are noisy",
        "size",
        DeepSea.SIZES,
        "deep_sea_stochastic/20",
    ),
    "cartpole_swingup": TaskFamily(
        lambda difficulty, _: CartpoleSwingup(difficulty),
        "swing a hanging pole up and balance it, although moving costs",
        "difficulty",
        CartpoleSwingup.DIFFICULTIES,
        "cartpole_swingup/10",
    ),
}


def is_compiled_task(name: str) -> bool:
    """Whether `name` belongs to a compiled family; its number may still be wrong (see `make`)."""
    return name.partition("/")[0] in TASKS


def make(name: str, mapping_seed: int = 42) -> Environment:
    """The task called `name`, such as `deep_sea/20`.

    `mapping_seed` draws which action means "right" in each cell of a Deep Sea; other tasks have
    no such thing and ignore it. Raises `UsageError` if there is no such task.
    """
    family_name, _, number = name.partition("/")
    family = TASKS.get(family_name)
    if family is None:
        raise UsageError(_unknown(name))
    if not re.fullmatch(r"-?[0-9]{1,9}", number):
        got = f"got {number!r}" if number else "got none"
        raise UsageError(
            f"{family_name} needs a {family.number}, a whole number after a slash, {got}: "
            f"try {family.example}"
        )
    return family.build(int(number), mapping_seed)


def _unknown(name: str) -> str:
    """Says that the task does not exist, and what the user may have meant."""
    family_name, slash, number = name.partition("/")
    close = difflib.get_close_matches(family_name.lower(), TASKS, n=1)
    known = ", ".join(family.example for family in TASKS.values())
    if not close:
        return f"unknown task {name!r}: compiled tasks are {known} and the like"
    meant = f"{close[0]}/{number}" if slash and number else TASKS[close[0]].example
    return f"unknown task {name!r}: did you mean {meant!r}? (compiled tasks: {known} and the like)"
