"""The paper's experiments as data: which agents, tasks, sizes, seeds and hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isl.experiments.plan import Job
from isl.experiments.sweep import jobs_of, tasks_of

AGENTS = ("isl", "boot_dqn", "ube", "sbeed", "dqn")  # the paper's four, and our control
TENTHS = tuple(k / 10 for k in range(11))


@dataclass(frozen=True)
class Part:
    """A sweep over sizes, agents, one hyper-parameter at a time, and seeds."""

    family: str
    sizes: Sequence[int]
    seeds: int
    agents: Sequence[str] = AGENTS
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)

    def jobs(self) -> list[Job]:
        """Its runs, seed by seed."""
        tasks = tasks_of([self.family], list(self.sizes))
        return jobs_of(tasks, self.agents, self.grid, range(self.seeds), **self.budget)


def _sea(family: str) -> tuple[list[Part], list[Part]]:
    """Episodes to the tenth goal visit against size, as in the paper; and a small version."""
    full = Part(family, range(10, 51, 2), 10, budget={"until_solved": True})
    quick = Part(family, (6, 10, 14), 3, budget={"until_solved": True, "episodes": 600})
    return [full], [quick]


def _ablation(sizes: Sequence[int], seeds: int, values: int, **budget: Any) -> list[Part]:
    """κ, η₁ and η₂ in turn, the others at the preset's; `values` of each, evenly picked."""
    kappas = [13 * 2.0**k for k in range(-4, 5)]  # the figures' values; the text says 20·2^k
    series = {"kappa": kappas, "eta1": TENTHS, "eta2": TENTHS}
    parts = []
    for name, every in series.items():
        step = max(1, (len(every) - 1) // (values - 1))
        grid = {name: list(every)[::step]}
        parts.append(Part("cartpole_swingup", sizes, seeds, ("isl",), grid, budget))
    return parts


# name → (the paper's scale, a small version of the same)
REPRODUCTIONS: dict[str, tuple[list[Part], list[Part]]] = {
    "deep_sea": _sea("deep_sea"),
    "deep_sea_stochastic": _sea("deep_sea_stochastic"),
    "cartpole_swingup": (
        [Part("cartpole_swingup", range(20), 10)],
        [Part("cartpole_swingup", (0, 10), 1, budget={"episodes": 20})],
    ),
    "ablation": (
        _ablation(range(20), 10, values=11),
        _ablation((10,), 1, values=3, episodes=20),
    ),
}


def jobs(name: str, quick: bool) -> list[Job]:
    """The runs of a reproduction; one that two parts share is there once."""
    found = {
        (job.program, job.seeds): job for part in REPRODUCTIONS[name][quick] for job in part.jobs()
    }
    return list(found.values())
