"""ISL with what the authors' public code adds to the paper's text (docs/paper.md).

It has two sets of ℓ networks, of which one, drawn at random, serves each action and each update.
The action of the largest ℓ(s′) is picked by the current networks and its ℓ read from the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from gymnasium.spaces import Space

from isl.agents import isl
from isl.agents.base import (
    Agent,
    Metrics,
    Transition,
    allowed,
    greedy,
    hyper,
    mean_loss,
    sampled,
    taken,
)
from isl.agents.isl import Learner, Target
from isl.nn.step import Place, Reads, step
from isl.theory.exploration import uc_policy


@dataclass(frozen=True)
class Config(isl.Config):
    """ISL's hyper-parameters, and those of the authors' code."""

    ell_ensemble: int = hyper(
        2, "sets of ℓ networks; one, drawn at random, serves each time", at_least=1, basic=True
    )
    double_ell: bool = hyper(True, "pick argmax ℓ(s′) with the current nets, read the targets")


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """The authors' ISL for an observation space and a number of actions."""
    members = cfg.ell_ensemble if cfg.ell_ensemble > 1 else None
    values = isl.value_networks(cfg, observation_space, num_actions)
    ell = isl.ell_networks(cfg, observation_space, num_actions, members=members)

    losses = partial(isl.losses, cfg)

    def drawn(key: jax.Array) -> jax.Array | None:
        return None if members is None else jax.random.randint(key, (), 0, members)

    def beliefs(learner: Learner, obs: jax.Array, member: Any) -> tuple[jax.Array, jax.Array]:
        q = values.read(learner.values, obs)("q")
        return q, isl.ell_of(cfg, ell.read(learner.ell, obs, member))

    def act(
        learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        key_member, key_action = jax.random.split(key)
        q, own_ell = allowed(*beliefs(learner, obs, drawn(key_member)), mask)
        return sampled(uc_policy(q, own_ell, cfg.kappa), key_action, mask)

    def read(own: Reads, uncertainty: Reads, mask: jax.Array | None) -> isl.Beliefs:
        told = isl.read(cfg, own, uncertainty, mask)
        if not cfg.double_ell:
            return told
        picked = greedy(isl.ell_of(cfg, uncertainty.ahead), mask)
        return told._replace(ell_max_t=taken(told.ell_t, picked))

    def update(
        learner: Learner, frozen: Target, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        obs, next_obs = batch.obs, batch.next_obs
        places = [
            Place(values, learner.values, frozen.values, obs, next_obs),
            Place(ell, learner.ell, frozen.ell, obs, next_obs, drawn(key)),
        ]
        states, metrics = step(
            places, lambda v, l: mean_loss(losses, batch, read(v, l, batch.next_mask))
        )
        return Learner(*states), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        return isl.describe(cfg, *beliefs(learner, obs, None if members is None else 0))

    paper = isl.assemble(cfg, values, ell)
    return paper._replace(act=act, update=update, inspect=inspect)
