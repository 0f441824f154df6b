"""Observations that are stored small and seen large, as an agent around an agent.

The replay keeps what the environment gave, such as one number or pixels of one byte; whatever reads
them sees what `expand` makes of it, such as a one-hot code, which exists on the device only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from isl.agents.base import Agent, Item, Learner, Metrics, Target, Transition

Expand = Callable[[jax.Array], jax.Array]  # any batch axes in front


def expanded(agent: Agent, expand: Expand | None) -> Agent:
    """`agent`, which reads `expand(obs)`; the agent itself where there is nothing to expand."""
    if expand is None:
        return agent

    def act(
        learner: Learner, episode: Any, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        return agent.act(learner, episode, expand(obs), key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return agent.exploit(learner, expand(obs), mask)

    def observe(learner: Learner, transition: Transition, key: jax.Array) -> tuple[Learner, Item]:
        learner, item = agent.observe(learner, _each(transition, expand), key)
        small = lambda part: part._replace(obs=transition.obs, next_obs=transition.next_obs)  # noqa: E731
        return learner, map_transitions(small, item)

    def update(
        learner: Learner, target: Target, batch: Item, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        batch = map_transitions(lambda part: _each(part, expand), batch)
        return agent.update(learner, target, batch, key)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        return agent.inspect(learner, expand(obs))

    def track(
        learner: Learner, episode: Any, transition: Transition, last: jax.Array
    ) -> tuple[Learner, Any, Transition]:
        assert agent.track is not None
        learner, episode, seen = agent.track(learner, episode, _each(transition, expand), last)
        assert seen.since is None, "stretches of steps hold observations as the agent sees them"
        return learner, episode, transition

    def follow(learner: Learner, memory: Any, obs: jax.Array, *mask: Any) -> tuple[jax.Array, Any]:
        assert agent.follow is not None
        return agent.follow.act(learner, memory, expand(obs), *mask)

    return agent._replace(
        act=act,
        exploit=exploit,
        observe=observe,
        update=update,
        inspect=inspect,
        track=None if agent.track is None else track,
        follow=None if agent.follow is None else agent.follow._replace(act=follow),
    )


def _each(transition: Transition, expand: Expand) -> Transition:
    return transition._replace(obs=expand(transition.obs), next_obs=expand(transition.next_obs))


def map_transitions(function: Callable[[Transition], Transition], items: Any) -> Any:
    """`items` with every transition in it changed."""

    def one(part: Any) -> Any:
        return function(part) if isinstance(part, Transition) else part

    return jax.tree.map(one, items, is_leaf=lambda part: isinstance(part, Transition))
