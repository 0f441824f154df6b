"""Environments on which agents are compared through the Python API, as data.

A new environment is a `Case` in a list below; `isl.paper.comparisons` says who is trained on it.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

import gymnasium

from isl.envs import is_compiled_task
from isl.errors import UsageError


def share_paid(returns: Sequence[float]) -> float:
    """Of the episodes, where there is no reward but for success."""
    return mean(float(paid > 0) for paid in returns)


MEASURES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "median": median,
    "share paid": share_paid,
}


@dataclass(frozen=True)
class Bar:
    """What the final returns of all seeds must reach."""

    mean: float | None = None  # over the seeds
    each: float | None = None  # of one seed
    on: int | None = None  # how many seeds must reach `each`; None: every one
    of: int = 5  # seeds
    beside: tuple[str, ...] = ()  # agents whose mean is reached too

    @property
    def text(self) -> str:
        """`mean ≥ 475, every seed ≥ 450`."""
        parts = [] if self.mean is None else [f"mean ≥ {self.mean:g}"]
        if self.each is not None:
            alone = f"≥ {self.each:g} on {self.on} of {self.of}"
            parts.append(f"every seed ≥ {self.each:g}" if self.on is None else alone)
        if self.beside:
            parts.append(f"mean not below that of {' or '.join(self.beside)}")
        return ", ".join(parts)

    def met(self, finals: Sequence[float], others: Mapping[str, Sequence[float]]) -> bool | None:
        """Whether final returns reach it; None while seeds, or agents to compare with, lack."""
        if len(finals) < self.of or any(not others.get(name) for name in self.beside):
            return None
        reached = sum(self.each is None or final >= self.each for final in finals)
        return (
            (self.mean is None or mean(finals) >= self.mean)
            and reached >= (len(finals) if self.on is None else self.on)
            and all(mean(finals) >= mean(others[name]) for name in self.beside)
        )


@dataclass(frozen=True)
class Case:
    """An environment, its budget, and how the policies learned on it are measured."""

    name: str
    env: str  # a compiled task, or Gymnasium's id, `module:id` if a module registers it
    steps: int  # of training, or with `episodes` the most that these can take
    threshold: float | None = None  # the greedy return that counts as learned
    options: Mapping[str, Any] = field(default_factory=dict)  # of gymnasium.make
    wrappers: tuple[str, ...] = ()  # module:class, the innermost first
    observations: str = "auto"  # how our agents read them (isl.envs.spaces)
    factor: float = 1.0  # that all rewards are multiplied by
    episodes: int | None = None  # of training; None: the budget is in steps
    measure: str = "mean"  # of the greedy episodes' returns: a key of MEASURES
    looks: int = 20  # greedy episodes after each tenth of the budget
    last_look: int = 100  # and after the last
    extra: str = ""  # of this package, that the environment needs
    bar: Bar | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise UsageError(f"{self.name} has the measure {self.measure!r}, not a known one")

    @property
    def compiled(self) -> bool:
        """Whether it is a compiled task, trained on in the compiled loop."""
        return is_compiled_task(self.env)

    def measured(self, returns: Sequence[float]) -> float:
        """Greedy returns in one number."""
        return float(MEASURES[self.measure](returns))

    def learnt_in(self) -> Any:
        """What a model is given: the environment, or the name of a compiled task."""
        return self.env if self.compiled else self.make()

    def make(self) -> gymnasium.Env[Any, Any]:
        """The environment."""
        try:
            env = gymnasium.make(self.env, **self.options)
            for wrapper in self.wrappers:
                module, _, name = wrapper.partition(":")
                env = getattr(importlib.import_module(module), name)(env)
        except (ModuleNotFoundError, gymnasium.error.DependencyNotInstalled) as error:
            # Gymnasium's errors have no name.
            lacking = getattr(error, "name", None) or self.extra or self.env.partition(":")[0]
            hint = f": pip install 'isl[{self.extra}]'" if self.extra else ""
            raise UsageError(
                f"{self.name} needs the package {lacking}, which is not installed{hint}"
            ) from None
        if self.factor == 1.0:
            return env
        factor = self.factor
        return gymnasium.wrappers.TransformReward(env, lambda reward: factor * reward)  # type: ignore[operator]

    def check_installed(self) -> None:
        """Raise UsageError if a package that it needs is not there."""
        if not self.compiled:
            self.make().close()


def swing_up(
    difficulty: int, episodes: int = 1_000, threshold: float = 700, bar: Bar | None = None
) -> Case:
    """Our compiled swing-up: the median, since one of forty starts may go wrong."""
    name = f"cartpole_swingup/{difficulty}"
    return Case(
        name, name, 1_000 * episodes, threshold, episodes=episodes,
        measure="median", looks=40, last_look=40, bar=bar,
    )  # fmt: skip


def grid(name: str, steps: int, reached: float, bar: Bar | None = None) -> Case:
    """One of MiniGrid's tasks, compiled: the share of episodes that reach the goal."""
    return Case(
        name, name, steps, reached, measure="share paid", looks=40, last_look=100, bar=bar
    )  # fmt: skip


