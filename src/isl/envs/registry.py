"""The compiled tasks by name, and all that the rest of the project knows of them.

A task's dynamics need JAX; what is written here does not, so that runs can be listed, scored and
drawn without it. A new task is a file with its dynamics and an entry of `TASKS`: nothing else in
the project asks what a task is called.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isl.errors import UsageError

if TYPE_CHECKING:
    from isl.envs.base import Environment


@dataclass(frozen=True)
class Fact:
    """A number that a task gives with every step; a run records its sum so far."""

    name: str  # its key in `TimeStep.info`
    column: str  # of the table of episodes
    recorded_since: str = "0.1"  # later ones are not part of a row's digest of its episodes


@dataclass(frozen=True)
class Bsuite:
    """What bsuite fixes about the same family."""

    numbers: range  # its ids count them from 0: deep_sea/10 is deep_sea-0
    episodes: int


@dataclass(frozen=True)
class TaskFamily:
    """Tasks that differ by one whole number, written after the slash, or a single task."""

    build: str | Callable[..., Environment]  # (number, **parameters) → the task; or module:name
    about: str  # one line for `isl list`
    title: str  # in figures
    example: str
    number: str = ""  # what the number is called, e.g. size; "": a single task without one
    symbol: str = ""  # the number on an axis, e.g. "size N"
    numbers: str = ""  # which of them exist, in words
    facts: tuple[Fact, ...] = ()
    goal: str | None = None  # the fact that counts visits to a goal: solved at the tenth of them
    goal_name: str = "goal"  # what is visited there, in titles
    parameters: Mapping[str, int] = field(default_factory=dict)  # beside the number, with defaults
    best_return: float | None = None  # of an episode; divides returns into scores from 0 to 1
    bsuite: Bsuite | None = None
    twin: str | None = None  # id of the same task as a Gymnasium environment
    twin_number: str = ""  # the argument of the twin that takes the number
    twin_arguments: Mapping[str, Any] = field(default_factory=dict)  # its other fixed ones
    preset: str | None = None  # the hyper-parameters' preset; None: by kind of observation
    solved_return: float | None = None  # mean of the last hundred episodes at which it is solved

    def make(self, number: int | str | None, **parameters: int) -> Environment:
        """The task of this number, or of this name in another package."""
        build = self.build
        if isinstance(build, str):
            module, _, name = build.partition(":")
            build = getattr(importlib.import_module(module), name)
        built: Environment = build(*([] if number is None else [number]), **parameters)
        return built


_SEA = {
    "number": "size",
    "symbol": "size N",
    "numbers": "2 to 46,340",
    "goal": "goal",
    "goal_name": "treasure",
    "parameters": {"mapping_seed": 42},  # bsuite's
    "bsuite": Bsuite(range(10, 51, 2), 10_000),
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
        preset="deep_sea",
        **_SEA,  # type: ignore[arg-type]
    ),
    "deep_sea_stochastic": TaskFamily(
        "isl.envs.deep_sea:stochastic_deep_sea",
        "Deep Sea whose right turns slip with probability 1/N and whose last rewards are noisy",
        "Deep Sea Stochastic",
        "deep_sea_stochastic/20",
        facts=(Fact("goal", "goal_visits"), Fact("bad", "bad_episodes")),
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
        bsuite=Bsuite(range(20), 1_000),
        twin="isl/CartpoleSwingup-v0",
        twin_number="difficulty",
        preset="cartpole_swingup",
    ),
}

_GOAL = {
    "facts": (Fact("goal", "goal_visits", recorded_since="0.2"),),
    "goal": "goal",
    "best_return": 1.0,
}
_SIZE = {"number": "size", "symbol": "size N", "twin_number": "size"}
_LENGTH = {"number": "length", "symbol": "length N", "twin_number": "length"}


def _suite(
    build: str, title: str, example: str, about: str, numbers: str = "", **more: Any
) -> TaskFamily:
    """An entry of the suite; its twin is named after its class."""
    made = f"isl.envs.{build}"
    twin = f"isl/{title.replace(' ', '')}-v0"
    return TaskFamily(made, about, title, example, numbers=numbers, twin=twin, **more)


TASKS |= {
    "empty": _suite(
        "minigrid.empty:Empty",
        "Empty",
        "empty/8",
        "an N × N room with a goal in the far corner",
        "4 to 100",
        solved_return=0.9,
        **_SIZE,
        **_GOAL,
    ),
    "door_key": _suite(
        "minigrid.door_key:DoorKey",
        "DoorKey",
        "door_key/6",
        "fetch a key, unlock a door, reach the goal behind it",
        "5 to 100; MiniGrid has 5, 6, 8, 16",
        solved_return=0.9,
        **_SIZE,
        **_GOAL,
    ),
    "multi_room": _suite(
        "minigrid.multi_room:multi_room",
        "MultiRoom",
        "multi_room/4",
        "a chain of N rooms behind doors, the goal in the last one",
        "2 (N2-S4), 4 (N4-S5), 6 (N6)",
        number="rooms",
        symbol="rooms N",
        twin_number="rooms",
        solved_return=0.6,
        **_GOAL,
    ),
    "key_corridor": _suite(
        "minigrid.key_corridor:KeyCorridor",
        "KeyCorridor",
        "key_corridor/3",
        "find the key to a locked room and pick up the ball in it",
        "1 to 6; MiniGrid has S3R1, S3R2, S3R3",
        number="rows",
        symbol="rows R",
        twin_number="rows",
        goal_name="ball",
        solved_return=0.8,
        **_GOAL,
    ),
    "four_rooms": _suite(
        "minigrid.four_rooms:FourRooms",
        "FourRooms",
        "four_rooms",
        "four rooms with gaps between them, agent and goal anywhere",
        solved_return=0.6,
        **_GOAL,
    ),
    "lock": _suite(
        "lock:Lock",
        "Lock",
        "lock/10",
        "a combination of N digits; a wrong one puts the dial back to the start",
        "1 to 1,000",
        parameters={"mapping_seed": 42},
        solved_return=0.9,
        **_LENGTH,
        **_GOAL,
    ),
    "river_swim": _suite(
        "river_swim:RiverSwim",
        "RiverSwim",
        "river_swim/6",
        "a small reward downstream, a large one N cells against the current",
        "2 to 1,000",
        facts=(Fact("rewarded", "rewarded_steps", recorded_since="0.2"),),
        **_LENGTH,
    ),
    "point_maze": _suite(
        "point_maze:PointMaze",
        "Point Maze",
        "point_maze",
        "a point at (x, y) in a labyrinth with noisy moves",
        solved_return=0.9,
        **_GOAL,
    ),
}

# Environments of other packages, by the word before the colon: `gymnax:MountainCar-v0`.
PACKAGES: dict[str, TaskFamily] = {
    package: TaskFamily(f"isl.envs.packages:{package}", about, package, f"{package}:{example}")
    for package, about, example in (
        ("gymnax", "gymnax ≥ 1.0", "MountainCar-v0"),
        ("navix", "navix 0.7", "Navix-DoorKey-5x5-v0"),
        ("xminigrid", "xminigrid 0.9", "MiniGrid-DoorKey-5x5"),
        ("craftax", "craftax 1.6", "Craftax-Classic-Symbolic-v1"),
    )
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
