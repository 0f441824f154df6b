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
import optax
from gymnasium.spaces import Discrete, Space

from isl import config, rng
from isl.agent import Agent, Metrics, Transition, schedule_of
from isl.agents.dqn import epsilon_greedy
from isl.config import hyper
from isl.networks import Network, dummy_observation


@dataclass(frozen=True)
class Config(config.Config):
    """BSP's hyper-parameters; the defaults are the paper's for Deep Sea."""

    target_period: int = hyper(5, "updates between two copies to the targets", at_least=1)
    lr: float = hyper(5e-4, "Adam's learning rate", above=0)
    ensemble: int = hyper(20, "members K", at_least=1)
    prior_scale: float = hyper(3.0, "factor of the fixed random prior", at_least=0)
    mask_probability: float = hyper(
        0.5, "probability that a member learns from a transition", above=0, at_most=1
    )
    epsilon: float = hyper(0.0, "share of uniformly random actions", at_least=0, at_most=1)


class Learner(NamedTuple):
    """Every leaf has a leading axis [K]."""

    params: Any
    prior: Any  # drawn once, never trained: parameters, or on Discrete a table of values [K, n, A]
    opt: Any


class MaskedTransition(NamedTuple):
    transition: Transition
    mask: jax.Array  # bool [K]: which members learn from it


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """BSP for an observation space and a number of actions."""
    network = Network(observation_space, cfg.hidden, num_actions)
    optimiser = optax.adam(cfg.lr)

    rows = int(observation_space.n) if isinstance(observation_space, Discrete) else None
    apply_all = jax.vmap(network.apply, in_axes=(0, None))  # [K, ..., A]

    def q_of(params: Any, prior: Any, obs: jax.Array) -> jax.Array:
        """q_k = f_k + prior_scale · p_k of all members: [K, ..., A]."""
        fixed = apply_all(prior, obs) if rows is None else prior[:, obs]
        return jnp.asarray(apply_all(params, obs) + cfg.prior_scale * fixed)

    def init(key: jax.Array) -> Learner:
        obs = dummy_observation(observation_space)
        keys = jax.random.split(key, (2, cfg.ensemble))
        params, prior = (jax.vmap(lambda k: network.init(k, obs))(k) for k in keys)
        if (
            rows is not None
        ):  # it never changes: one pass over all observations now saves every later one
            prior = apply_all(prior, jnp.arange(rows))
        return Learner(params, prior, jax.vmap(optimiser.init)(params))

    def begin_episode(learner: Learner, key: jax.Array) -> jax.Array:
        """The member that acts until the episode ends."""
        return rng.uniform_indices(key, jnp.uint32(cfg.ensemble), ())

    def act(learner: Learner, member: jax.Array, obs: jax.Array, key: jax.Array) -> jax.Array:
        # All members are evaluated: cheaper than a copy of one member's parameters.
        q = q_of(learner.params, learner.prior, obs)[member]
        return epsilon_greedy(q, cfg.epsilon, key)

    def exploit(learner: Learner, obs: jax.Array) -> jax.Array:
        q = jnp.mean(q_of(learner.params, learner.prior, obs), axis=0)
        return jnp.argmax(q, axis=-1).astype(jnp.int32)

    def observe(
        learner: Learner, transition: Transition, key: jax.Array
    ) -> tuple[Learner, MaskedTransition]:
        mask = jax.random.bernoulli(key, cfg.mask_probability, (cfg.ensemble,))
        return learner, MaskedTransition(transition, mask)

    def target(learner: Learner) -> Any:
        return learner.params

    def loss(
        params: Any, prior: Any, frozen: Any, batch: MaskedTransition
    ) -> tuple[jax.Array, Metrics]:
        """Sum of the members' losses; they share no parameter, so one gradient serves all."""
        (obs, action, reward, discount, next_obs), mask = batch
        chosen = jax.nn.one_hot(action, num_actions)
        q_tm1 = jnp.sum(q_of(params, prior, obs) * chosen[None], axis=-1)  # [K, B]
        v_t = jnp.max(q_of(frozen, prior, next_obs), axis=-1)
        delta = reward[None] + cfg.gamma * discount[None] * v_t - q_tm1
        member_losses = 0.5 * jnp.mean(mask.T * delta**2, axis=-1)
        metrics = {
            "td_error": jnp.mean(jnp.abs(delta)),
            "q": jnp.mean(q_tm1),
            "spread": jnp.mean(jnp.std(q_tm1, axis=0)),
        }
        return jnp.sum(member_losses), metrics

    def update(
        learner: Learner, frozen: Any, batch: MaskedTransition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        grads, metrics = jax.grad(loss, has_aux=True)(learner.params, learner.prior, frozen, batch)
        updates, opt = jax.vmap(optimiser.update)(grads, learner.opt)
        return learner._replace(
            params=optax.apply_updates(learner.params, updates), opt=opt
        ), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        q = q_of(learner.params, learner.prior, obs)
        votes = jax.nn.one_hot(jnp.argmax(q, axis=-1), num_actions)
        mean = jnp.mean(q, axis=0)
        return {
            "q": mean,
            "ell": jnp.std(q, axis=0),
            "policy": (1 - cfg.epsilon) * jnp.mean(votes, axis=0) + cfg.epsilon / num_actions,
            "value": jnp.max(mean, axis=-1),
        }

    return Agent(
        schedule=schedule_of(cfg),
        init=init,
        begin_episode=begin_episode,
        act=act,
        exploit=exploit,
        observe=observe,
        update=update,
        target=target,
        inspect=inspect,
    )
