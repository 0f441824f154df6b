"""BSP: bootstrapped DQN with randomised prior functions (Osband et al. 2016, 2018).

K networks, each plus a fixed random prior of its own, learn from their own random half of the data.
Where there is data they agree; elsewhere the priors keep them apart. One member, drawn per episode,
acts greedily: its optimism lasts a whole episode, which is what makes the exploration deep.
This is bsuite's agent with:
  * all members in one batched network, where bsuite steps through them;
  * the live member acting, where bsuite's acts by a snapshot of it taken when it was drawn;
  * targets that start as copies of the members, not as other random networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete, Space
from jax.lax import stop_gradient

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, among, greedy, hyper
from isl.agents.dqn import epsilon_greedy
from isl.nn.approximators import Approximators, Frozen, Net, Trained
from isl.nn.networks import Network, dummy_observation
from isl.nn.random_indices import uniform_indices
from isl.nn.step import Reads


@dataclass(frozen=True)
class Config(base.Config):
    """BSP's hyper-parameters; the defaults are the paper's for Deep Sea."""

    target_period: int = hyper(5, "updates between two copies to the targets", at_least=1)
    lr: float = hyper(5e-4, "Adam's learning rate", above=0, basic=True)
    ensemble: int = hyper(20, "members K", at_least=1, basic=True)
    prior_scale: float = hyper(3.0, "factor of the fixed random prior", at_least=0, basic=True)
    mask_probability: float = hyper(
        0.5, "probability that a member learns from a transition", above=0, at_most=1
    )
    epsilon: float = hyper(0.0, "share of uniformly random actions", at_least=0, at_most=1)


class Learner(NamedTuple):
    q: Trained  # f_k of all members
    prior: Any  # p_k, drawn once, never trained: parameters [K, …]; on Discrete values [n, K, A]


class MaskedTransition(NamedTuple):
    """A transition, and what of it does not change: the priors are evaluated once, when stored."""

    transition: Transition
    mask: jax.Array  # bool [K]: which members learn from it
    prior_tm1: jax.Array  # [K]: prior_scale · p_k(s, a)
    prior_t: jax.Array  # [K, A]: prior_scale · p_k(s′, ·)


def loss(cfg: Config, reads: Reads, batch: MaskedTransition) -> tuple[jax.Array, Metrics]:
    """Sum of the members' losses; they share no parameter, so one gradient serves all."""
    now, mask, prior_tm1, prior_t = batch
    f_tm1 = reads.online("q")  # [K, B, A]
    chosen = jax.nn.one_hot(now.action, f_tm1.shape[-1])
    f_tm1 = jnp.sum(f_tm1 * chosen[None], axis=-1)  # [K, B]
    q_tm1 = f_tm1 + prior_tm1.T
    allowed = None if now.next_mask is None else now.next_mask[None]
    q_t = among(stop_gradient(reads.target("q")) + jnp.moveaxis(prior_t, 1, 0), allowed)
    v_t = jnp.max(q_t, axis=-1)
    delta = now.reward[None] + cfg.gamma * now.discount[None] * v_t - q_tm1
    member_losses = 0.5 * jnp.mean(mask.T * delta**2, axis=-1)
    metrics = {
        "td_error": jnp.mean(jnp.abs(delta)),
        "q": jnp.mean(q_tm1),
        "spread": jnp.mean(jnp.std(q_tm1, axis=0)),
    }
    return jnp.sum(member_losses), metrics


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """BSP for an observation space and a number of actions."""
    nets = Approximators(
        observation_space, cfg.hidden, {"q": Net(num_actions, cfg.lr, copies=cfg.ensemble)}
    )
    prior_network = Network(observation_space, cfg.hidden, num_actions)
    priors = jax.vmap(prior_network.apply, in_axes=(0, None))
    rows = int(observation_space.n) if isinstance(observation_space, Discrete) else 0

    def prior_of(learner: Learner, obs: jax.Array) -> jax.Array:
        """prior_scale · p_k(s, ·) of all members at one observation: [K, A]."""
        prior: jax.Array = learner.prior[obs] if rows else priors(learner.prior, obs)
        return cfg.prior_scale * prior

    def q_of(learner: Learner, obs: jax.Array) -> jax.Array:
        """q_k = f_k + prior_scale · p_k of all members at one observation: [K, A]."""
        return nets.read(learner.q, obs)("q") + prior_of(learner, obs)

    def init(key: jax.Array) -> Learner:
        key_q, key_prior = jax.random.split(key)
        prior_keys = jax.random.split(key_prior, cfg.ensemble)
        obs = dummy_observation(observation_space)
        prior = jax.vmap(prior_network.init, in_axes=(0, None))(prior_keys, obs)
        if rows:  # it never changes: one pass over all observations now saves every later one
            prior = jnp.moveaxis(priors(prior, jnp.arange(rows)), 0, 1)
        return Learner(nets.init(key_q), prior)

    def begin_episode(learner: Learner, key: jax.Array) -> jax.Array:
        """The member that acts until the episode ends."""
        return uniform_indices(key, jnp.uint32(cfg.ensemble), ())

    def act(
        learner: Learner, member: jax.Array, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        # All members are evaluated: cheaper than a copy of one member's parameters.
        return epsilon_greedy(q_of(learner, obs)[member], cfg.epsilon, key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return greedy(jnp.mean(q_of(learner, obs), axis=0), mask)

    def observe(
        learner: Learner, transition: Transition, key: jax.Array
    ) -> tuple[Learner, MaskedTransition]:
        mask = jax.random.bernoulli(key, cfg.mask_probability, (cfg.ensemble,))
        prior_tm1 = prior_of(learner, transition.obs)[:, transition.action]
        prior_t = prior_of(learner, transition.next_obs)
        return learner, MaskedTransition(transition, mask, prior_tm1, prior_t)

    def target(learner: Learner) -> Frozen:
        return nets.freeze(learner.q)

    def update(
        learner: Learner, frozen: Frozen, batch: MaskedTransition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        at, ahead = batch.transition.obs, batch.transition.next_obs
        q, metrics = nets.step(learner.q, frozen, at, ahead, lambda reads: loss(cfg, reads, batch))
        return learner._replace(q=q), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        q = q_of(learner, obs)
        votes = jax.nn.one_hot(greedy(q), num_actions)
        mean = jnp.mean(q, axis=0)
        return {
            "q": mean,
            "ell": jnp.std(q, axis=0),
            "policy": (1 - cfg.epsilon) * jnp.mean(votes, axis=0) + cfg.epsilon / num_actions,
            "value": jnp.max(mean, axis=-1),
        }

    return Agent(
        schedule=base.schedule_of(cfg),
        init=init,
        begin_episode=begin_episode,
        act=act,
        exploit=exploit,
        observe=observe,
        update=update,
        target=target,
        inspect=inspect,
    )
