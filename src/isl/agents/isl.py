"""The Information Seeking Learner (Cassano & Sayed), Algorithm 1 and eq. (costs).

Three approximators: q̂ (values), ρ (an estimate of E δ) and ℓ (how wrong q̂ may be). The policy π*
and the value v* follow from q̂ and ℓ in closed form (isl.exploration). This is the paper with:
  * q_T = r + γ·discount·v*(s′): the paper's text leaves out γ, and the end of an episode;
  * q̂ descends along (1−η₂)δ + η₂ρ: the literal gradient of J_q halves the ρ part;
  * one δ for all three losses: targets ω̃, ν̃ for s′, the current ω for s, no gradient through it;
  * ρ in J_q and in ℓ_T is the current one: Algorithm 1 never updates a target for it.

Options that depart from it, all used by the preset `auto` (docs/your-environment.md says why):
`ell_gamma`, `ell_relative`, `greedy_values`, `lr_codes`, `ell_features`, and the two `scale_…`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Box, Discrete, Space
from jax.lax import stop_gradient

from isl.agents import config
from isl.agents.base import Agent, Metrics, Transition, no_episode, schedule_of, store_as_is
from isl.agents.config import hyper
from isl.agents.wrappers.normalise_observations import normalised
from isl.agents.wrappers.scale_rewards import in_units
from isl.envs.spaces import is_image
from isl.nn.approximators import Approximators, Frozen, Net, Trained, View
from isl.nn.random_features import for_linear, fourier, fourier_space
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value


@dataclass(frozen=True)
class Config(config.Config):
    """ISL's hyper-parameters; the defaults are the paper's for Deep Sea."""

    batch_size: int = hyper(256, "transitions per update", at_least=1)
    learning_starts: int = hyper(512, "uniformly random steps before the first update", at_least=1)
    steps: int = hyper(2, "environment steps T between updates", at_least=1)
    target_period: int = hyper(2, "updates between two copies to the targets", at_least=1)
    kappa: float = hyper(1.0, "weight κ of the information objective, in reward units", above=0)
    eta1: float = hyper(
        0.9, "η₁: share of |ρ| against |δ| in the target of ℓ", at_least=0, at_most=1
    )
    eta2: float = hyper(0.1, "η₂: share of ρ against δ in the step of q̂", at_least=0, at_most=1)
    lr_q: float = hyper(2e-4, "Adam's learning rate of q̂", above=0)
    lr_rho: float = hyper(1e-4, "Adam's learning rate of ρ", above=0)
    lr_ell: float = hyper(5e-5, "Adam's learning rate of ℓ", above=0)
    ell_min: float = hyper(1e-12, "smallest ℓ the network can give", above=0)
    ell_max: float = hyper(100.0, "largest ℓ the network can give", above=0)
    ell_bias: bool = hyper(False, "biases in the ℓ networks (docs/paper.md says what they break)")
    ell_ensemble: int = hyper(
        1, "ℓ approximators; one, drawn at random, serves each time", at_least=1
    )
    double_ell: bool = hyper(False, "pick argmax ℓ(s′) with the online nets, read the targets")
    sound: bool = hyper(False, "add γ(max q̂(s′) − v̂(s′)) to the target of ℓ: the bound that holds")
    ell_gamma: float = hyper(
        0.0,
        "discount of ℓ(s′) in the target of ℓ; 0: γ, the paper's",
        at_least=0,
        at_most=1,
        later=True,
    )
    scale_rewards: bool = hyper(
        False, "learn in units of the rewards seen; κ and the range of ℓ are then in it", later=True
    )
    scale_observations: bool = hyper(
        False, "vectors: running mean 0 and variance 1; tables and images as they are", later=True
    )
    ell_features: int = hyper(
        0,
        "vectors: random features the ℓ networks read; 0: the observation itself",
        at_least=0,
        later=True,
    )
    lr_codes: float = hyper(
        0.0,
        "tables, and ℓ on random features: no hidden layers, Adam at this rate; 0: the paper's",
        at_least=0,
        later=True,
    )
    ell_relative: bool = hyper(
        False, "J_ℓ of errors relative to ℓ, and at most 1: as fast at every size of ℓ", later=True
    )
    greedy_values: bool = hyper(
        False,
        "learn the values of argmax too: `exploit` takes it, and ℓ bounds their error",
        later=True,
    )


class Learner(NamedTuple):
    values: Trained  # q̂ (ω) and ρ (θ)
    ell: Trained  # ℓ (ν): one network per action; with an ensemble, one member at a time


class Target(NamedTuple):
    values: Frozen  # ω̃
    ell: Frozen  # ν̃


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """ISL for an observation space and a number of actions."""
    is_vector = isinstance(observation_space, Box) and not is_image(observation_space)
    features = cfg.ell_features if is_vector else 0
    is_table = isinstance(observation_space, Discrete)
    ensemble = cfg.ell_ensemble if cfg.ell_ensemble > 1 else None
    values = Approximators(
        observation_space,
        cfg.hidden,
        {"q": Net(num_actions, cfg.lr_q), "rho": Net(num_actions, cfg.lr_rho)}
        | ({"greedy": Net(num_actions, cfg.lr_q)} if cfg.greedy_values else {}),
        linear=cfg.lr_codes if is_table else 0.0,
    )
    # What is exploited, and what ℓ bounds the error of.
    judged = "greedy" if cfg.greedy_values else "q"
    uncertainty = Approximators(
        fourier_space(features) if features else observation_space,
        cfg.hidden,
        {"ell": Net(1, cfg.lr_ell, bias=cfg.ell_bias, copies=num_actions)},
        members=ensemble,
        linear=cfg.lr_codes if is_table or features else 0.0,
    )

    def ell_of(view: View, obs: jax.Array) -> jax.Array:
        """ℓ(s, ·): a separate network per action, sigmoid to the range."""
        seen = fourier(obs, features) if features else obs
        if features and cfg.lr_codes:
            seen = for_linear(seen)
        logits = jnp.moveaxis(uncertainty.apply("ell", view, seen)[..., 0], 0, -1)
        return cfg.ell_min + (cfg.ell_max - cfg.ell_min) * jax.nn.sigmoid(logits)

    def draw_member(key: jax.Array) -> jax.Array | None:
        return None if ensemble is None else jax.random.randint(key, (), 0, ensemble)

    def beliefs(
        learner: Learner, obs: jax.Array, member: jax.Array | int | None
    ) -> tuple[jax.Array, jax.Array]:
        """q̂(s, ·) and ℓ(s, ·)."""
        q = values.apply("q", values.online(learner.values, obs), obs)
        return q, ell_of(uncertainty.online(learner.ell, obs, member), obs)

    def init(key: jax.Array) -> Learner:
        key_values, key_ell = jax.random.split(key)
        return Learner(values.init(key_values), uncertainty.init(key_ell))

    def act(learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array) -> jax.Array:
        key_member, key_action = jax.random.split(key)
        q, ell = beliefs(learner, obs, draw_member(key_member))
        pi = uc_policy(q, ell, cfg.kappa)  # eq. (optimal_policy)
        threshold = jax.random.uniform(key_action)
        return jnp.sum(jnp.cumsum(pi)[:-1] <= threshold, dtype=jnp.int32)

    def exploit(learner: Learner, obs: jax.Array) -> jax.Array:
        q = values.apply(judged, values.online(learner.values, obs), obs)
        return jnp.argmax(q, axis=-1).astype(jnp.int32)

    def target(learner: Learner) -> Target:
        return Target(values.freeze(learner.values), uncertainty.freeze(learner.ell))

    def loss(
        online: tuple[View, View],
        frozen: tuple[View, View],
        batch: Transition,
        next_ell: View,
    ) -> tuple[jax.Array, Metrics]:
        """J_q + J_ρ + J_ℓ of eq. (costs); they share no parameter, so one gradient serves all."""
        chosen = jax.nn.one_hot(batch.action, num_actions)
        q_tm1 = jnp.sum(values.apply("q", online[0], batch.obs) * chosen, axis=-1)
        rho_tm1 = jnp.sum(values.apply("rho", online[0], batch.obs) * chosen, axis=-1)
        ell_tm1 = jnp.sum(ell_of(online[1], batch.obs) * chosen, axis=-1)

        q_t = values.apply("q", frozen[0], batch.next_obs)
        ell_t = ell_of(frozen[1], batch.next_obs)
        v_t = uc_value(q_t, ell_t, cfg.kappa)  # eq. (optimal_value_function)
        if cfg.double_ell:
            pick = jnp.argmax(ell_of(next_ell, batch.next_obs), axis=-1)
            ell_max_t = jnp.sum(ell_t * jax.nn.one_hot(pick, num_actions), axis=-1)
        else:
            ell_max_t = jnp.max(ell_t, axis=-1)
        if cfg.sound:  # v̂ ≤ max q̂, so ṽ is bounded by max ℓ plus what the KL term took away
            ell_max_t = ell_max_t + jnp.max(q_t, axis=-1) - v_t

        discount = cfg.gamma * batch.discount
        discount_ell = cfg.ell_gamma * batch.discount if cfg.ell_gamma else discount
        delta = stop_gradient(batch.reward + discount * v_t - q_tm1)  # δ = q_T − q̂
        rho = stop_gradient(rho_tm1)
        if cfg.greedy_values:  # q̂ is for π* alone; another q, with max for v*, takes its place
            loss_policy = -jnp.mean(delta * q_tm1)
            q_tm1 = jnp.sum(values.apply("greedy", online[0], batch.obs) * chosen, axis=-1)
            best_t = jnp.max(values.apply("greedy", frozen[0], batch.next_obs), axis=-1)
            delta = stop_gradient(batch.reward + discount * best_t - q_tm1)
        ell_target = stop_gradient(  # eq. (l_T)
            (1 - cfg.eta1) * jnp.abs(delta) + cfg.eta1 * jnp.abs(rho) + discount_ell * ell_max_t
        )
        loss_q = -jnp.mean(((1 - cfg.eta2) * delta + cfg.eta2 * rho) * q_tm1)  # J_q's direction
        if cfg.greedy_values:
            loss_q = loss_q + loss_policy
        loss_rho = 0.5 * jnp.mean((delta - rho_tm1) ** 2)  # J_ρ
        if cfg.ell_relative:
            scale = stop_gradient(ell_tm1)
            loss_ell = jnp.mean(optax.huber_loss(ell_tm1 / scale, ell_target / scale))
        else:
            loss_ell = 0.5 * jnp.mean((ell_target - ell_tm1) ** 2)  # J_ℓ
        metrics = {
            "td_error": jnp.mean(jnp.abs(delta)),
            "loss_rho": loss_rho,
            "loss_ell": loss_ell,
            "q": jnp.mean(q_tm1),
            "ell": jnp.mean(ell_tm1),
        }
        return loss_q + loss_rho + loss_ell, metrics

    def update(
        learner: Learner, frozen: Target, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        member = draw_member(key)
        at, ahead = batch.obs, batch.next_obs
        online = (
            values.to_train(learner.values, frozen.values, at),
            uncertainty.to_train(learner.ell, frozen.ell, at, member),
        )
        target = (
            values.frozen(learner.values, frozen.values, ahead),
            uncertainty.frozen(learner.ell, frozen.ell, ahead, member),
        )
        next_ell = uncertainty.online(learner.ell, ahead, member)  # read by `double_ell` alone
        grads, metrics = jax.grad(loss, has_aux=True)(online, target, batch, next_ell)
        return Learner(
            values.descend(learner.values, online[0], grads[0], at),
            uncertainty.descend(learner.ell, online[1], grads[1], at, member),
        ), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        q, ell = beliefs(learner, obs, None if ensemble is None else 0)
        found = {
            "q": q,
            "ell": ell,
            "policy": uc_policy(q, ell, cfg.kappa),
            "pareto": pareto_optimal(q, ell),
            "value": uc_value(q, ell, cfg.kappa),
        }
        if cfg.greedy_values:
            online = values.online(learner.values, obs)
            found["greedy"] = values.apply("greedy", online, obs)
        return found

    def rescale(learner: Learner, factor: jax.Array) -> Learner:
        return learner._replace(values=values.scaled(learner.values, factor))

    agent = Agent(
        schedule=schedule_of(cfg, random_start=True),
        init=init,
        begin_episode=no_episode,
        act=act,
        exploit=exploit,
        observe=store_as_is,
        update=update,
        target=target,
        inspect=inspect,
    )
    if cfg.scale_rewards:
        agent = in_units(agent, cfg.gamma, rescale)
    return normalised(agent, observation_space) if cfg.scale_observations and is_vector else agent
