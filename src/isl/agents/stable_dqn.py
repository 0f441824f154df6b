"""DQN with Seeker's cure against values that run away or come and go: the fair control for Seeker.

It has what Seeker's values on vectors and images have (isl.agents.seeker.networks), and ε-greedy
actions instead of π* and ℓ:
  * hidden layers are normalised (Ba et al. 2016) and heads start at 0;
  * double Q-learning (van Hasselt et al. 2016), with errors that count linearly beyond one unit;
  * advantage learning (Bellemare et al. 2016): gaps between actions that are wider than the errors;
  * the greedy policy has an average of the parameters over the latest thousand updates, and
    `exploit` follows the one that did best in training (isl.agents.wrappers.keep_best);
  * rewards in units of the returns seen, and vectors normalised as they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl.agents import base, of_symbols
from isl.agents.base import Agent, Metrics, Transition, hyper, taken
from isl.agents.dqn import Exploring, assemble
from isl.agents.wrappers.at_any_scale import at_any_scale
from isl.agents.wrappers.stretches import over_the_stretch
from isl.nn.approximators import Approximators, Net, Trained
from isl.nn.step import Reads


@dataclass(frozen=True)
class Config(Exploring):
    """Networks, batches, rates and targets are Seeker's, exploration is DQN's."""

    hidden: tuple[int, ...] = hyper((64, 64), "units of each hidden layer", at_least=1, basic=True)
    batch_size: int = hyper(128, "transitions per update", at_least=1)
    learning_starts: int = hyper(500, "transitions stored before the first update", at_least=1)
    target_period: int = hyper(50, "updates between two copies to the target", at_least=1)
    lr: float = hyper(5e-4, "Adam's learning rate", above=0, basic=True)

    averaging: float = hyper(
        1e-3,
        "share of the newest parameters in the average that `exploit` follows",
        above=0,
        at_most=1,
    )

    action_gap: float = hyper(
        0.7,
        "share of an action's lag behind the best that its target repeats",
        at_least=0,
        at_most=0.99,
    )

    greedy_share: float = hyper(
        1 / 3, "share of training played greedily (of its steps)", at_least=0, at_most=1, basic=True
    )

    repeat_cost: float = hyper(
        0.3,
        "symbols: what a greedy policy pays to repeat an action in a view, in units",
        at_least=0,
        later=True,
    )

    longest_stretch: int = hyper(
        16, "symbols: most steps between a value and its target", at_least=1, later=True
    )

    symbol_gamma: float = hyper(
        0.95, "symbols: discount factor, in place of gamma", at_least=0, at_most=1, later=True
    )

    normalises: ClassVar[bool] = True

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        return {**super().unused(space), **of_symbols.unused(space)}


class Learner(NamedTuple):
    q: Trained
    steps: jax.Array  # environment steps seen: they drive ε
    average: Any  # of the network's parameters over the latest updates


def make(cfg: Config, observation_space: Space[Any], num_actions: int) -> Agent:
    """The agent for an observation space and a number of actions."""
    cfg = of_symbols.discounted(cfg, observation_space)
    nets = Approximators(
        observation_space, cfg.hidden, {"q": Net(num_actions, cfg.lr)}, layer_norm=True
    )

    def loss(reads: Reads, batch: Transition) -> tuple[jax.Array, Metrics]:
        values = reads.online("q")
        q = taken(values, batch.action)
        target = double_q_target(cfg.gamma, batch, reads.ahead("q"), reads.target("q"))
        target = with_wider_gap(cfg.action_gap, target, values, batch)
        metrics = {"td_error": jnp.mean(jnp.abs(target - q)), "q": jnp.mean(q)}
        return jnp.mean(optax.huber_loss(q, target)), metrics

    def values(learner: Learner, policy: Any, obs: jax.Array) -> jax.Array:
        return nets.read(learner.q._replace(params=policy), obs)("q")

    def rescale(learner: Learner, factor: jax.Array) -> Learner:
        average = nets.scaled_params(learner.average, factor)
        return learner._replace(q=nets.scaled(learner.q, factor), average=average)

    return at_any_scale(
        averaged(cfg, assemble(cfg, nets, loss)),
        space=observation_space,
        gamma=cfg.gamma,
        greedy_share=cfg.greedy_share,
        practice=0.0,
        repeat_cost=cfg.repeat_cost,
        longest_stretch=cfg.longest_stretch,
        num_actions=num_actions,
        rescale=rescale,
        values=values,
    )


def averaged(cfg: Config, agent: Agent) -> Agent:
    """DQN that keeps an average of its parameters."""

    def init(key: jax.Array) -> Learner:
        fresh = agent.init(key)
        return Learner(fresh.q, fresh.steps, fresh.q.params)

    def update(
        learner: Learner, frozen: Any, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        learner, metrics = agent.update(learner, frozen, over_the_stretch(batch), key)
        share = share_of_newest(cfg.averaging, learner.q.updates)
        average = optax.incremental_update(learner.q.params, learner.average, share)
        return learner._replace(average=average), metrics

    return agent._replace(init=init, update=update)


def share_of_newest(share: float, updates: jax.Array) -> jax.Array:
    """In a running average that is plain at first, then over the latest 1/share updates."""
    return jnp.maximum(share, 1 / updates.astype(jnp.float32))


def double_q_target(
    gamma: float, now: Transition, ahead: jax.Array, frozen: jax.Array
) -> jax.Array:
    """r + γ·discount·q̃(s′, argmax q(s′)): the present values pick, the frozen ones tell.

    Args:
        gamma: the discount factor.
        now: one transition, or a batch.
        ahead: the present values of s′, [..., A].
        frozen: the values of s′ that stand still, [..., A].
    """
    best = taken(frozen, base.greedy(ahead, now.next_mask))
    return stop_gradient(now.reward + gamma * now.discount * best)


def with_wider_gap(
    share: float, target: jax.Array, values: jax.Array, now: Transition
) -> jax.Array:
    """target − share·(max q(s) − q(s,a)): the best action keeps its value, the others fall.

    In the fixed point gaps are 1/(1 − share) times as wide. Where a step costs little, gaps are a
    hundredth of the values, and errors of that size would change argmax. The best action is one of
    those allowed in s.

    Args:
        share: of the lag.
        target: of the value of the action.
        values: the present ones of s, [..., A].
        now: the transition, or a batch.
    """
    lag = jnp.max(base.among(values, now.mask), axis=-1) - taken(values, now.action)
    return target - share * stop_gradient(lag)
