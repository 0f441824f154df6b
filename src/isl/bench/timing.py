"""Contestants that take turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Contestant:
    """Something to time. Calling `run` does `units` of work."""

    name: str
    units: float  # of work per call, e.g. updates
    run: Callable[[], Any]
    facts: dict[str, float] = field(default_factory=dict)  # per unit: env steps, FLOPs, bytes …
    seconds: list[float] = field(default_factory=list)  # per unit of work, one entry a turn
    cpu_seconds: list[float] = field(default_factory=list)  # the same, of the process's CPU time

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu_seconds)

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.seconds), max(self.seconds)


def take_turns(contestants: Iterable[Contestant], turns: int) -> None:
    """Time every contestant once per turn. Each must have been run once before (compiled)."""
    runners = list(contestants)
    for _ in range(turns):
        for contestant in runners:
            start, cpu_start = time.perf_counter(), time.process_time()
            contestant.run()
            cpu_end, end = time.process_time(), time.perf_counter()
            contestant.seconds.append((end - start) / contestant.units)
            contestant.cpu_seconds.append((cpu_end - cpu_start) / contestant.units)
