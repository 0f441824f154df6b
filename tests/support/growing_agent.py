"""The counting agent with values that grow with every update. Tests name it by its path."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from isl.agents.config import hyper
from tests.support import counting_agent


@dataclass(frozen=True)
class Config(counting_agent.Config):
    start: float = hyper(0.1, "its values before the first update", above=0)
    doubling: float = hyper(1e9, "updates in which they double", above=0)
    apart: bool = hyper(False, "grow in the head that predict uses alone")
    lr: float = hyper(1e-3, "a rate that it could have", above=0)


def make(cfg, observation_space, num_actions):
    def inspect(learner, obs):
        grown = cfg.start * 2 ** (learner.updates / cfg.doubling) * jnp.ones(num_actions)
        if cfg.apart:
            return {"q": jnp.full(num_actions, cfg.start), "greedy": grown}
        return {"q": grown, "value": jnp.max(grown)}

    return counting_agent.make(cfg, observation_space, num_actions)._replace(inspect=inspect)