TABLES = [
    Case(
        "FrozenLake8x8-v1, not slippery", "FrozenLake8x8-v1", 30_000, 0.99, {"is_slippery": False},
        bar=Bar(each=1.0, on=5),
    ),
    Case(
        "FrozenLake8x8-v1", "FrozenLake8x8-v1", 30_000, 0.8, {"is_slippery": True},
        bar=Bar(mean=0.8),
    ),
    # It has no limit of its own, and a greedy walk may never end.
    Case(
        "CliffWalking-v1", "CliffWalking-v1", 30_000, -13, {"max_episode_steps": 200},
        bar=Bar(each=-13, on=5),
    ),
    Case("Taxi-v4", "Taxi-v4", 60_000, 7, bar=Bar(each=7, on=4)),
]  # fmt: skip
VECTORS = [
    Case("CartPole-v1", "CartPole-v1", 30_000, 475, bar=Bar(mean=475, each=450)),
    Case("Acrobot-v1", "Acrobot-v1", 30_000, -95, bar=Bar(mean=-95, each=-110)),
    Case("MountainCar-v0", "MountainCar-v0", 100_000, -120, bar=Bar(mean=-120, each=-135)),
    # The best is 1 − 9 · 0.01.
    Case("Knobs", "isl.paper.grids:isl/Knobs-v0", 40_000, 0.905, bar=Bar(each=0.905, on=5)),
    # The best is 1 − 8 · 0.002.
    Case("Keys", "isl.paper.grids:isl/Keys-v0", 40_000, 0.983, bar=Bar(each=0.983, on=5)),
]
SWING_UPS = [swing_up(0, bar=Bar(each=700, on=4)), swing_up(10, bar=Bar(each=700, on=4))]
HARD_SWING_UP = swing_up(15, threshold=600, bar=Bar(each=600, on=4))
LANDER = Case(
    "LunarLander-v3", "LunarLander-v3", 150_000, 200, extra="box2d",
    bar=Bar(of=3, beside=("stable_dqn", "sb3_dqn")),
)  # fmt: skip
GRIDS = [
    grid("door_key/5", 100_000, 0.9, Bar(each=0.9, on=4)),
    grid("multi_room/2", 100_000, 0.9, Bar(each=0.9, on=4)),
    grid("door_key/6", 200_000, 0.9, Bar(each=0.9, on=4)),
    grid("key_corridor/1", 300_000, 0.8, Bar(each=0.8, on=4)),
    grid("door_key/8", 500_000, 0.9, Bar(each=0.9, on=4)),
    grid("multi_room/4", 500_000, 0.7, Bar(each=0.7, on=4)),
]
# One way through a labyrinth of 28 steps, shown as a place and as a number: 1 − 28 · 0.01.
_LABYRINTH = Case(
    "Labyrinth", "isl.paper.grids:isl/Labyrinth-v0", 30_000, 0.715, bar=Bar(each=0.715, on=5)
)
LABYRINTHS = [
    _LABYRINTH,
    dataclasses.replace(_LABYRINTH, name="Labyrinth, as a table", options={"table": True}),
]
PIXELS = Case("Pixels", "isl.paper.grids:isl/Pixels-v0", 50_000, 0.99, bar=Bar(each=0.99, on=4))
AS_IMAGES = dataclasses.replace(PIXELS, name="Pixels, as images", observations="image")
# bsuite's pictures of the sea, one bright cell of N × N, for 5,000 episodes: as Seeker reads them,
# which is as a table, and by networks.
SEA_PICTURES = [
    Case(
        f"Deep Sea {size}, as a picture", "isl/DeepSea-v0", 5_000 * size, 0.98,
        {"size": size, "one_hot": True}, bar=Bar(each=0.98, on=5),
    )
    for size in (30, 50)
]  # fmt: skip
SEAS_BY_NETWORKS = [
    dataclasses.replace(
        case, name=case.name.replace("as a picture", "by networks"), observations="vector"
    )
    for case in SEA_PICTURES
]
UNTUNED = [*VECTORS, *TABLES, *SWING_UPS, LANDER]
# Knobs come back, so Seeker would take them for a table, which has few of the parts.
ABLATED = [
    next(case for case in VECTORS if case.name == "MountainCar-v0"),
    dataclasses.replace(
        next(case for case in VECTORS if case.name == "Knobs"),
        name="Knobs, as vectors",
        observations="vector",
    ),
    swing_up(0, episodes=300),
]
_SCALED = [
    Case("deep_sea", "isl/DeepSea-v0", 10_000, options={"size": 10}),
    Case("mountain_car", "MountainCar-v0", 40_000),
]
REWARD_SCALE = [
    dataclasses.replace(case, factor=factor) for case in _SCALED for factor in (0.01, 1.0, 100.0)
]
