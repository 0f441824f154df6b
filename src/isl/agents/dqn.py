"""DQN (Mnih et al. 2015): the control that shows what no deep exploration looks like.

This is the BSP agent (isl.agents.boot_dqn) without its ensemble and priors, with:
  * ε-greedy actions, ε falling linearly over the first `epsilon_steps` environment steps;
  * squared errors and Adam, as for all agents here, where Mnih et al. clip errors and use RMSProp;
  * double Q-learning (van Hasselt et al. 2016) on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Discrete, Space
from jax.lax import stop_gradient

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, among, greedy, hyper, taken
from isl.nn.approximators import Approximators, Frozen, Net, Trained
from isl.nn.step import Reads


@dataclass(frozen=True)
class Exploring(base.Config):
    """What agents with ε-greedy actions have in common."""

    lr: float = hyper(5e-4, "Adam's learning rate", above=0, basic=True)
    epsilon_start: float = hyper(1.0, "share of random actions at first", at_least=0, at_most=1)
    epsilon_end: float = hyper(0.05, "share of random actions at last", at_least=0, at_most=1)
    epsilon_steps: int = hyper(10_000, "environment steps from the first ε to the last", at_least=1)


@dataclass(frozen=True)
class Config(Exploring):
    """DQN's hyper-parameters; the defaults are BSP's for Deep Sea."""

    target_period: int = hyper(5, "updates between two copies to the target", at_least=1)
    double_q: bool = hyper(False, "pick argmax q(s′) with the online net, read the target net")
    lr_codes: float = hyper(
        0.0,
        "on a table: no hidden layers, and Adam at this rate; 0: the same networks as elsewhere",
        at_least=0,
        later=True,
    )

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        if not isinstance(space, Discrete):
            return {"lr_codes": "it is the rate of tables, for Discrete observations"}
        reason = "tables have no layers, and their rate is lr_codes"
        return dict.fromkeys(("hidden", "lr"), reason) if self.lr_codes else {}


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

    def loss(reads: Reads, batch: Transition) -> tuple[jax.Array, Metrics]:
        q_tm1 = taken(reads.online("q"), batch.action)
        q_t = reads.target("q")
        if cfg.double_q:  # the online network picks, the target network tells the value
            v_t = taken(q_t, greedy(reads.ahead("q"), batch.next_mask))
        else:
            v_t = jnp.max(among(q_t, batch.next_mask), axis=-1)
        delta = stop_gradient(batch.reward + cfg.gamma * batch.discount * v_t) - q_tm1
        metrics = {"td_error": jnp.mean(jnp.abs(delta)), "q": jnp.mean(q_tm1)}
        return 0.5 * jnp.mean(delta**2), metrics

    return assemble(cfg, nets, loss)


def assemble(
    cfg: Exploring,
    nets: Approximators,
    loss: Callable[[Reads, Transition], tuple[jax.Array, Metrics]],
) -> Agent:
    """ε-greedy actions on given networks, which `loss` of a batch trains."""
    num_actions = nets.nets["q"].outputs
    epsilon_at = optax.linear_schedule(cfg.epsilon_start, cfg.epsilon_end, cfg.epsilon_steps)

    def init(key: jax.Array) -> Learner:
        return Learner(nets.init(key), jnp.zeros((), jnp.int32))

    def q_of(learner: Learner, obs: jax.Array) -> jax.Array:
        return nets.read(learner.q, obs)("q")

    def act(
        learner: Learner, episode: tuple[()], obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        return epsilon_greedy(q_of(learner, obs), epsilon_at(learner.steps), key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return greedy(q_of(learner, obs), mask)

    def observe(
        learner: Learner, transition: Transition, key: jax.Array
    ) -> tuple[Learner, Transition]:
        return learner._replace(steps=learner.steps + 1), transition

    def target(learner: Learner) -> Frozen:
        return nets.freeze(learner.q)

    def update(
        learner: Learner, frozen: Frozen, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        q, metrics = nets.step(
            learner.q, frozen, batch.obs, batch.next_obs, lambda reads: loss(reads, batch)
        )
        metrics["epsilon"] = jnp.asarray(epsilon_at(learner.steps), jnp.float32)
        return learner._replace(q=q), metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        q, epsilon = q_of(learner, obs), epsilon_at(learner.steps)
        best = jax.nn.one_hot(greedy(q), num_actions)
        return {
            "q": q,
            "policy": (1 - epsilon) * best + epsilon / num_actions,
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


def epsilon_greedy(
    q: jax.Array, epsilon: jax.Array | float, key: jax.Array, mask: jax.Array | None = None
) -> jax.Array:
    """A uniformly random action with probability ε, else the greedy one; both within the mask."""
    return slipping(greedy(q, mask), q.shape[-1], epsilon, key, mask)


def slipping(
    action: jax.Array,
    num_actions: int,
    epsilon: jax.Array | float,
    key: jax.Array,
    mask: jax.Array | None = None,
) -> jax.Array:
    """`action`, or with probability ε a uniformly random one within the mask."""
    key_whether, key_which = jax.random.split(key)
    explore = jax.random.uniform(key_whether) < epsilon
    if mask is None:
        random_action = jax.random.randint(key_which, (), 0, num_actions, jnp.int32)
    else:
        random_action = greedy(jax.random.uniform(key_which, (num_actions,)), mask)
    return jnp.where(explore, random_action, action)
