"""Values learned over stretches of several steps, as an agent around an agent.

A view shows a part of the world, and states that look alike share one value. A target that looks
one step ahead takes that shared value for the value of the next state, and the error goes round:
what is near the goal and what only looks so seem equally good. Over several steps the rewards that
did follow count for more, and the shared value for less.

Every transition is therefore handed on together with a stretch of steps of the same episode that
ends with it, of a length that is drawn anew for each: 1 to `longest`, as far as the episode goes.
On average over these lengths a state is told the mean of the returns over 1, 2, … steps, much like
a λ-return (Sutton 1988). What was done in between is taken as it was, greedy or not, except in
episodes that wander (`wanders`): what they fail to reach says nothing of the policy, so there a
stretch is one step. The stretch ends where the transition does, so that its target costs nothing
more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space

from isl.agents.base import Agent, Stretch, Transition
from isl.nn.networks import dummy_observation


class Recent(NamedTuple):
    """The latest steps of an episode, the newest one last: all arrays are [longest, …]."""

    obs: Any
    action: jax.Array
    reward: jax.Array
    mask: jax.Array  # [longest, A]


class Episode(NamedTuple):
    inner: Any
    recent: Recent
    steps: jax.Array  # int32: of the episode so far
    key: jax.Array  # that lengths are drawn with, as plain numbers: files hold those only


def with_stretches(
    agent: Agent,
    space: Space[Any],
    num_actions: int,
    gamma: float,
    longest: int,
    wanders: Callable[[Any], jax.Array] | None = None,
) -> Agent:
    """`agent`, whose transitions have a stretch of up to `longest` steps as `since`.

    `wanders` tells of the agent's episode whether its stretches are one step; None: none are.
    """
    own_track = agent.track

    def begin_episode(learner: Any, key: jax.Array) -> Episode:
        inner_key, own_key = jax.random.split(key)
        none = Recent(
            dummy_observation(space),
            jnp.int32(0),
            jnp.float32(0),
            jnp.ones(num_actions, jnp.bool_),
        )
        recent = jax.tree.map(lambda x: jnp.zeros((longest, *x.shape), x.dtype), none)
        inner = agent.begin_episode(learner, inner_key)
        return Episode(inner, recent, jnp.int32(0), jax.random.key_data(own_key))

    def act(
        learner: Any, episode: Episode, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        return agent.act(learner, episode.inner, obs, key, mask)

    def track(
        learner: Any, episode: Episode, now: Transition, last: jax.Array
    ) -> tuple[Any, Episode, Transition]:
        inner = episode.inner
        if own_track is not None:
            learner, inner, now = own_track(learner, inner, now, last)
        recent, steps = newer(episode.recent, now), episode.steps + 1
        key = jax.random.wrap_key_data(episode.key, impl="threefry2x32")
        key = jax.random.fold_in(key, steps)
        length = jax.random.randint(key, (), 1, jnp.minimum(steps, longest) + 1)
        if wanders is not None:
            length = jnp.where(wanders(inner), 1, length)
        since = stretch(recent, now, length, gamma)
        return learner, Episode(inner, recent, steps, episode.key), now._replace(since=since)

    return agent._replace(begin_episode=begin_episode, act=act, track=track)


def newer(recent: Recent, now: Transition) -> Recent:
    """With one more step, without the oldest."""
    mask = jnp.ones_like(recent.mask[0]) if now.mask is None else now.mask
    step = Recent(now.obs, now.action, now.reward, mask)
    shifted: Recent = jax.tree.map(
        lambda old, new: jnp.concatenate([old[1:], new[None]]), recent, step
    )
    return shifted


def stretch(recent: Recent, now: Transition, length: jax.Array, gamma: float) -> Stretch:
    """The latest `length` steps as one, which ends as `now` does."""
    longest = recent.reward.shape[0]
    begin = longest - length
    ahead = jnp.arange(longest) - begin  # steps from the first one of the stretch on
    weights = jnp.where(ahead >= 0, gamma ** jnp.maximum(ahead, 0).astype(jnp.float32), 0.0)
    first = jax.tree.map(lambda x: x[begin], recent)
    return Stretch(
        first.obs,
        first.action,
        jnp.sum(weights * recent.reward),
        now.discount * gamma ** (length - 1).astype(jnp.float32),
        None if now.mask is None else first.mask,
    )


def over_the_stretch(now: Transition) -> Transition:
    """From where its stretch began to where it ends; the transition itself if it has none."""
    if now.since is None:
        return now
    obs, action, reward, discount, mask = now.since
    return now._replace(
        obs=obs, action=action, reward=reward, discount=discount, mask=mask, since=None
    )
