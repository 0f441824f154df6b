"""Who is compared on which cases, with which seeds. Rows are kept in `docs/results/NAME.csv`."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isl.errors import UsageError, closest
from isl.paper.cases import (
    ABLATED,
    AS_IMAGES,
    GRIDS,
    HARD_SWING_UP,
    LABYRINTHS,
    LANDER,
    PIXELS,
    REWARD_SCALE,
    SEA_PICTURES,
    SEAS_BY_NETWORKS,
    SWING_UPS,
    TABLES,
    VECTORS,
    Case,
)
from isl.paper.variants import VARIANTS

PEERS = {"sb3_dqn": "SB3 DQN", "sb3_ppo": "SB3 PPO"}  # isl.paper.sb3 trains them


class Contestant(NamedTuple):
    """Who is trained."""

    agent: str  # one of ours, or of PEERS
    preset: str = ""  # "": what the agent takes by itself
    variant: str = ""  # of isl.paper.variants

    def check_installed(self) -> None:
        """Raise UsageError if a package that it needs is not there."""
        if self.agent in PEERS and importlib.util.find_spec("stable_baselines3") is None:
            raise UsageError(
                f"{self.agent} needs the package stable_baselines3, which is not installed: "
                "pip install 'isl[peers]'"
            )


class Wanted(NamedTuple):
    """One run."""

    case: Case
    contestant: Contestant
    seed: int

    def check_installed(self) -> None:
        """Raise UsageError if a package that it needs is not there."""
        self.contestant.check_installed()
        self.case.check_installed()


class Tranche(NamedTuple):
    """A part of a comparison: all contestants on all cases, seed by seed."""

    cases: Sequence[Case]
    contestants: Sequence[Contestant]
    seeds: Sequence[int]

    def runs(self) -> list[Wanted]:
        return [
            Wanted(case, who, seed)
            for case in self.cases
            for seed in self.seeds
            for who in self.contestants
        ]


@dataclass(frozen=True)
class Comparison:
    """Contestants on cases, with seeds. It offers the same parts as a reproduction."""

    tranches: Sequence[Tranche]  # numbered from 1
    quick: Tranche  # the small version, with a tenth of the budgets

    @property
    def cases(self) -> list[Case]:
        """All cases, in the order of the tranches."""
        runs = [(case.name, case.factor, case) for part in self.tranches for case in part.cases]
        return list({(name, factor): case for name, factor, case in runs}.values())

    def chosen(
        self,
        quick: bool = False,
        tranche: int | None = None,
        cases: Sequence[str] = (),
        agents: Sequence[str] = (),
    ) -> list[Wanted]:
        """The runs: all of them, those of a tranche, or the small version.

        Args:
            quick: the small version.
            tranche: only this one.
            cases: only those of these names.
            agents: only those of these names; `seeker:VARIANT` is a variant.
        """
        parts = [self.quick] if quick else list(self.tranches)
        if tranche is not None:
            if not 1 <= tranche <= len(parts):
                raise UsageError(f"there are the tranches 1 to {len(parts)}, got {tranche}")
            parts = [parts[tranche - 1]]
        wanted = [run for part in parts for run in part.runs()]
        if quick:
            wanted = [_tenth(run) for run in wanted]
        wanted = _only("case", cases, wanted, lambda run: run.case.name)
        return _only("agent", agents, wanted, lambda run: name_of(run.contestant))


def _tenth(run: Wanted) -> Wanted:
    case = run.case
    episodes = None if case.episodes is None else case.episodes // 10
    return run._replace(
        case=dataclasses.replace(case, steps=case.steps // 10, episodes=episodes, bar=None)
    )


def _only(
    what: str, names: Sequence[str], runs: list[Wanted], name: Callable[[Wanted], str]
) -> list[Wanted]:
    """The runs that were asked for by name; all if there are no names."""
    known = list(dict.fromkeys(map(name, runs)))
    for asked in names:
        if asked not in known:
            close = closest(asked, known)
            hint = f"did you mean {close!r}?" if close else f"there are {', '.join(known)}"
            raise UsageError(f"no {what} {asked!r} among these runs; {hint}")
    return [run for run in runs if not names or name(run) in names]


def name_of(contestant: Contestant) -> str:
    """`seeker`, or `seeker:no_averaging`."""
    return f"{contestant.agent}:{contestant.variant}" if contestant.variant else contestant.agent


def key_of(case: Case, contestant: Contestant, seed: int) -> tuple[object, ...]:
    """Which row a run would be (`Trial.key`)."""
    return (case.name, case.factor, *contestant, seed, case.steps)


OURS = Contestant("seeker")
CONTROL = Contestant("stable_dqn")  # the same value learning without deep exploration
_EARLIER = (Contestant("dqn"), Contestant("boot_dqn"))
_PEERS = tuple(map(Contestant, PEERS))
_WITHOUT = tuple(Contestant("seeker", variant=name) for name in VARIANTS)
FIVE, THREE = range(5), range(3)

COMPARISONS = {
    "untuned": Comparison(
        (
            Tranche(TABLES, (OURS,), FIVE),
            Tranche(VECTORS, (OURS,), FIVE),
            Tranche([*VECTORS, *TABLES], (CONTROL,), FIVE),
            Tranche(SWING_UPS, (OURS,), FIVE),
            Tranche(SWING_UPS, (CONTROL,), FIVE),
            Tranche([LANDER], (OURS, CONTROL), THREE),
            Tranche([*VECTORS, LANDER], _PEERS, THREE),
            Tranche(VECTORS, _EARLIER, THREE),
            Tranche(TABLES, (*_EARLIER, *_PEERS), THREE),
            Tranche([LANDER, *SWING_UPS], _EARLIER, THREE),
            Tranche([HARD_SWING_UP], (OURS,), FIVE),
        ),
        quick=Tranche(TABLES[:1], (OURS, CONTROL), (0,)),
    ),
    "seeker_ablation": Comparison(
        [Tranche([case], _WITHOUT, THREE) for case in ABLATED],
        quick=Tranche(ABLATED[1:2], _WITHOUT, (0,)),
    ),
    "minigrid": Comparison(
        [
            *(Tranche([case], (OURS,), FIVE) for case in GRIDS),
            Tranche(GRIDS, (CONTROL,), THREE),
        ],
        quick=Tranche(GRIDS[:1], (OURS, CONTROL), (0,)),
    ),
    "encodings": Comparison(
        [
            Tranche(LABYRINTHS, (OURS,), FIVE),
            Tranche([PIXELS], (OURS,), FIVE),
            Tranche([AS_IMAGES], (OURS,), FIVE),
            *(Tranche([case], (OURS,), FIVE) for case in (*SEA_PICTURES, *SEAS_BY_NETWORKS)),
        ],
        quick=Tranche(LABYRINTHS, (OURS,), (0,)),
    ),
    # The preset was chosen on seeds from 1000 on.
    "reward_scale": Comparison(
        [
            Tranche([case for case in REWARD_SCALE if case.name == name], (OURS,), (1000, 1001))
            for name in ("deep_sea", "mountain_car")
        ],
        quick=Tranche(REWARD_SCALE[:3], (OURS,), (1000,)),
    ),
}
