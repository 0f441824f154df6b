"""Environments on which agents are compared through the Python API, as data.

A new environment is a `Case` in a list below. Rows are kept in `docs/results/NAME.csv`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from isl.errors import UsageError

Contestant = tuple[str, str]  # agent, preset; "": the agent's own defaults


@dataclass(frozen=True)
class Case:
    """An environment and its budget of steps."""

    name: str
    env: str  # Gymnasium's id, `module:id` if a module has to be imported for it
    steps: int
    threshold: float | None = None  # the mean greedy return that counts as learned
    options: Mapping[str, Any] = field(default_factory=dict)  # of gymnasium.make
    wrappers: tuple[str, ...] = ()  # module:class, the innermost first
    vector: bool = False  # the control is then shown normalised observations
    factor: float = 1.0  # that all rewards are multiplied by

    def make(self) -> gymnasium.Env[Any, Any]:
        """The environment."""
        try:
            env = gymnasium.make(self.env, **self.options)
            for wrapper in self.wrappers:
                module, _, name = wrapper.partition(":")
                env = getattr(importlib.import_module(module), name)(env)
        except ModuleNotFoundError as error:
            lacking = error.name or self.env.partition(":")[0]  # Gymnasium's error has no name
            raise UsageError(
                f"{self.name} needs the package {lacking}, which is not installed "
                "(MiniGrid: pip install 'isl[minigrid]')"
            ) from None
        if self.factor == 1.0:
            return env
        factor = self.factor
        return gymnasium.wrappers.TransformReward(env, lambda reward: factor * reward)  # type: ignore[operator]


@dataclass(frozen=True)
class Comparison:
    """Contestants on cases, with seeds. It offers the same parts as a reproduction."""

    cases: Sequence[Case]
    contestants: Sequence[Contestant]
    seeds: Sequence[int]
    tranches: Sequence[Sequence[str]]  # names of cases, numbered from 1
    quick: str  # the case of the small version

    def chosen(self, quick: bool, tranche: int | None) -> list[tuple[Case, Contestant, int]]:
        """The runs: all of them, those of a tranche, or a tenth of one case for one seed."""
        if quick:
            case = next(case for case in self.cases if case.name == self.quick)
            short = dataclasses.replace(case, steps=case.steps // 10)
            return [(short, who, self.seeds[0]) for who in self.contestants]
        names = {case.name for case in self.cases}
        if tranche is not None:
            if not 1 <= tranche <= len(self.tranches):
                last = len(self.tranches)
                raise UsageError(f"there are the tranches 1 to {last}, got {tranche}")
            names = set(self.tranches[tranche - 1])
        return [
            (case, who, seed)
            for case in self.cases
            if case.name in names
            for seed in self.seeds
            for who in self.contestants
        ]


OURS = ("seeker", "")  # rows of 0.1 have it as isl with the preset auto
CONTROL = ("dqn", "matched")  # with the networks, batches, rates and update ratio of ours

_MINIGRID = ("minigrid.wrappers:ImgObsWrapper", "gymnasium.wrappers:FlattenObservation")
UNTUNED = [
    Case("MountainCar-v0", "MountainCar-v0", 150_000, -130, vector=True),
    Case("FrozenLake8x8-v1", "FrozenLake8x8-v1", 30_000, 0.5, {"is_slippery": True}),
    Case(
        "FrozenLake8x8-v1, not slippery", "FrozenLake8x8-v1", 30_000, 0.99, {"is_slippery": False}
    ),
    # It has no limit of its own, and a greedy walk may never end.
    Case("CliffWalking-v1", "CliffWalking-v1", 30_000, -14, {"max_episode_steps": 200}),
    Case("CartPole-v1", "CartPole-v1", 30_000, 475, vector=True),
    Case("Acrobot-v1", "Acrobot-v1", 30_000, -100, vector=True),
    Case("Taxi-v4", "Taxi-v4", 60_000, 7),
    *(
        Case(name, f"minigrid:{name}", 60_000, threshold, wrappers=_MINIGRID, vector=True)
        for name, threshold in (
            ("MiniGrid-DoorKey-6x6-v0", 0.8),
            ("MiniGrid-MultiRoom-N2-S4-v0", 0.7),
        )
    ),
]
_SCALED = [
    Case("deep_sea", "isl/DeepSea-v0", 10_000, options={"size": 10}),
    Case("mountain_car", "MountainCar-v0", 40_000),
]
REWARD_SCALE = [
    dataclasses.replace(case, factor=factor) for case in _SCALED for factor in (0.01, 1.0, 100.0)
]

COMPARISONS = {
    "untuned": Comparison(
        UNTUNED,
        (OURS, CONTROL),
        range(5),
        (
            [case.name for case in UNTUNED if not case.vector],  # tables
            [case.name for case in UNTUNED if case.vector and not case.wrappers],
            [case.name for case in UNTUNED if case.wrappers],  # MiniGrid
        ),
        quick="FrozenLake8x8-v1",
    ),
    # The preset was chosen on seeds from 1000 on.
    "reward_scale": Comparison(
        REWARD_SCALE,
        (OURS,),
        range(1000, 1002),
        (["deep_sea"], ["mountain_car"]),
        quick="deep_sea",
    ),
}
