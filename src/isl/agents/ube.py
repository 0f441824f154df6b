"""UBE: the Uncertainty Bellman Equation (O'Donoghue et al. 2018).

Q is learnt as by DQN. Its last hidden layer φ(s) is taken as the features of a linear regression
per action, whose covariance Σ_a gives the local uncertainty ν(s, a) = φᵀΣ_aφ; the network u carries
it along the transitions, u = ν + γ²·u(s′, a′). Actions are Thompson samples, drawn anew each step.
This is the paper's comparison, with:
  * a′ = argmax Q(s′, ·) in the target of u, where O'Donoghue et al. take the action that their
    behaviour picks next: a replayed transition does not hold it;
  * u ≥ 0 by a softplus; no gradient of u reaches φ;
  * Σ_a never reset, although φ moves on under it: that is the method as published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space
from jax.lax import stop_gradient
from jax.scipy.special import ndtr, ndtri

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, among, greedy, hyper, taken
from isl.nn.approximators import Approximators, Frozen, Net, Trained
from isl.nn.step import Outputs, Reads


@dataclass(frozen=True)
class Config(base.Config):
    """UBE's hyper-parameters; the defaults are the paper's for Deep Sea."""

    lr_q: float = hyper(5e-4, "Adam's learning rate of Q", above=0, basic=True)
    lr_u: float = hyper(1e-4, "Adam's learning rate of u", above=0)
    mu: float = hyper(10.0, "μ: Σ_a starts as μ·I", above=0)
    beta: float = hyper(
        2.0, "β: factor of the noise √u·ζ added to Q when acting", at_least=0, basic=True
    )


class Learner(NamedTuple):
    nets: Trained  # Q and u
    sigma: jax.Array  # Σ_a, [A, F, F]


def u_of(outputs: Outputs) -> jax.Array:
    """u ≥ 0."""
    return jax.nn.softplus(outputs("u"))


def loss(
    cfg: Config, reads: Reads, sigma: jax.Array, batch: Transition
) -> tuple[jax.Array, Metrics]:
    """The losses of Q and of u; they share no gradient."""
    now = (reads.online("q"), u_of(reads.online))
    q_tm1, u_tm1 = (taken(x, batch.action) for x in now)
    q_t = among(reads.target("q"), batch.next_mask)
    u_t = taken(u_of(reads.target), greedy(q_t))

    phi = stop_gradient(reads.online.features("q"))
    nu = taken(jnp.einsum("bf,afg,bg->ba", phi, sigma, phi), batch.action)  # φᵀΣ_aφ
    q_target = batch.reward + cfg.gamma * batch.discount * jnp.max(q_t, axis=-1)
    u_target = nu + cfg.gamma**2 * batch.discount * u_t  # the uncertainty Bellman equation
    loss_q = 0.5 * jnp.mean((q_target - q_tm1) ** 2)
    loss_u = 0.5 * jnp.mean((u_target - u_tm1) ** 2)
    metrics = {
        "td_error": jnp.mean(jnp.abs(q_target - q_tm1)),
        "loss_u": loss_u,
        "q": jnp.mean(q_tm1),
        "u": jnp.mean(u_tm1),
        "nu": jnp.mean(nu),
    }
    return loss_q + loss_u, metrics


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """UBE for an observation space and a number of actions."""
    nets = Approximators(
        observation_space,
        cfg.hidden,
        {"q": Net(num_actions, cfg.lr_q), "u": Net(num_actions, cfg.lr_u)},
    )

    def init(key: jax.Array) -> Learner:
        identity = jnp.eye(cfg.hidden[-1])
        return Learner(nets.init(key), jnp.stack([cfg.mu * identity] * num_actions))

    def act(
        learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        at = nets.read(learner.nets, obs)
        zeta = jax.random.normal(key, (num_actions,))
        return greedy(at("q") + cfg.beta * zeta * jnp.sqrt(u_of(at)), mask)  # a Thompson sample

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return greedy(nets.read(learner.nets, obs)("q"), mask)

    def observe(
        learner: Learner, transition: Transition, key: jax.Array
    ) -> tuple[Learner, Transition]:
        phi = nets.read(learner.nets, transition.obs).features("q")
        return learner._replace(
            sigma=learner.sigma.at[transition.action].set(
                sherman_morrison(learner.sigma[transition.action], phi)
            )
        ), transition

    def target(learner: Learner) -> Frozen:
        return nets.freeze(learner.nets)

    def update(
        learner: Learner, frozen: Frozen, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        own, metrics = nets.step(
            learner.nets,
            frozen,
            batch.obs,
            batch.next_obs,
            lambda reads: loss(cfg, reads, learner.sigma, batch),
        )
        return learner._replace(nets=own), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        at = nets.read(learner.nets, obs)
        q, ell = at("q"), cfg.beta * jnp.sqrt(u_of(at))
        return {
            "q": q,
            "ell": ell,
            "policy": thompson_policy(q, ell),
            "value": jnp.max(q, axis=-1),
        }

    return Agent(
        schedule=base.schedule_of(cfg),
        init=init,
        begin_episode=base.no_episode,
        act=act,
        exploit=exploit,
        observe=observe,
        update=update,
        target=target,
        inspect=inspect,
    )


def sherman_morrison(sigma: jax.Array, phi: jax.Array) -> jax.Array:
    """(Σ⁻¹ + φφᵀ)⁻¹ from a symmetric Σ [F, F] and φ [F], without an inversion."""
    direction = sigma @ phi
    return sigma - jnp.outer(direction, direction) / (1.0 + phi @ direction)


def thompson_policy(mean: jax.Array, std: jax.Array, points: int = 257) -> jax.Array:
    """P(action = argmax of independent normals) [A], by the midpoints of `points` equal slices."""
    zeta = ndtri((jnp.arange(points) + 0.5) / points)
    sample = mean[:, None] + std[:, None] * zeta[None]  # [A, points] of the action that wins
    std = jnp.maximum(std, 1e-12)
    below = ndtr((sample[:, :, None] - mean[None, None]) / std[None, None])  # P(other < sample)
    itself = jnp.eye(mean.shape[0], dtype=bool)[:, None]
    wins = jnp.mean(jnp.prod(jnp.where(itself, 1.0, below), axis=-1), axis=-1)
    return wins / jnp.sum(wins)
