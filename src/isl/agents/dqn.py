"""DQN (Mnih et al. 2015): the control that shows what no deep exploration looks like.

This is the BSP agent (isl.agents.boot_dqn) without its ensemble and priors, with:
  * ε-greedy actions, ε falling linearly over the first `epsilon_steps` environment steps;
  * squared errors and Adam, as for all agents here, where Mnih et al. clip errors and use RMSProp;
  * double Q-learning (van Hasselt et al. 2016) on request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Discrete, Space
from jax.lax import stop_gradient

from isl.agents import config
from isl.agents.base import Agent, Metrics, Transition, no_episode, schedule_of
from isl.agents.config import hyper
from isl.nn.approximators import Approximators, Frozen, Net, Trained, View


@dataclass(frozen=True)
class Config(config.Config):
    """DQN's hyper-parameters; the defaults are BSP's for Deep Sea."""

    target_period: int = hyper(5, "updates between two copies to the target", at_least=1)
    lr: float = hyper(5e-4, "Adam's learning rate", above=0)
    epsilon_start: float = hyper(1.0, "share of random actions at first", at_least=0, at_most=1)
    epsilon_end: float = hyper(0.05, "share of random actions at last", at_least=0, at_most=1)
    epsilon_steps: int = hyper(10_000, "environment steps from the first ε to the last", at_least=1)
    double_q: bool = hyper(False, "pick argmax q(s′) with the online net, read the target net")
    lr_codes: float = hyper(
        0.0,
        "on a table: no hidden layers, and Adam at this rate; 0: the same networks as elsewhere",
        at_least=0,
        later=True,
    )


class Learner(NamedTuple):
    q: Trained
    steps: jax.Array  # environment steps seen: they drive ε


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """DQN for an observation space and a number of actions."""
    nets = Approximators(
        observation_space,
        cfg.hidden,
        {"q": Net(num_actions, cfg.lr)},
        linear=cfg.lr_codes if isinstance(observation_space, Discrete) else 0.0,
    )
    epsilon_at = optax.linear_schedule(cfg.epsilon_start, cfg.epsilon_end, cfg.epsilon_steps)

    def init(key: jax.Array) -> Learner:
        return Learner(nets.init(key), jnp.zeros((), jnp.int32))

    def q_of(learner: Learner, obs: jax.Array) -> jax.Array:
        return nets.apply("q", nets.online(learner.q, obs), obs)

    def act(learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array) -> jax.Array:
        return epsilon_greedy(q_of(learner, obs), epsilon_at(learner.steps), key)

    def exploit(learner: Learner, obs: jax.Array) -> jax.Array:
        return jnp.argmax(q_of(learner, obs), axis=-1).astype(jnp.int32)

    def observe(
        learner: Learner, transition: Transition, key: jax.Array
    ) -> tuple[Learner, Transition]:
        return learner._replace(steps=learner.steps + 1), transition

    def target(learner: Learner) -> Frozen:
        return nets.freeze(learner.q)

    def loss(
        online: View, q_t: jax.Array, next_q: jax.Array, batch: Transition
    ) -> tuple[jax.Array, Metrics]:
        """`q_t` is the target's at s′, `next_q` the online network's there."""
        chosen = jax.nn.one_hot(batch.action, num_actions)
        q_tm1 = jnp.sum(nets.apply("q", online, batch.obs) * chosen, axis=-1)
        if cfg.double_q:
            pick = jnp.argmax(next_q, axis=-1)
            v_t = jnp.sum(q_t * jax.nn.one_hot(pick, num_actions), axis=-1)
        else:
            v_t = jnp.max(q_t, axis=-1)
        delta = stop_gradient(batch.reward + cfg.gamma * batch.discount * v_t) - q_tm1
        metrics = {"td_error": jnp.mean(jnp.abs(delta)), "q": jnp.mean(q_tm1)}
        return 0.5 * jnp.mean(delta**2), metrics

    def update(
        learner: Learner, frozen: Frozen, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        online = nets.to_train(learner.q, frozen, batch.obs)
        q_t = nets.apply("q", nets.frozen(learner.q, frozen, batch.next_obs), batch.next_obs)
        next_q = q_of(learner, batch.next_obs)  # read by `double_q` alone
        grads, metrics = jax.grad(loss, has_aux=True)(online, q_t, next_q, batch)
        metrics["epsilon"] = jnp.asarray(epsilon_at(learner.steps), jnp.float32)
        return learner._replace(q=nets.descend(learner.q, online, grads, batch.obs)), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        q = q_of(learner, obs)
        epsilon = epsilon_at(learner.steps)
        greedy = jax.nn.one_hot(jnp.argmax(q, axis=-1), num_actions)
        return {
            "q": q,
            "policy": (1 - epsilon) * greedy + epsilon / num_actions,
            "value": jnp.max(q, axis=-1),
        }

    return Agent(
        schedule=schedule_of(cfg),
        init=init,
        begin_episode=no_episode,
        act=act,
        exploit=exploit,
        observe=observe,
        update=update,
        target=target,
        inspect=inspect,
    )


def epsilon_greedy(q: jax.Array, epsilon: jax.Array | float, key: jax.Array) -> jax.Array:
    """A uniformly random action with probability ε, else the greedy one."""
    key_whether, key_which = jax.random.split(key)
    explore = jax.random.uniform(key_whether) < epsilon
    random_action = jax.random.randint(key_which, (), 0, q.shape[-1], jnp.int32)
    return jnp.where(explore, random_action, jnp.argmax(q, axis=-1).astype(jnp.int32))
