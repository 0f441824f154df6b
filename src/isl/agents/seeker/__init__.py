"""Seeker: ISL's policy and objective for environments that nobody tuned, with one setting.

π* and v* are the paper's (isl.theory.exploration). What is learned, and how, depends on what can be
seen (docs/seeker.md):
  * `tables`: a Discrete observation is a row of a table. Frequencies of what was seen are a model,
    and sweeps over it give values and uncertainty without a network.
  * `recurring`: a table too, of vectors and images that come back; `networks` if they do not.
  * `networks`: vectors and images. Values that cannot run away, and an uncertainty that counts
    visits to similar observations.

Both have three things in common, and `config` has the one setting that serves them all:
  * ℓ(s,a) = u + (1 − u) · γ_ℓ · max ℓ(s′) in [0, 1], where u counts visits instead of errors;
  * two values: g of argmax, which `exploit` follows, and q̂ of π*, which the exploration needs;
  * κ in units of the returns that were seen, and a share of the training that is played greedily.
"""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Discrete, Space

from isl.agents.base import Agent
from isl.agents.seeker import networks, recurring, tables
from isl.agents.seeker.config import Config
from isl.envs.kinds import Recurring

__all__ = ["Config", "make"]


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """Seeker for an observation space and a number of actions."""
    if isinstance(observation_space, Discrete):
        return tables.make(cfg, observation_space, num_actions)
    if isinstance(observation_space, Recurring):
        return recurring.make(cfg, observation_space, num_actions)
    return networks.make(cfg, observation_space, num_actions)
