"""What runs will cost, from the speed of earlier ones: at most (the budget), and as a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from isl.experiments.executing.plan import Job
from isl.experiments.executing.progress_row import duration
from isl.experiments.spec import RunSpec
from isl.paper.rows import variant_of
from isl.paper.table import Row, settings_of

Kind = tuple[str, str, str]  # task family, agent, what else it is a matter of
Points = Mapping[int, float]  # size → a measured value
TABLES = "lr_codes"  # a rate, but one that takes the hidden layers away
Calibrate = Callable[[Sequence[RunSpec]], Sequence[float]]  # seconds per step of each


class Line(NamedTuple):
    """The runs of an agent: how many, how fast, and how long on one core."""

    agent: str
    runs: int
    steps_per_second: tuple[float, float]  # of the slowest and the fastest of its sizes
    at_most: float  # seconds
    usually: float | None  # seconds, if enough is known of such runs
    longest: float  # seconds of its longest run at most


def kind_of(spec: RunSpec) -> Kind:
    """Runs of one kind differ in size and seed alone."""
    return spec.task.partition("/")[0], spec.agent, variant_of(spec)


def of_equal_speed(kind: Kind) -> Kind:
    """The kind without factors and rates: whole numbers and layers change the work."""
    family, agent, variant = kind
    settings = settings_of(variant)
    counts = [name == TABLES or type(value) is not float for name, value in settings.items()]
    words = [word for word, does in zip(variant.split(), counts, strict=True) if does]
    return family, agent, " ".join(words)


def size_of(spec: RunSpec) -> int:
    return int(spec.task.partition("/")[2])


def estimate(
    jobs: Sequence[Job], rows: Sequence[Row], cpu: str, calibrate: Calibrate
) -> list[Line]:
    """A line per agent. Rates come from rows of this processor, or are measured now."""
    programs = {job.program: job.spec for job in jobs}
    kinds = {program: kind_of(spec) for program, spec in programs.items()}
    rates = _rates(
        jobs,
        kinds,
        [row for row in rows if row.cpu == cpu and row.steps and row.seconds],
        calibrate,
    )
    lines = []
    for agent in dict.fromkeys(job.spec.agent for job in jobs):
        at_most, usually, speeds = [], [], []
        for job in (job for job in jobs if job.spec.agent == agent):
            pace = at(rates[of_equal_speed(kinds[job.program])], size_of(job.spec))
            most = (job.spec.episodes or 0) * job.spec.environment().max_episode_steps
            steps = _usual_steps(job.spec, kinds[job.program], rows)
            at_most.append(pace * most)
            usually.append(math.nan if steps is None else pace * min(steps, most))
            speeds.append(1 / pace)
        known = None if math.isnan(sum(usually)) else sum(usually)
        fast = (min(speeds), max(speeds))
        lines.append(Line(agent, len(at_most), fast, sum(at_most), known, max(at_most)))
    return lines


def _rates(
    jobs: Sequence[Job], kinds: Mapping[str, Kind], rows: Sequence[Row], calibrate: Calibrate
) -> dict[Kind, Points]:
    """Seconds per step by size. What no row tells is measured at the smallest and largest size."""
    rates: dict[Kind, Points] = {}
    unknown: dict[Kind, list[RunSpec]] = {}
    known: dict[Kind, list[Row]] = {}
    for row in rows:
        known.setdefault(of_equal_speed((row.family, row.agent, row.variant)), []).append(row)
    for job in jobs:
        kind = of_equal_speed(kinds[job.program])
        if kind in known:
            rates[kind] = _medians(known[kind], lambda row: row.seconds / row.steps)
        else:
            unknown.setdefault(kind, []).append(job.spec)
    if unknown:
        ends = {
            (kind, size_of(spec)): spec
            for kind, specs in unknown.items()
            for spec in (min(specs, key=size_of), max(specs, key=size_of))
        }
        for (kind, size), pace in zip(ends, calibrate(list(ends.values())), strict=True):
            rates[kind] = {**rates.get(kind, {}), size: pace}
    return rates


def _usual_steps(spec: RunSpec, kind: Kind, rows: Sequence[Row]) -> float | None:
    """The median steps of runs of this kind; to other sizes along a power law."""
    alike = [
        row
        for row in rows
        if (row.family, row.agent, row.variant) == kind
        and row.until_solved == spec.until_solved
        and row.budget == spec.episodes
    ]
    return at(_medians(alike, lambda row: float(row.steps)), size_of(spec)) if alike else None


def _medians(rows: Sequence[Row], value: Callable[[Row], float]) -> Points:
    sizes: dict[int, list[float]] = {}
    for row in rows:
        sizes.setdefault(row.size, []).append(value(row))
    return {size: median(values) for size, values in sorted(sizes.items())}


def at(points: Points, size: int) -> float:
    """The value at a size: between measured ones along a line, beyond them along a power law."""
    sizes, values = np.array(sorted(points)), np.array([points[s] for s in sorted(points)])
    if len(points) == 1 or sizes[0] <= size <= sizes[-1] or min(values) <= 0:
        return float(np.interp(size, sizes, values))
    slope, level = np.polyfit(np.log1p(sizes), np.log(values), 1)
    return float(np.exp(level + slope * np.log1p(size)))


def described(lines: Sequence[Line], cores: Sequence[int]) -> str:
    """A small table, and how long it takes on each number of cores."""
    wide = max(len(line.agent) for line in lines) + 2
    text = [f"{'agent':<{wide}}{'runs':>6}{'steps/s':>16}{'at most':>12}{'usually':>12}"]
    for line in lines:
        slow, fast = line.steps_per_second
        speed = f"{slow:,.0f}" if round(slow) == round(fast) else f"{slow:,.0f}–{fast:,.0f}"
        text.append(
            f"{line.agent:<{wide}}{line.runs:>6}{speed:>16}"
            f"{_core_hours(line.at_most):>12}{_core_hours(line.usually):>12}"
        )
    most = sum(line.at_most for line in lines)
    usual = None if any(line.usually is None for line in lines) else _total(lines)
    runs = sum(line.runs for line in lines)
    text.append(f"{'all':<{wide}}{runs:>6}{'':>16}{_core_hours(most):>12}{_core_hours(usual):>12}")
    longest = max(line.longest for line in lines)
    for k in cores:
        # However many cores there are, the longest run is computed on one of them.
        parts = [f"at most {duration(max(most / k, longest))}"]
        if usual is not None:
            parts.append(f"usually {duration(usual / k)}")
        text.append(f"on {k} {'core' if k == 1 else 'cores'}: {', '.join(parts)}")
    return "\n".join(text)


def _total(lines: Sequence[Line]) -> float:
    return sum(line.usually or 0.0 for line in lines)


def _core_hours(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds / 3600:.2f} h"
