"""One run as the display knows it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from isl.envs.registry import has_goal
from isl.experiments.spec import RunSpec
from isl.status import Status

RECENT_SECONDS = 30.0  # that a pace is measured over
LEAST_SECONDS = 2.0  # before which no time left is told


class Point(NamedTuple):
    """How far a run was at a time."""

    time: float
    position: int  # in the unit of its budget
    steps: int


@dataclass
class Row:
    """Where a run stands and how fast it goes."""

    spec: RunSpec
    seed: int
    config: str
    label: str = ""  # what sets its configuration apart from the others of the sweep
    status: Status = Status.PENDING
    elsewhere: bool = False  # another process is at work on it
    episodes: int = 0
    steps: int = 0
    best_return: float | None = None
    goal_visits: int = 0
    solved_episode: int | None = None
    steps_per_second: float = 0.0
    greedy_return: float | None = None  # of the last evaluation, and of the best one
    best_greedy_return: float | None = None
    seconds: float | None = None  # that it took, once it is done
    message: str = ""
    said: float = 0.0  # when a line about it was last printed
    began: float = 0.0
    compiling: bool = False  # the program is not there yet: what it does meanwhile says nothing
    recent: deque[Point] = field(default_factory=deque)  # of the last half minute of learning

    @property
    def name(self) -> str:
        return f"{self.spec.task} {self.who} seed {self.seed}"

    @property
    def who(self) -> str:
        return f"{self.spec.agent} {self.label}".rstrip()

    def start(self, compiled: bool) -> None:
        """A process begins with it; `compiled`: one that has its program already."""
        self.status, self.elsewhere, self.message = Status.RUNNING, False, ""
        self.began = self.said = time.monotonic()
        self.compiling = not compiled
        self.recent.clear()

    def measure(self) -> None:
        """Take in how far it is now.

        The steps before learning begins and the compilation after them would give a wrong pace:
        the first two reports of a process that compiles are not measured.
        """
        now = Point(time.monotonic(), self.position, self.steps)
        if self.compiling and not self.recent:
            self.recent.append(now)
            return
        if self.compiling:
            self.compiling = False
            self.recent.clear()
        self.recent.append(now)
        while len(self.recent) > 2 and now.time - self.recent[1].time > RECENT_SECONDS:
            self.recent.popleft()

    @property
    def pace(self) -> float | None:
        """Steps per second of late; None as long as there is nothing to tell."""
        if self.status is not Status.RUNNING:
            return self.steps_per_second or None
        if self.compiling or len(self.recent) < 2:
            return None
        first, last = self.recent[0], self.recent[-1]
        return (last.steps - first.steps) / max(last.time - first.time, 1e-9)

    @property
    def pace_text(self) -> str:
        pace = self.pace
        return "" if pace is None else f"{pace:,.0f}"

    @property
    def seconds_left(self) -> float | None:
        """At the recent pace; a run that ends when solved may be much sooner."""
        if self.status is not Status.RUNNING or self.compiling or len(self.recent) < 2:
            return None
        first, last = self.recent[0], self.recent[-1]
        done, took = last.position - first.position, last.time - first.time
        if done <= 0 or took < LEAST_SECONDS:
            return None
        whole = self.spec.timesteps or self.spec.episodes or 0
        return max(0.0, took / done * (whole - last.position) - (time.monotonic() - last.time))

    @property
    def position(self) -> int:
        """How far it is, in the unit of its budget."""
        return self.steps if self.spec.timesteps is not None else self.episodes

    @property
    def state(self) -> str:
        """Its status, or that its program is being compiled."""
        waits = self.compiling and self.status is Status.RUNNING
        return "compiling…" if waits else self.status.value

    @property
    def eta(self) -> str:
        seconds = self.seconds_left
        if seconds is None:
            return "elsewhere" if self.elsewhere else ""
        return ("≤ " if self.spec.until_solved else "") + duration(seconds)

    @property
    def facts(self) -> str:
        """How it goes, in words."""
        parts = [self.state, f"{self.episodes} episodes"]
        if self.best_return is not None:
            parts.append(f"best return {self.best_return:.4g}")
        if has_goal(self.spec.task):
            solved = f", solved at episode {self.solved_episode}" if self.solved_episode else ""
            parts.append(f"{self.goal_visits} goal visits{solved}")
        if self.greedy_return is not None:
            parts.append(f"greedy return {self.greedy_return:.4g}")
        if self.pace_text:
            parts.append(f"{self.pace_text} steps/s")
        if self.eta:
            parts.append(f"{self.eta} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """`95` → `1m 35s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
