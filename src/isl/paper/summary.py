"""The tables of results in few numbers: medians and quartiles over seeds, exponents, agreement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from isl import agents
from isl.analysis.exponent import Exponent, fit
from isl.analysis.scores import episodes_to_solve, quantile
from isl.paper.table import Row

FEW = 5  # seeds: fewer than these are told one by one, not in quartiles


class Quartiles(NamedTuple):
    q1: float
    median: float
    q3: float


class Cell(NamedTuple):
    """All seeds of one agent, in one variant, at one size."""

    agent: str
    variant: str
    size: int
    diverged: int  # seeds
    budget: int  # episodes: the smallest of the seeds'
    took: list[float]  # episodes to solve of each seed; infinite for unsolved ones
    returns: tuple[float, ...]  # the best of each seed

    @property
    def seeds(self) -> int:
        return len(self.took)

    @property
    def solved(self) -> int:
        return sum(map(math.isfinite, self.took))

    @property
    def episodes(self) -> Quartiles:
        """To solve; infinite where unsolved runs decide."""
        return quartiles(self.took)

    @property
    def best_return(self) -> Quartiles:
        return quartiles(self.returns)


def quartiles(values: Sequence[float]) -> Quartiles:
    return Quartiles(*(quantile(values, q) for q in (0.25, 0.5, 0.75)))


def chosen(rows: Iterable[Row], family: str) -> list[Row]:
    """The rows of a task family; of runs that differ in their budget alone, the longest."""
    longest: dict[tuple[str, str, str, int], Row] = {}
    for row in rows:
        if row.family == family:
            key = (row.task, row.agent, row.variant, row.seed)
            if key not in longest or longest[key].budget < row.budget:
                longest[key] = row
    return sorted(longest.values(), key=lambda row: row.order)


def cells(rows: Iterable[Row], family: str) -> list[Cell]:
    """One per agent, variant and size, agents in the paper's order."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in chosen(rows, family):
        groups.setdefault((row.agent, row.variant, row.size), []).append(row)
    found = []
    for (agent, variant, size), alike in groups.items():
        took = episodes_to_solve(r.solved_episode for r in alike)
        best = tuple(-math.inf if r.best_return is None else r.best_return for r in alike)
        diverged = sum(r.status == "diverged" for r in alike)
        budget = min(r.budget for r in alike)
        found.append(Cell(agent, variant, size, diverged, budget, took, best))
    return sorted(found, key=lambda cell: (*_place(cell.agent), cell.variant, cell.size))


def _place(agent: str) -> tuple[int, str]:
    """Built-in agents in the order of their registry, then others by name."""
    known = list(agents.AGENTS)
    return (known.index(agent) if agent in known else len(known)), agent


def exponents(
    rows: Iterable[Row], family: str, smallest: int = 0
) -> dict[tuple[str, str], Exponent | None]:
    """Of the episodes to solve against size, per agent and variant; sizes up to the paper's 50."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in chosen(rows, family):
        if smallest <= row.size <= 50:
            groups.setdefault((row.agent, row.variant), []).append(row)
    return {
        key: fit(
            [row.size for row in alike],
            [row.solved_episode or row.censored_at or row.episodes for row in alike],
            [row.solved_episode is not None for row in alike],
        )
        for key, alike in sorted(groups.items(), key=lambda item: (_place(item[0][0]), item[0]))
    }


def who(agent: str, variant: str) -> str:
    """How an agent is called in figures and tables."""
    return f"{agents.label(agent)} {variant}".rstrip()


def exponent_text(exponent: Exponent | None) -> str:
    """`∝ N^1.02 (0.93 to 1.11)`, or why there is none."""
    if exponent is None:
        return "too few solved runs"
    low, high = (f"{end:.2f}" if math.isfinite(end) else "∞" for end in exponent[1:3])
    counted = f"{exponent.solved} solved, {exponent.censored} censored"
    return f"∝ N^{exponent.b:.2f} ({low} to {high}), {counted}"
