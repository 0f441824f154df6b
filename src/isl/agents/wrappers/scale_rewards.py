"""Rewards in units of the rewards that the agent sees, as an agent around an agent.

The replay keeps rewards as they came; an update sees them divided by the unit of that moment,

    4 · max( Ē|r|,  max |r| · (1 − γ·Ē discount) )

four times what a step pays or costs on average. The second term is for a reward that has been found
but not yet found again: what it will be per step, once every episode ends with it. It has no
constant that carries a dimension, so with all rewards times c it is exactly c times as large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from isl.agents.base import Agent, Item, Metrics, Target, Transition

NEARLY = 0.01  # a change of the unit by less is not worth rescaling what was learned
REWARDS = 4.0  # average ones, that make a unit: docs/your-environment.md says why
MEMORY = 10_000  # steps that the averages are over: behaviour changes, and its returns with it
IN_UNITS = ("q", "greedy", "ell", "value")  # of what an agent believes: what scales with rewards


class Seen(NamedTuple):
    """What the unit is made from."""

    steps: jax.Array
    largest: jax.Array  # max |r|, forgotten as the averages are
    size: jax.Array  # Ē |r|
    discount: jax.Array  # Ē discount: 1 less the share of steps that end an episode


class Learner(NamedTuple):
    inner: Any
    seen: Seen
    unit: jax.Array  # that `inner` learns in; 0 before the first reward


def in_units(agent: Agent, gamma: float, rescale: Callable[[Any, jax.Array], Any]) -> Agent:
    """`agent`, learning from rewards over their unit.

    When the unit changes, `rescale(inner learner, old / new)` keeps its values what they were.
    """

    def init(key: jax.Array) -> Learner:
        zero = jnp.float32(0)
        return Learner(agent.init(key), Seen(zero, zero, zero, zero), zero)

    def begin_episode(learner: Learner, key: jax.Array) -> Any:
        return agent.begin_episode(learner.inner, key)

    def act(
        learner: Learner, episode: Any, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        return agent.act(learner.inner, episode, obs, key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return agent.exploit(learner.inner, obs, mask)

    def observe(learner: Learner, transition: Transition, key: jax.Array) -> tuple[Learner, Item]:
        inner, item = agent.observe(learner.inner, transition, key)
        seen = include(learner.seen, transition.reward, transition.discount)
        return learner._replace(inner=inner, seen=seen), item

    def update(
        learner: Learner, target: Target, batch: Item, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        old, new = learner.unit, unit(learner.seen, gamma)
        changed = jnp.abs(new - old) > NEARLY * old
        new = jnp.where(changed, new, old)
        factor = jnp.where(old > 0, old / _or_one(new), 1.0)
        inner = jax.lax.cond(changed, lambda: rescale(learner.inner, factor), lambda: learner.inner)
        inner, metrics = agent.update(inner, target, _divided(batch, _or_one(new)), key)
        return learner._replace(inner=inner, unit=new), metrics | {"unit": new}

    def target(learner: Learner) -> Target:
        return agent.target(learner.inner)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        """In the environment's rewards."""
        beliefs, factor = agent.inspect(learner.inner, obs), _or_one(learner.unit)
        return {name: x * factor if name in IN_UNITS else x for name, x in beliefs.items()}

    return Agent(
        agent.schedule, init, begin_episode, act, exploit, observe, update, target, inspect
    )


def include(seen: Seen, reward: jax.Array, discount: jax.Array) -> Seen:
    """One more step; averages are plain at first, then forget beyond `MEMORY` steps."""
    steps = seen.steps + 1
    share = 1 / jnp.minimum(steps, MEMORY)
    size = jnp.abs(reward)
    return Seen(
        steps,
        jnp.maximum(seen.largest * (1 - 1 / MEMORY), size),
        seen.size + share * (size - seen.size),
        seen.discount + share * (discount - seen.discount),
    )


def unit(seen: Seen, gamma: float) -> jax.Array:
    """0 before the first reward."""
    ending = jnp.maximum(1 - gamma * seen.discount, 1 / jnp.maximum(seen.steps, 1))
    return REWARDS * jnp.maximum(seen.size, seen.largest * ending)


def _or_one(x: jax.Array) -> jax.Array:
    """Before the first reward everything is 0, in any unit."""
    return jnp.where(x > 0, x, 1.0)


def _divided(items: Any, factor: jax.Array) -> Any:
    def one(part: Any) -> Any:
        return part._replace(reward=part.reward / factor) if isinstance(part, Transition) else part

    return jax.tree.map(one, items, is_leaf=lambda part: isinstance(part, Transition))
