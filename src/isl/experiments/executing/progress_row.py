"""One run as the display knows it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from isl.envs.registry import has_goal
from isl.experiments.spec import RunSpec
from isl.status import Status


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
    began_at: int = 0  # how far it was then

    @property
    def name(self) -> str:
        return f"{self.spec.task} {self.who} seed {self.seed}"

    @property
    def who(self) -> str:
        return f"{self.spec.agent} {self.label}".rstrip()

    @property
    def seconds_left(self) -> float | None:
        """At the present pace; a run that ends when solved may be much sooner."""
        done = self.position - self.began_at
        if self.status is not Status.RUNNING or done <= 0:
            return None
        pace = (time.monotonic() - self.began) / done
        whole = self.spec.timesteps or self.spec.episodes or 0
        return max(0.0, pace * (whole - self.position))

    @property
    def position(self) -> int:
        """How far it is, in the unit of its budget."""
        return self.steps if self.spec.timesteps is not None else self.episodes

    @property
    def eta(self) -> str:
        seconds = self.seconds_left
        if seconds is None:
            return "elsewhere" if self.elsewhere else ""
        return ("≤ " if self.spec.until_solved else "") + duration(seconds)

    @property
    def facts(self) -> str:
        """How it goes, in words."""
        parts = [self.status.value, f"{self.episodes} episodes"]
        if self.best_return is not None:
            parts.append(f"best return {self.best_return:.4g}")
        if has_goal(self.spec.task):
            solved = f", solved at episode {self.solved_episode}" if self.solved_episode else ""
            parts.append(f"{self.goal_visits} goal visits{solved}")
        if self.greedy_return is not None:
            parts.append(f"greedy return {self.greedy_return:.4g}")
        parts.append(f"{self.steps_per_second:,.0f} steps/s")
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
