"""Seeker's hyper-parameters: one setting for every environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from gymnasium.spaces import Discrete, Space

from isl.agents import base, of_symbols
from isl.agents.base import hyper
from isl.envs.kinds import Recurring, is_vector


@dataclass(frozen=True)
class Config(base.Config):
    """The defaults serve everywhere."""

    kappa: float = hyper(
        10.0, "weight κ of the information objective, in units of the returns", above=0, basic=True
    )
    greedy_share: float = hyper(
        1 / 3,
        "share of training played greedily (of its steps; tables: of its episodes)",
        at_least=0,
        at_most=1,
        basic=True,
    )
    hidden: tuple[int, ...] = hyper((64, 64), "units of each hidden layer", at_least=1, basic=True)
    batch_size: int = hyper(128, "transitions per update", at_least=1)
    learning_starts: int = hyper(500, "uniformly random steps before the first update", at_least=1)
    target_period: int = hyper(50, "updates between two copies to the targets", at_least=1)
    lr: float = hyper(5e-4, "Adam's learning rate of the value networks", above=0, basic=True)
    averaging: float = hyper(
        1e-3,
        "share of the newest parameters in the average that `exploit` follows",
        above=0,
        at_most=1,
    )
    action_gap: float = hyper(
        0.7,
        "share of an action's lag behind the best that the target of its value repeats",
        at_least=0,
        at_most=0.99,
    )
    ell_min: float = hyper(0.01, "ℓ below which everything counts as known", above=0, at_most=1)
    ell_gamma: float = hyper(0.99, "discount of ℓ(s′) in ℓ(s, a)", above=0, at_most=1)
    novelty_power: float = hyper(4.0, "tables and vectors: u = (1 + visits)^-power", above=0)
    view_power: float = hyper(1.0, "images and symbols: the same", above=0, later=True)
    repeat_cost: float = hyper(
        0.3,
        "symbols: what repeating an action in a view costs a greedy policy, in units; 0: no memory",
        at_least=0,
        later=True,
    )
    longest_stretch: int = hyper(
        16, "symbols: most steps between a value and its target", at_least=1, later=True
    )
    symbol_gamma: float = hyper(
        0.95, "symbols: discount factor, in place of gamma", at_least=0, at_most=1, later=True
    )
    practice: float = hyper(
        0.75,
        "vectors, images, symbols: share of the other steps that the newest values play",
        at_least=0,
        at_most=1,
        later=True,
    )
    sweep: int = hyper(128, "tables: states that an update looks at", at_least=1)
    successors: int = hyper(8, "tables: different next states kept per action", at_least=1)
    tilings: int = hyper(16, "vectors and images: codes that visits are counted by", at_least=1)
    tile_width: float = hyper(
        0.5, "vectors: width of a tile, in standard deviations", above=0, basic=True
    )

    normalises: ClassVar[bool] = True
    recognises: ClassVar[bool] = True

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        of_views = ("view_power", *of_symbols.NAMES)
        if isinstance(space, Discrete):
            names = (
                "hidden",
                "batch_size",
                "learning_starts",
                "lr",
                "averaging",
                "action_gap",
                "practice",
            )
            reason = "a table has neither networks nor codes"
            return dict.fromkeys((*names, "tilings", "tile_width", *of_views), reason)
        if isinstance(space, Recurring):  # a table, and networks if that is given up
            own = ("sweep", "successors", "novelty_power")
            return {name: why for name, why in self.unused(space.space).items() if name not in own}
        useless = dict.fromkeys(("sweep", "successors"), "these observations are no table")
        if is_vector(space):
            reason = "these observations are vectors"
            return useless | dict.fromkeys(of_views, reason)
        reason = "these observations are no vectors"
        useless |= dict.fromkeys(("tile_width", "novelty_power"), reason)
        return {**useless, **of_symbols.unused(space)}
