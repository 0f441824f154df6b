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
import optax
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl import config
from isl.agent import (
    Agent,
    Metrics,
    Transition,
    descend,
    no_episode,
    schedule_of,
    store_as_is,
)
from isl.config import hyper
from isl.networks import Network, dummy_observation


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


class Params(NamedTuple):
    v: Any
    pi: Any
    rho: Any


class Learner(NamedTuple):
    params: Params
    opt: Params  # the optimiser state of each


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """SBEED for an observation space and a number of actions."""
    value = Network(observation_space, cfg.hidden, 1)
    per_action = Network(observation_space, cfg.hidden, num_actions)  # logits of π, and ρ
    optimisers = Params(*(optax.adam(rate) for rate in (cfg.lr_v, cfg.lr_pi, cfg.lr_rho)))

    def log_policy(params: Any, obs: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(per_action.apply(params, obs))

    def init(key: jax.Array) -> Learner:
        obs = dummy_observation(observation_space)
        keys = jax.random.split(key, 3)
        networks = (value, per_action, per_action)
        params = Params(*(net.init(k, obs) for net, k in zip(networks, keys, strict=True)))
        opt = Params(*(o.init(p) for o, p in zip(optimisers, params, strict=True)))
        return Learner(params, opt)

    def act(learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array) -> jax.Array:
        return jax.random.categorical(key, log_policy(learner.params.pi, obs)).astype(jnp.int32)

    def exploit(learner: Learner, obs: jax.Array) -> jax.Array:
        return jnp.argmax(log_policy(learner.params.pi, obs), axis=-1).astype(jnp.int32)

    def target(learner: Learner) -> tuple[()]:
        return ()

    def loss(params: Params, batch: Transition) -> tuple[jax.Array, Metrics]:
        """Both players' losses at once; `stop_gradient` gives each its own parameters to move."""
        chosen = jax.nn.one_hot(batch.action, num_actions)
        v_tm1 = value.apply(params.v, batch.obs)[..., 0]
        v_t = value.apply(params.v, batch.next_obs)[..., 0]
        log_pi = jnp.sum(log_policy(params.pi, batch.obs) * chosen, axis=-1)
        rho = jnp.sum(per_action.apply(params.rho, batch.obs) * chosen, axis=-1)

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
        grads, metrics = jax.grad(loss, has_aux=True)(learner.params, batch)
        return Learner(*descend(optimisers, learner.params, learner.opt, grads)), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        log_pi = log_policy(learner.params.pi, obs)
        return {
            # ρ ≈ E δ, so r + γ·V(s′), what an action is worth, is ρ + κ·log π.
            "q": per_action.apply(learner.params.rho, obs) + cfg.kappa * log_pi,
            "policy": jnp.exp(log_pi),
            "value": value.apply(learner.params.v, obs)[..., 0],
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
