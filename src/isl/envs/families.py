"""What the rest of the project knows of a family of tasks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    """What bsuite fixes about the same family, and what its score of a run rests on.

    A task with a goal is solved once few enough of its episodes were bad. Other tasks are scored by
    the regret they avoid and by whether a good episode occurred.
    """

    numbers: range  # its ids count them from 0: deep_sea/10 is deep_sea-0
    episodes: int
    bad_share: float = 0.0  # solved while fewer than this share of the episodes so far were bad
    bad_since: int = 1  # … and not before this episode
    target_return: float = 0.0  # of an episode without regret
    good_return: float = 0.0  # of a good episode


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
    triangle: bool = False  # states are cells of an N × N grid, reachable where column ≤ row
    twin: str | None = None  # id of the same task as a Gymnasium environment
    twin_number: str = ""  # the argument of the twin that takes the number
    twin_arguments: Mapping[str, Any] = field(default_factory=dict)  # its other fixed ones
    preset: str | None = None  # the hyper-parameters' preset; None: by kind of observation
    solved_return: float | None = None  # mean of the last hundred episodes at which it is solved

    def column(self, fact: str | None) -> str | None:
        """The column of the table of episodes that a fact is recorded in; None without it."""
        return next((known.column for known in self.facts if known.name == fact), None)

    def make(self, number: int | str | None, **parameters: int) -> Environment:
        """The task of this number, or of this name in another package."""
        build = self.build
        if isinstance(build, str):
            module, _, name = build.partition(":")
            build = getattr(importlib.import_module(module), name)
        built: Environment = build(*([] if number is None else [number]), **parameters)
        return built
