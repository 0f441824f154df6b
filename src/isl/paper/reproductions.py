"""The paper's experiments as data: which agents, tasks, sizes, seeds and hyper-parameters.

Each comes at the paper's scale, as a small version of the same, and in tranches: the parts of it
that say most for their cost, to be done first where there is no cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isl.errors import UsageError
from isl.experiments.executing.plan import Job
from isl.experiments.sweep import jobs_of, tasks_of

SIZES = range(10, 51, 2)  # of the seas
AGENTS = ("isl", "boot_dqn", "ube", "sbeed", "dqn")  # the paper's four, and our control
KAPPAS = tuple(13 * 2.0**k for k in range(-4, 5))  # the figures' values; the text says 20·2^k
TENTHS = tuple(k / 10 for k in range(11))


@dataclass(frozen=True)
class Part:
    """A sweep over sizes, agents, values of hyper-parameters, and seeds."""

    family: str
    sizes: Sequence[int]
    seeds: int
    agents: Sequence[str] = AGENTS
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)

    def jobs(self) -> list[Job]:
        """Its runs."""
        tasks = tasks_of([self.family], list(self.sizes))
        return jobs_of(tasks, self.agents, self.grid, range(self.seeds), **self.budget)


@dataclass(frozen=True)
class Reproduction:
    """One of the paper's figures: the runs it is made of."""

    full: Sequence[Part]  # the paper's scale
    quick: Sequence[Part]  # some minutes on two cores
    tranches: Sequence[Sequence[Part]]  # numbered from 1
    snapshots: bool = False  # record what agents believe: cheap at landmarks, large on a grid


def _until_solved(family: str, sizes: Sequence[int], seeds: int, *agents: str, **more: Any) -> Part:
    """Up to the tenth goal visit, or the task's 10,000 episodes."""
    return Part(family, sizes, seeds, agents, budget={"until_solved": True}, **more)


def _tables(family: str, **settings: Any) -> list[Part]:
    """ISL without networks, so that ℓ of what was never seen stays what it was; larger seas too."""
    grid = {name: [value] for name, value in settings.items()}
    return [_until_solved(family, (*SIZES, 60, 80, 100), 10, "isl_tables", grid=grid)]


def _sea(family: str, quick: Part, *more: Sequence[Part]) -> Reproduction:
    """Episodes to the tenth goal visit against size."""
    capped = {"until_solved": True, "episodes": 2_000}
    tranches = (
        [_until_solved(family, SIZES, 10, "isl")],
        [_until_solved(family, (10, 20, 30, 40, 50), 3, "boot_dqn", "ube")],
        [Part(family, (10, 20, 30), 3, ("dqn", "sbeed"), budget=capped)],
        *more,
    )
    return Reproduction([_until_solved(family, SIZES, 10, *AGENTS)], [quick], tranches)


def _ablation(
    sizes: Sequence[int], seeds: int, values: Mapping[str, Sequence[float]], **budget: Any
) -> list[Part]:
    """κ, η₁ and η₂ in turn, the others at the preset's."""
    return [
        Part("cartpole_swingup", sizes, seeds, ("isl",), {name: some}, budget)
        for name, some in values.items()
    ]


_FEW_VALUES = {"kappa": KAPPAS[::2], "eta1": (0.0, 0.8, 1.0), "eta2": (0.0, 0.7, 1.0)}
_ALL_VALUES = {"kappa": KAPPAS, "eta1": TENTHS, "eta2": TENTHS}

REPRODUCTIONS = {
    "deep_sea": _sea(
        "deep_sea",
        Part("deep_sea", (10, 20, 30), 2, budget={"until_solved": True, "episodes": 1_000}),
        # What the ℓ networks' biases and a second set of them do.
        [
            _until_solved("deep_sea", (10, 30, 50), 5, "isl", grid={"ell_bias": [True]}),
            _until_solved(
                "deep_sea", (10, 30, 50), 5, "isl_authors",
                grid={"ell_bias": [True], "double_ell": [False]},
            ),
        ],
        [_until_solved("deep_sea", (60, 80, 100), 3, "isl")],  # beyond the paper
        # "The complexity of BSP could probably be improved by enlarging the ensemble": one point.
        [_until_solved("deep_sea", (50,), 3, "boot_dqn", grid={"ensemble": [40]})],
        _tables("deep_sea", lr_codes=1e-3),
        [_until_solved("deep_sea", (10, 20, 30, 40, 50), 10, "boot_dqn")],
        [_until_solved("deep_sea", (20, 50, 100), 10, "seeker")],  # with its defaults
    ),
    "deep_sea_stochastic": _sea(
        "deep_sea_stochastic",
        Part("deep_sea_stochastic", (10, 20), 2, budget={"until_solved": True, "episodes": 3_000}),
        _tables("deep_sea_stochastic", lr_codes=1e-3),  # what serves the other sea does not serve
        _tables("deep_sea_stochastic", lr_codes=5e-4, steps=2),
        [_until_solved("deep_sea_stochastic", (10, 20, 30, 40, 50), 10, "boot_dqn")],
        [_until_solved("deep_sea_stochastic", (20, 50, 100), 10, "seeker")],
    ),
    "cartpole_swingup": Reproduction(
        [Part("cartpole_swingup", range(20), 10)],
        [Part("cartpole_swingup", (0, 10), 1, budget={"episodes": 100})],
        (
            [Part("cartpole_swingup", (0, 5, 10, 15, 17, 19), 3, ("isl",))],
            [Part("cartpole_swingup", (0, 10, 17), 2, ("boot_dqn", "ube", "sbeed", "dqn"))],
            [Part("cartpole_swingup", (15, 19), 2, ("boot_dqn",))],  # where it is ISL's one rival
            # Ten seeds where the claims are decided.
            [Part("cartpole_swingup", (15, 17), 10, ("isl",))],
            [Part("cartpole_swingup", (15, 17), 10, ("boot_dqn",))],
            [Part("cartpole_swingup", (10, 15, 17), 3, ("isl_authors",), {"target_period": [1]})],
            [Part("cartpole_swingup", (15, 17, 19), 5, ("seeker",))],  # with its defaults
        ),
        snapshots=True,
    ),
    "ablation": Reproduction(
        _ablation(range(20), 10, _ALL_VALUES),
        _ablation((10,), 1, {**_FEW_VALUES, "kappa": KAPPAS[::4]}, episodes=100),
        (
            _ablation((10,), 2, _FEW_VALUES),
            # More exploration helps where the task is hard and costs where it is easy: does it?
            _ablation((0, 17), 2, {"kappa": KAPPAS[2::4]}),
            _ablation((17,), 5, {"kappa": (52.0,)}),
        ),
    ),
}  # fmt: skip


def jobs(name: str, quick: bool = False, tranche: int | None = None) -> list[Job]:
    """The runs of a reproduction; one that two parts share is there once.

    Seed by seed, each over all sizes, the small ones first: whenever the work is stopped, every
    size has been tried equally often.
    """
    chosen = REPRODUCTIONS[name]
    parts = chosen.quick if quick else chosen.full
    if tranche is not None:
        if not 1 <= tranche <= len(chosen.tranches):
            raise UsageError(f"{name} has the tranches 1 to {len(chosen.tranches)}, got {tranche}")
        parts = chosen.tranches[tranche - 1]
    found = {(job.program, job.seeds): job for part in parts for job in part.jobs()}
    return sorted(found.values(), key=lambda job: (job.seeds, int(job.spec.task.split("/")[1])))
