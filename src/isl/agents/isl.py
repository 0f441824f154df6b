"""The Information Seeking Learner (Cassano & Sayed), Algorithm 1 and eq. (18).

Three approximators: q̂ (values), ρ (an estimate of E δ) and ℓ (how wrong q̂ may be). The policy π*
and the value v* follow from q̂ and ℓ in closed form (isl.exploration). This is the paper with:
  * q_T = r + γ·discount·v*(s′): eq. (18d) leaves out γ, and the end of an episode;
  * q̂ descends along (1−η₂)δ + η₂ρ: the literal gradient of eq. (18b) halves the ρ part;
  * one δ for all three losses: targets ω̃, ν̃ for s′, the current ω for s, no gradient through it;
  * ρ in J_q and in ℓ_T is the current one: Algorithm 1 never updates a target for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, hyper, taken
from isl.agents.shapes import assert_shapes
from isl.nn.approximators import Approximators, Frozen, Net, Trained
from isl.nn.step import Outputs, Place, Reads, step
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value


@dataclass(frozen=True)
class Config(base.Config):
    """ISL's hyper-parameters; the defaults are the paper's for Deep Sea."""

    kappa: float = hyper(1.0, "κ: weight of information, in reward units", above=0, basic=True)
    batch_size: int = hyper(256, "transitions per update", at_least=1)
    learning_starts: int = hyper(512, "uniformly random steps before the first update", at_least=1)
    steps: int = hyper(2, "environment steps T between updates", at_least=1, basic=True)
    target_period: int = hyper(2, "updates between two copies to the targets", at_least=1)
    eta1: float = hyper(0.9, "η₁: share of |ρ| against |δ| in ℓ's target", at_least=0, at_most=1)
    eta2: float = hyper(0.1, "η₂: share of ρ against δ in the step of q̂", at_least=0, at_most=1)
    lr_q: float = hyper(2e-4, "Adam's learning rate of q̂", above=0, basic=True)
    lr_rho: float = hyper(1e-4, "Adam's learning rate of ρ", above=0)
    lr_ell: float = hyper(5e-5, "Adam's learning rate of ℓ", above=0, basic=True)
    ell_min: float = hyper(1e-12, "smallest ℓ the network can give", above=0)
    ell_max: float = hyper(100.0, "largest ℓ the network can give", above=0)
    ell_bias: bool = hyper(False, "biases in the ℓ networks (docs/paper.md says what they break)")


class Learner(NamedTuple):
    values: Trained  # q̂ (ω) and ρ (θ)
    ell: Trained  # ℓ (ν): one network per action


class Target(NamedTuple):
    values: Frozen  # ω̃
    ell: Frozen  # ν̃


class Beliefs(NamedTuple):
    """What the networks say of a transition, each of all actions [A]."""

    q_tm1: jax.Array  # q̂(s, ·; ω)
    rho_tm1: jax.Array  # ρ(s, ·; θ)
    ell_tm1: jax.Array  # ℓ(s, ·; ν)
    q_t: jax.Array  # q̂(s′, ·; ω̃)
    ell_t: jax.Array  # ℓ(s′, ·; ν̃)
    ell_max_t: jax.Array  # ℓ_max(s′; ν̃), a scalar


def td_error(cfg: Config, now: Transition, told: Beliefs) -> jax.Array:
    """δ = q_T − q̂ of one transition."""
    v_t = uc_value(told.q_t, told.ell_t, cfg.kappa)  # eq. (11)
    q_target = now.reward + cfg.gamma * now.discount * v_t  # eq. (18d)
    return stop_gradient(q_target - taken(told.q_tm1, now.action))  # eq. (17d)


def ell_target(cfg: Config, delta: jax.Array, rho: jax.Array, ahead: jax.Array) -> jax.Array:
    """ℓ_T of one transition; `ahead` is γ·ℓ_max(s′), 0 at the end of an episode."""
    error = (1 - cfg.eta1) * jnp.abs(delta) + cfg.eta1 * jnp.abs(rho)
    return stop_gradient(error + ahead)  # eq. (18e)


def q_direction(cfg: Config, delta: jax.Array, rho: jax.Array) -> jax.Array:
    """Where q̂ of one transition is moved: what eq. (18b) means."""
    return (1 - cfg.eta2) * delta + cfg.eta2 * rho


class Losses(NamedTuple):
    q: jax.Array
    rho: jax.Array
    ell: jax.Array


def losses(cfg: Config, now: Transition, told: Beliefs) -> tuple[Losses, Metrics]:
    """J_q, J_ρ and J_ℓ of one transition, and what is worth logging."""
    assert_shapes(told[:5], [told.ell_max_t, now.reward, now.discount])
    q, rho, ell = (taken(x, now.action) for x in (told.q_tm1, told.rho_tm1, told.ell_tm1))
    delta, current_rho = td_error(cfg, now, told), stop_gradient(rho)
    target = ell_target(cfg, delta, current_rho, cfg.gamma * now.discount * told.ell_max_t)
    own = Losses(
        q=-q_direction(cfg, delta, current_rho) * q,  # eq. (18b)
        rho=0.5 * (delta - rho) ** 2,  # eq. (18a)
        ell=0.5 * (target - ell) ** 2,  # eq. (18c)
    )
    metrics = {"td_error": jnp.abs(delta), "loss_rho": own.rho, "loss_ell": own.ell}
    return own, metrics | {"q": q, "ell": ell}


def value_networks(cfg: Config, space: Space[Any], num_actions: int, **more: Any) -> Approximators:
    """q̂ and ρ."""
    nets = {"q": Net(num_actions, cfg.lr_q), "rho": Net(num_actions, cfg.lr_rho)}
    return Approximators(space, cfg.hidden, nets, **more)


def ell_networks(cfg: Config, space: Space[Any], num_actions: int, **more: Any) -> Approximators:
    """ℓ: a separate network with one output per action."""
    net = Net(1, cfg.lr_ell, bias=cfg.ell_bias, copies=num_actions)
    return Approximators(space, cfg.hidden, {"ell": net}, **more)


def ell_of(cfg: Config, outputs: Outputs) -> jax.Array:
    """ℓ(s, ·) [..., A]: logits by a sigmoid to the range from ell_min to ell_max."""
    logits = jnp.moveaxis(outputs("ell")[..., 0], 0, -1)
    return cfg.ell_min + (cfg.ell_max - cfg.ell_min) * jax.nn.sigmoid(logits)


def read(cfg: Config, values: Reads, ell: Reads, next_mask: jax.Array | None) -> Beliefs:
    """What the losses need, from the networks at a batch."""
    now, ell_tm1 = values.online, ell_of(cfg, ell.online)
    q_t, ell_t = base.allowed(values.target("q"), ell_of(cfg, ell.target), next_mask)
    return Beliefs(now("q"), now("rho"), ell_tm1, q_t, ell_t, jnp.max(ell_t, axis=-1))


def describe(cfg: Config, q: jax.Array, ell: jax.Array) -> dict[str, jax.Array]:
    """What `inspect` tells of q̂ and ℓ."""
    policy, value = uc_policy(q, ell, cfg.kappa), uc_value(q, ell, cfg.kappa)
    return {"q": q, "ell": ell, "policy": policy, "pareto": pareto_optimal(q, ell), "value": value}


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """ISL for an observation space and a number of actions."""
    values = value_networks(cfg, observation_space, num_actions)
    return assemble(cfg, values, ell_networks(cfg, observation_space, num_actions))


def assemble(cfg: Config, values: Approximators, ell: Approximators) -> Agent:
    """Algorithm 1 on given approximators."""
    own_losses = partial(losses, cfg)

    def init(key: jax.Array) -> Learner:
        key_values, key_ell = jax.random.split(key)
        return Learner(values.init(key_values), ell.init(key_ell))

    def beliefs(learner: Learner, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """q̂(s, ·) and ℓ(s, ·)."""
        q = values.read(learner.values, obs)("q")
        return q, ell_of(cfg, ell.read(learner.ell, obs))

    def act(
        learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        _, key_action = jax.random.split(key)  # recorded runs drew an ensemble member by the first
        q, own_ell = base.allowed(*beliefs(learner, obs), mask)
        return base.sampled(uc_policy(q, own_ell, cfg.kappa), key_action, mask)  # eq. (10)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return base.greedy(values.read(learner.values, obs)("q"), mask)

    def target(learner: Learner) -> Target:
        return Target(values.freeze(learner.values), ell.freeze(learner.ell))

    def update(
        learner: Learner, frozen: Target, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        places = [
            Place(values, learner.values, frozen.values, batch.obs, batch.next_obs),
            Place(ell, learner.ell, frozen.ell, batch.obs, batch.next_obs),
        ]
        states, metrics = step(
            places, lambda v, l: base.mean_loss(own_losses, batch, read(cfg, v, l, batch.next_mask))
        )
        return Learner(*states), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        return describe(cfg, *beliefs(learner, obs))

    return Agent(
        schedule=base.schedule_of(cfg, random_start=True),
        init=init,
        begin_episode=base.no_episode,
        act=act,
        exploit=exploit,
        observe=base.store_as_is,
        update=update,
        target=target,
        inspect=inspect,
    )
