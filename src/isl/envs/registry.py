"""The compiled tasks by name, and all that the rest of the project knows of them.

A task's dynamics need JAX; what is written here does not, so that runs can be listed, scored and
drawn without it. A new task is a file with its dynamics and an entry of `TASKS`: nothing else in
the project asks what a task is called.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from isl.envs.families import Bsuite as Bsuite
from isl.envs.families import Fact as Fact
from isl.envs.families import TaskFamily as TaskFamily
from isl.envs.suite import PACKAGES as PACKAGES
from isl.envs.suite import SUITE
from isl.errors import UsageError

if TYPE_CHECKING:
    from isl.envs.base import Environment


_SEA = {
    "number": "size",
    "symbol": "size N",
    "numbers": "2 to 46,340",
    "goal": "goal",
    "goal_name": "treasure",
    "parameters": {"mapping_seed": 42},  # bsuite's
    "triangle": True,
    "twin": "isl/DeepSea-v0",
    "twin_number": "size",
}

TASKS: dict[str, TaskFamily] = {
    "deep_sea": TaskFamily(
        "isl.envs.deep_sea:DeepSea",
        "an N × N grid where only N right turns in a row find the treasure",
        "Deep Sea",
        "deep_sea/20",
        facts=(Fact("goal", "goal_visits"),),
        bsuite=Bsuite(range(10, 51, 2), 10_000, bad_share=0.9),
        preset="deep_sea",
        **_SEA,  # type: ignore[arg-type]
    ),
    "deep_sea_stochastic": TaskFamily(
        "isl.envs.deep_sea:stochastic_deep_sea",
        "Deep Sea whose right turns slip with probability 1/N and whose last rewards are noisy",
        "Deep Sea Stochastic",
        "deep_sea_stochastic/20",
        facts=(Fact("goal", "goal_visits"), Fact("bad", "bad_episodes")),
        bsuite=Bsuite(range(10, 51, 2), 10_000, bad_share=0.8, bad_since=100),
        preset="deep_sea_stochastic",
        twin_arguments={"stochastic": True},
        **_SEA,  # type: ignore[arg-type]
    ),
    "cartpole_swingup": TaskFamily(
        "isl.envs.cartpole_swingup:CartpoleSwingup",
        "swing a hanging pole up and balance it, although moving costs",
        "Cartpole Swingup",
        "cartpole_swingup/10",
        number="difficulty",
        symbol="difficulty n",
        numbers="0 to 19",
        facts=(Fact("rewarded", "rewarded_steps", recorded_since="0.2"),),
        best_return=1000.0,  # about a step's reward of 1 for all of its steps
        bsuite=Bsuite(range(20), 1_000, target_return=700.0, good_return=100.0),
        twin="isl/CartpoleSwingup-v0",
        twin_number="difficulty",
        preset="cartpole_swingup",
    ),
    **SUITE,
}


def family_of(task: str) -> TaskFamily | None:
    """The family that a task's name belongs to; None for a Gymnasium environment."""
    package, colon, _ = task.partition(":")
    return PACKAGES.get(package) if colon else TASKS.get(task.partition("/")[0])


def number_of(task: str) -> int | None:
    """`deep_sea/20` → 20; None if the task has no number."""
    number = task.partition("/")[2]
    return int(number) if number.isdecimal() else None


def has_goal(task: str) -> bool:
    """Whether a task is solved by visits to its goal."""
    family = family_of(task)
    return family is not None and family.goal is not None


def parameters_of(task: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Of some values by name those that are parameters of the task, as `make` takes them."""
    family = family_of(task)
    known = family.parameters if family is not None else {}
    return {name: values[name] for name in known if values.get(name) is not None}


def is_compiled_task(name: str) -> bool:
    """Whether `name` belongs to a compiled family; its number may still be wrong (see `make`)."""
    return family_of(name) is not None


def make(name: str, **parameters: int) -> Environment:
    """The task called `name`, such as `deep_sea/20`.

    `parameters` are the family's own: `mapping_seed` draws which action means "right" in each cell
    of a Deep Sea. Raises `UsageError` if there is no such task or parameter.
    """
    package, colon, inner = name.partition(":")
    if colon and package in PACKAGES:
        return PACKAGES[package].make(inner)
    family_name, _, number = name.partition("/")
    family = TASKS.get(family_name)
    if family is None:
        raise UsageError(_unknown(name))
    for parameter in parameters:
        if parameter not in family.parameters:
            has = ", ".join(family.parameters) or "none"
            raise UsageError(f"{family_name} has no parameter {parameter!r}; it has {has}")
    if not family.number:
        if number:
            raise UsageError(f"{family_name} has no number: leave out /{number}")
        return family.make(None, **parameters)
    if not re.fullmatch(r"-?[0-9]{1,9}", number):
        got = f"got {number!r}" if number else "got none"
        raise UsageError(
            f"{family_name} needs a {family.number}, a whole number after a slash, {got}: "
            f"try {family.example}"
        )
    return family.make(int(number), **parameters)


def examples() -> str:
    """A task of each family, for messages."""
    return ", ".join(family.example for family in TASKS.values())


def _unknown(name: str) -> str:
    """Says that the task does not exist, and what the user may have meant."""
    family_name, slash, number = name.partition("/")
    close = difflib.get_close_matches(family_name.lower(), TASKS, n=1)
    if not close:
        return f"unknown task {name!r}: compiled tasks are {examples()} and the like"
    meant = f"{close[0]}/{number}" if slash and number else TASKS[close[0]].example
    listed = f"(compiled tasks: {examples()} and the like)"
    return f"unknown task {name!r}: did you mean {meant!r}? {listed}"
