"""Options that Seeker and stable_dqn have for symbols, such as MiniGrid's views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gymnasium.spaces import Space

from isl.agents.config import Config
from isl.envs.kinds import Symbols

NAMES = ("repeat_cost", "longest_stretch", "symbol_gamma")

C = TypeVar("C", bound=Config)


def unused(space: Space[Any]) -> Mapping[str, str]:
    """The options that have no effect on such observations, each with the reason."""
    if isinstance(space, Symbols):
        return {"gamma": "the discount factor of symbols is symbol_gamma"}
    return dict.fromkeys(NAMES, "these observations are no symbols")


def discounted(cfg: C, space: Space[Any]) -> C:
    """The options with the discount factor that such observations have.

    Many views look alike, and their values vary with what cannot be seen. With a discount of 0.99
    a wrong action and the way back cost two hundredths of a value, which is much less than that.
    """
    if not isinstance(space, Symbols):
        return cfg
    return replace(cfg, gamma=cfg.symbol_gamma)  # type: ignore[attr-defined]
