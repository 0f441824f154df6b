"""SBEED (Dai et al. 2018), one step: the entropy-smoothed Bellman equation as a saddle point.

Three networks: V, π (softmax) and ρ. Soft consistency asks that V(s) equals the mean of

    δ = r + γ·V(s′) − κ·log π(a|s)

for every action. ρ(s, a) estimates E δ, so that −η·(δ−ρ)² takes out what is only noise of the
transition. It explores by the entropy of π alone: not deeply. This is the paper's version, with
full gradients (through V(s′) too, hence no targets) and γ·V(s′) = 0 at the end of an episode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl.agents import config
from isl.agents.base import Agent, Metrics, Transition, no_episode, schedule_of, store_as_is
from isl.agents.config import hyper
from isl.nn.approximators import Approximators, Net, Trained, View


@dataclass(frozen=True)
class Config(config.Config):
    """SBEED's hyper-parameters; the defaults are the paper's for Deep Sea."""

    batch_size: int = hyper(256, "transitions per update", at_least=1)
    target_period: int = hyper(1, "without effect: SBEED has no targets", at_least=1)
    kappa: float = hyper(0.5, "weight κ of the policy's entropy, in reward units", above=0)
    eta: float = hyper(
        0.0, "η: how much of the error's variance ρ takes out", at_least=0, at_most=1
    )
    lr_v: float = hyper(1e-2, "Adam's learning rate of V", above=0)
    lr_pi: float = hyper(1e-2, "Adam's learning rate of π", above=0)
    lr_rho: float = hyper(1e-2, "Adam's learning rate of ρ", above=0)


class Learner(NamedTuple):
    value: Trained  # V
    per_action: Trained  # the logits of π, and ρ


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """SBEED for an observation space and a number of actions."""
    value = Approximators(observation_space, cfg.hidden, {"v": Net(1, cfg.lr_v)})
    per_action = Approximators(
        observation_space,
        cfg.hidden,
        {"pi": Net(num_actions, cfg.lr_pi), "rho": Net(num_actions, cfg.lr_rho)},
    )

    def log_policy(view: View, obs: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(per_action.apply("pi", view, obs))

    def init(key: jax.Array) -> Learner:
        key_value, key_per_action = jax.random.split(key)
        return Learner(value.init(key_value), per_action.init(key_per_action))

    def act(learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array) -> jax.Array:
        log_pi = log_policy(per_action.online(learner.per_action, obs), obs)
        return jax.random.categorical(key, log_pi).astype(jnp.int32)

    def exploit(learner: Learner, obs: jax.Array) -> jax.Array:
        log_pi = log_policy(per_action.online(learner.per_action, obs), obs)
        return jnp.argmax(log_pi, axis=-1).astype(jnp.int32)

    def target(learner: Learner) -> tuple[()]:
        return ()

    def loss(
        views: tuple[View, View], both: jax.Array, batch: Transition
    ) -> tuple[jax.Array, Metrics]:
        """Both players' losses at once; `stop_gradient` gives each its own parameters to move."""
        chosen = jax.nn.one_hot(batch.action, num_actions)
        v_tm1, v_t = jnp.split(value.apply("v", views[0], both)[..., 0], 2)
        log_pi = jnp.sum(log_policy(views[1], batch.obs) * chosen, axis=-1)
        rho = jnp.sum(per_action.apply("rho", views[1], batch.obs) * chosen, axis=-1)

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
        views = (
            value.to_train(v, value.freeze(v), both),
            per_action.to_train(others, per_action.freeze(others), batch.obs),
        )
        grads, metrics = jax.grad(loss, has_aux=True)(views, both, batch)
        return Learner(
            value.descend(v, views[0], grads[0], both),
            per_action.descend(others, views[1], grads[1], batch.obs),
        ), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        view = per_action.online(learner.per_action, obs)
        log_pi = log_policy(view, obs)
        return {
            # ρ ≈ E δ, so r + γ·V(s′), what an action is worth, is ρ + κ·log π.
            "q": per_action.apply("rho", view, obs) + cfg.kappa * log_pi,
            "policy": jnp.exp(log_pi),
            "value": value.apply("v", value.online(learner.value, obs), obs)[..., 0],
        }

    return Agent(
        schedule=schedule_of(cfg),
        init=init,
        begin_episode=no_episode,
        act=act,
        exploit=exploit,
        observe=store_as_is,
        update=update,
        target=target,
        inspect=inspect,
    )
