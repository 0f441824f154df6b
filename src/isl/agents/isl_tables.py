"""ISL with plain tables: Algorithm 1 where q̂, ρ and ℓ have one number per state and action.

Nothing that is learned in one state changes another, so ℓ of a state that was never seen stays what
it was: the paper's networks lose it at Deep Sea 80 (docs/results/deep-sea-networks.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Discrete, Space

from isl.agents import isl
from isl.agents.base import Agent, hyper
from isl.errors import UsageError


@dataclass(frozen=True)
class Config(isl.Config):
    """ISL's hyper-parameters, and one learning rate for all tables."""

    lr_codes: float = hyper(1e-3, "Adam's learning rate of all tables", above=0, basic=True)

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        names = ("hidden", "lr_q", "lr_rho", "lr_ell", "ell_bias")
        return dict.fromkeys(names, "tables have no layers, and their rate is lr_codes")


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """ISL on tables, for a Discrete observation space."""
    if not isinstance(observation_space, Discrete):
        raise UsageError(
            f"isl_tables reads Discrete observations, not {observation_space}; use isl or seeker"
        )
    values = isl.value_networks(cfg, observation_space, num_actions, linear=cfg.lr_codes)
    ell = isl.ell_networks(cfg, observation_space, num_actions, linear=cfg.lr_codes)
    return isl.assemble(cfg, values, ell)
