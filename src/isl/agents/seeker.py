"""Seeker: ISL's policy and objective for environments that nobody tuned, with one setting.

π* and v* are the paper's (isl.agents.isl). What is learned differs (docs/your-environment.md):
  * Rewards are learned in units of the rewards seen, so that κ and the range of ℓ need no tuning
    (isl.agents.wrappers.scale_rewards). Vectors are normalised as they come.
  * A third network g learns the values of argmax: `exploit` takes it, and ℓ bounds its error. q̂
    serves π* alone.
  * ℓ has no hidden layers where what is learned of one observation must not change another: tables
    stay tables, vectors are read through random features. Images keep the paper's networks.
  * ℓ is discounted by `ell_gamma`. Errors in J_ℓ are relative to ℓ and at most 1, so that ℓ falls
    as fast when it is large as when it is small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Box, Discrete, Space
from jax.lax import stop_gradient

from isl.agents import isl
from isl.agents.base import (
    Agent,
    Metrics,
    Transition,
    allowed,
    among,
    greedy,
    hyper,
    mean_loss,
    sampled,
    taken,
)
from isl.agents.isl import Learner, Target
from isl.agents.wrappers.normalise_observations import normalised
from isl.agents.wrappers.scale_rewards import in_units
from isl.envs.spaces import is_image
from isl.nn.approximators import Approximators, Net
from isl.nn.random_features import for_linear, fourier, fourier_space
from isl.nn.step import Place, Reads, step
from isl.theory.exploration import uc_policy


@dataclass(frozen=True)
class Config(isl.Config):
    """Seeker's hyper-parameters; the defaults serve everywhere."""

    kappa: float = hyper(
        5.0, "weight κ of the information objective, in units of the rewards", above=0, basic=True
    )
    hidden: tuple[int, ...] = hyper((64, 64), "units of each hidden layer", at_least=1, basic=True)
    batch_size: int = hyper(64, "transitions per update", at_least=1)
    learning_starts: int = hyper(500, "uniformly random steps before the first update", at_least=1)
    steps: int = hyper(1, "environment steps T between updates", at_least=1, basic=True)
    target_period: int = hyper(100, "updates between two copies to the targets", at_least=1)
    lr_q: float = hyper(5e-4, "Adam's learning rate of q̂ and of g", above=0, basic=True)
    lr_ell: float = hyper(2e-4, "images: Adam's learning rate of ℓ", above=0)
    lr_codes: float = hyper(
        0.01, "Adam's rate of tables, and of ℓ on random features", above=0, basic=True
    )
    ell_min: float = hyper(1.0, "smallest ℓ, in units of the rewards", above=0)
    ell_max: float = hyper(1000.0, "largest ℓ, in units of the rewards", above=0)
    ell_gamma: float = hyper(0.95, "discount of ℓ(s′) in the target of ℓ", above=0, at_most=1)
    ell_features: int = hyper(128, "vectors: random features that ℓ is linear in", at_least=1)

    normalises: ClassVar[bool] = True

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        if isinstance(space, Discrete):
            names = ("hidden", "lr_q", "lr_rho", "lr_ell", "ell_bias", "ell_features")
            return dict.fromkeys(names, "tables have no layers, and their rate is lr_codes")
        if _is_vector(space):
            return dict.fromkeys(("lr_ell", "ell_bias"), "ℓ of a vector learns at lr_codes")
        return dict.fromkeys(("lr_codes", "ell_features"), "ℓ of this space learns at lr_ell")


class Beliefs(NamedTuple):
    """What the networks say of a transition."""

    paper: isl.Beliefs  # q̂, ρ and ℓ
    g_tm1: jax.Array  # g(s, ·)
    g_t: jax.Array  # g(s′, ·), frozen


class Losses(NamedTuple):
    g: jax.Array
    q: jax.Array
    rho: jax.Array
    ell: jax.Array


