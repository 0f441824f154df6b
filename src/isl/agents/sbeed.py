"""SBEED (Dai et al. 2018), one step: the entropy-smoothed Bellman equation as a saddle point.

Three networks: V, π (softmax) and ρ. Soft consistency asks that V(s) equals the mean of

    δ = r + γ·V(s′) − κ·log π(a|s)

for every action. ρ(s, a) estimates E δ, so that −η·(δ−ρ)² takes out what is only noise of the
transition. It explores by the entropy of π alone: not deeply. This is the paper's version, with
full gradients (through V(s′) too, hence no targets) and γ·V(s′) = 0 at the end of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, among, greedy, hyper, taken
from isl.nn.approximators import Approximators, Net, Trained
from isl.nn.step import Outputs, Place, Reads, step


@dataclass(frozen=True)
class Config(base.Config):
    """SBEED's hyper-parameters; the defaults are the paper's for Deep Sea."""

    batch_size: int = hyper(256, "transitions per update", at_least=1)
    target_period: int = hyper(1, "not used: SBEED has no targets", at_least=1)
    kappa: float = hyper(
        0.5, "weight κ of the policy's entropy, in reward units", above=0, basic=True
    )
    eta: float = hyper(
        0.0, "η: how much of the error's variance ρ takes out", at_least=0, at_most=1
    )
    lr_v: float = hyper(1e-2, "Adam's learning rate of V", above=0, basic=True)
    lr_pi: float = hyper(1e-2, "Adam's learning rate of π", above=0, basic=True)
    lr_rho: float = hyper(1e-2, "Adam's learning rate of ρ", above=0)

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        return {"target_period": "SBEED has no targets"}


class Learner(NamedTuple):
    value: Trained  # V
    per_action: Trained  # the logits of π, and ρ


def log_policy(outputs: Outputs, mask: jax.Array | None = None) -> jax.Array:
    """log π of the actions within the mask; outside it 0, which no loss reads."""
    if mask is None:
        return jax.nn.log_softmax(outputs("pi"))
    return jnp.where(mask, jax.nn.log_softmax(among(outputs("pi"), mask)), 0.0)


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """SBEED for an observation space and a number of actions."""
    value = Approximators(observation_space, cfg.hidden, {"v": Net(1, cfg.lr_v)})
    per_action = Approximators(
        observation_space,
        cfg.hidden,
        {"pi": Net(num_actions, cfg.lr_pi), "rho": Net(num_actions, cfg.lr_rho)},
    )

    def init(key: jax.Array) -> Learner:
        key_value, key_per_action = jax.random.split(key)
        return Learner(value.init(key_value), per_action.init(key_per_action))

    def act(
        learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        log_pi = log_policy(per_action.read(learner.per_action, obs))
        return jax.random.categorical(key, among(log_pi, mask)).astype(jnp.int32)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return greedy(log_policy(per_action.read(learner.per_action, obs)), mask)

    def target(learner: Learner) -> tuple[()]:
        return ()

    def loss(values: Reads, others: Reads, batch: Transition) -> tuple[jax.Array, Metrics]:
        """Both players' losses at once; `stop_gradient` gives each its own parameters to move."""
        v_tm1, v_t = jnp.split(values.online("v")[..., 0], 2)
        log_pi = taken(log_policy(others.online, batch.mask), batch.action)
        rho = taken(others.online("rho"), batch.action)

        delta = batch.reward + cfg.gamma * batch.discount * v_t - cfg.kappa * log_pi
        consistency = delta - v_tm1
        loss_v_pi = jnp.mean(consistency**2 - cfg.eta * (delta - stop_gradient(rho)) ** 2)
        loss_rho = jnp.mean((stop_gradient(delta) - rho) ** 2)
        metrics = {
            "td_error": jnp.mean(jnp.abs(consistency)),
            "loss_rho": loss_rho,
            "value": jnp.mean(v_tm1),
            "log_pi": jnp.mean(log_pi),
        }
        return loss_v_pi + loss_rho, metrics

    def update(
        learner: Learner, frozen: tuple[()], batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        both = jnp.concatenate([batch.obs, batch.next_obs])  # V learns at s and at s′
        v, others = learner
        places = [
            Place(value, v, value.freeze(v), both, both),
            Place(per_action, others, per_action.freeze(others), batch.obs, batch.obs),
        ]
        states, metrics = step(places, lambda v, others: loss(v, others, batch))
        return Learner(*states), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        at = per_action.read(learner.per_action, obs)
        log_pi = log_policy(at)
        return {
            # ρ ≈ E δ, so r + γ·V(s′), what an action is worth, is ρ + κ·log π.
            "q": at("rho") + cfg.kappa * log_pi,
            "policy": jnp.exp(log_pi),
            "value": value.read(learner.value, obs)("v")[..., 0],
        }

    return Agent(
        schedule=base.schedule_of(cfg),
        init=init,
        begin_episode=base.no_episode,
        act=act,
        exploit=exploit,
        observe=base.store_as_is,
        update=update,
        target=target,
        inspect=inspect,
    )
