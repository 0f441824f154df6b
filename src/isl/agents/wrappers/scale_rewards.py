"""Rewards in units of the returns that the agent sees, as an agent around an agent.

The replay keeps rewards as they came; an update sees them divided by the unit of that moment, the
largest that

    max( |r|,  Ē|r| / (1 − γ·Ē discount) )

has been: a reward, or what an episode carries on average, discounted, if that is more. It is the
largest and not the present one because κ is in this unit. An agent that avoids a cost would
otherwise see less of it, explore less for it, and avoid it more. The unit has no constant that
carries a dimension, so with all rewards times c it is exactly c times as large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from isl.agents.base import Agent, Item, Metrics, Target, Transition, track_inside
from isl.agents.wrappers.expand_observations import map_transitions

NEARLY = 0.01  # a change of the unit by less is not worth rescaling what was learned
MEMORY = 10_000  # steps that the averages are over: behaviour changes, and its returns with it
FORGOTTEN = 100_000  # steps with rewards over which a return that does not come back fades
IN_UNITS = ("q", "greedy", "ell", "value")  # of what an agent believes: what scales with rewards


class Seen(NamedTuple):
    """What the unit is made from."""

    steps: jax.Array
    unit: jax.Array  # 0 before the first reward
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
        return Learner(agent.init(key), nothing_seen(), jnp.float32(0))

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
        seen = include(learner.seen, transition.reward, transition.discount, gamma)
        return learner._replace(inner=inner, seen=seen), item

    def update(
        learner: Learner, target: Target, batch: Item, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        old, new = learner.unit, learner.seen.unit
        changed = jnp.abs(new - old) > NEARLY * old
        new = jnp.where(changed, new, old)
        factor = jnp.where(changed & (old > 0), old / or_one(new), 1.0)
        inner = rescale(learner.inner, factor)  # cheaper than a branch, which copies the learner
        inner, metrics = agent.update(inner, target, _divided(batch, or_one(new)), key)
        return learner._replace(inner=inner, unit=new), metrics | {"unit": new}

    def target(learner: Learner) -> Target:
        return agent.target(learner.inner)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        """In the environment's rewards."""
        beliefs, factor = agent.inspect(learner.inner, obs), or_one(learner.unit)
        return {name: x * factor if name in IN_UNITS else x for name, x in beliefs.items()}

    return Agent(
        agent.schedule,
        init,
        begin_episode,
        act,
        exploit,
        observe,
        update,
        target,
        inspect,
        track_inside(agent),
    )


def nothing_seen() -> Seen:
    """Before the first step."""
    zero = jnp.float32(0)
    return Seen(zero, zero, zero, zero)


def include(seen: Seen, reward: jax.Array, discount: jax.Array, gamma: float) -> Seen:
    """One more step; averages are plain at first, then forget beyond `MEMORY` steps.

    Steps without a reward say nothing about the size of rewards. If the unit faded over them, the
    rewards of the replay would grow beyond what a float holds.
    """
    steps = seen.steps + 1
    share = 1 / jnp.minimum(steps, MEMORY)
    size = seen.size + share * (jnp.abs(reward) - seen.size)
    going_on = seen.discount + share * (discount - seen.discount)
    carried = size / jnp.maximum(1 - gamma * going_on, 1 / steps)
    kept = seen.unit * jnp.where(reward == 0, 1.0, 1 - 1 / FORGOTTEN)
    unit = jnp.maximum(kept, jnp.maximum(jnp.abs(reward), carried))
    return Seen(steps, unit, size, going_on)


def known_unit(seen: Seen) -> jax.Array:
    """The unit, or 1 before the first reward: then everything is 0, in any unit."""
    return or_one(seen.unit)


def or_one(x: jax.Array) -> jax.Array:
    """A unit, or 1 as long as it is 0."""
    return jnp.where(x > 0, x, 1.0)


def _divided(items: Any, factor: jax.Array) -> Any:
    def one(part: Transition) -> Transition:
        since = part.since and part.since._replace(reward=part.since.reward / factor)
        return part._replace(reward=part.reward / factor, since=since)

    return map_transitions(one, items)