def losses(cfg: Config, now: Transition, told: Beliefs) -> tuple[Losses, Metrics]:
    """The losses of one transition, and what is worth logging. ρ and ℓ are of the errors of g."""
    paper = told.paper
    q, rho, ell = (taken(x, now.action) for x in (paper.q_tm1, paper.rho_tm1, paper.ell_tm1))
    g, current_rho, scale = taken(told.g_tm1, now.action), stop_gradient(rho), stop_gradient(ell)
    best_t = jnp.max(among(told.g_t, now.next_mask), axis=-1)
    delta = stop_gradient(now.reward + cfg.gamma * now.discount * best_t - g)
    ahead = cfg.ell_gamma * now.discount * paper.ell_max_t
    target = isl.ell_target(cfg, delta, current_rho, ahead)
    own = Losses(
        g=-isl.q_direction(cfg, delta, current_rho) * g,
        q=-isl.td_error(cfg, now, paper) * q,
        rho=0.5 * (delta - rho) ** 2,
        ell=optax.huber_loss(ell / scale, target / scale),
    )
    metrics = {"td_error": jnp.abs(delta), "loss_rho": own.rho, "loss_ell": own.ell}
    return own, metrics | {"q": g, "ell": ell}


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """Seeker for an observation space and a number of actions."""
    values = _value_networks(cfg, observation_space, num_actions)
    ell, encode = _ell_networks(cfg, observation_space, num_actions)
    agent = in_units(assemble(cfg, values, ell, encode), cfg.gamma, _rescaled(values))
    return normalised(agent, observation_space) if _is_vector(observation_space) else agent


def assemble(
    cfg: Config,
    values: Approximators,
    ell: Approximators,
    encode: Callable[[jax.Array], jax.Array],
) -> Agent:
    """The agent on given approximators, in the rewards' own units; ℓ reads `encode(obs)`."""

    def act(
        learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        _, key_action = jax.random.split(key)
        q, own_ell = allowed(*beliefs(learner, obs), mask)
        return sampled(uc_policy(q, own_ell, cfg.kappa), key_action, mask)

    def beliefs(learner: Learner, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        q = values.read(learner.values, obs)("q")
        return q, isl.ell_of(cfg, ell.read(learner.ell, encode(obs)))

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return greedy(values.read(learner.values, obs)("greedy"), mask)

    def update(
        learner: Learner, frozen: Target, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        def loss(own: Reads, uncertainty: Reads) -> tuple[jax.Array, Metrics]:
            paper = isl.read(cfg, own, uncertainty, batch.next_mask)
            told = Beliefs(paper, own.online("greedy"), own.target("greedy"))
            return mean_loss(partial(losses, cfg), batch, told)

        obs, next_obs = batch.obs, batch.next_obs
        places = [
            Place(values, learner.values, frozen.values, obs, next_obs),
            Place(ell, learner.ell, frozen.ell, encode(obs), encode(next_obs)),
        ]
        states, metrics = step(places, loss)
        return Learner(*states), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        told = isl.describe(cfg, *beliefs(learner, obs))
        return told | {"greedy": values.read(learner.values, obs)("greedy")}

    paper = isl.assemble(cfg, values, ell)
    return paper._replace(act=act, exploit=exploit, update=update, inspect=inspect)


def _is_vector(space: Space[Any]) -> bool:
    return isinstance(space, Box) and not is_image(space)


def _value_networks(cfg: Config, space: Space[Any], num_actions: int) -> Approximators:
    """q̂, ρ and g."""
    nets = {"q": cfg.lr_q, "rho": cfg.lr_rho, "greedy": cfg.lr_q}
    linear = cfg.lr_codes if isinstance(space, Discrete) else 0.0
    named = {name: Net(num_actions, rate) for name, rate in nets.items()}
    return Approximators(space, cfg.hidden, named, linear=linear)


def _ell_networks(
    cfg: Config, space: Space[Any], num_actions: int
) -> tuple[Approximators, Callable[[jax.Array], jax.Array]]:
    """ℓ, and what it reads of an observation."""
    if _is_vector(space):
        features = fourier_space(cfg.ell_features)
        ell = isl.ell_networks(cfg, features, num_actions, linear=cfg.lr_codes)
        axes = len(space.shape or ())

        def encode(obs: jax.Array) -> jax.Array:
            flat = obs.reshape(*obs.shape[: obs.ndim - axes], -1)
            return for_linear(fourier(flat, cfg.ell_features))

        return ell, encode
    linear = cfg.lr_codes if isinstance(space, Discrete) else 0.0
    return isl.ell_networks(cfg, space, num_actions, linear=linear), lambda obs: obs


def _rescaled(values: Approximators) -> Callable[[Learner, jax.Array], Learner]:
    """Keeps values what they were when the unit of the rewards changes."""
    return lambda learner, factor: learner._replace(values=values.scaled(learner.values, factor))
