"""A toy agent, as CONTRIBUTING.md says a new one is made: this file, and a line of `AGENTS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, hyper


@dataclass(frozen=True)
class Config(base.Config):
    """A coin's only option."""

    heads: float = hyper(0.9, "probability of the last action", at_least=0, at_most=1, basic=True)


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """Tosses a coin, and counts its updates."""

    def init(key: jax.Array) -> jax.Array:
        return jnp.zeros(())

    def act(learner: Any, episode: Any, obs: Any, key: jax.Array, mask: Any = None) -> jax.Array:
        heads = jax.random.uniform(key) < cfg.heads
        return jnp.where(heads, num_actions - 1, 0).astype(jnp.int32)

    def exploit(learner: Any, obs: Any, mask: Any = None) -> jax.Array:
        return jnp.int32(num_actions - 1)

    def update(learner: Any, target: Any, batch: Transition, key: jax.Array) -> tuple[Any, Metrics]:
        return learner + 1.0, {"reward": jnp.mean(batch.reward)}

    def inspect(learner: Any, obs: Any) -> dict[str, jax.Array]:
        policy = jnp.full(num_actions, 1 - cfg.heads).at[-1].set(cfg.heads)
        return {"q": policy, "policy": policy}

    return Agent(
        schedule=base.schedule_of(cfg),
        init=init,
        begin_episode=base.no_episode,
        act=act,
        exploit=exploit,
        observe=base.store_as_is,
        update=update,
        target=lambda learner: (),
        inspect=inspect,
    )
