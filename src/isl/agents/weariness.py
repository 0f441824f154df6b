"""Getting out of loops: policies that remember what they have done in the episode.

A view shows a part of the world, so different states look alike, and values have errors. A
deterministic policy without memory may then go in a circle for ever, where the same values with
some random actions reach the goal. Here an action loses `cost` each time that it was taken in the
same view of the same episode. The first time nothing changes; in a circle the next best action is
taken sooner or later. Nothing is random, so the same episode is played again in the same way.

Exploring policies have the same memory: where layouts change with every episode, what was done in
this one is known, whatever was never seen before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space

from isl.envs.kinds import Symbols
from isl.nn.codes import symbol_codes

PLACES = 512  # that views are told apart by in one episode

Place = Callable[[jax.Array], jax.Array]  # observation → a number below PLACES


class Weariness(NamedTuple):
    """What repetition costs."""

    place: Place
    cost: Callable[[Any], jax.Array]  # policy → the cost of one repetition, in its values' unit
    num_actions: int


Been = Any  # [PLACES, A]: how often each action was taken; () without weariness


def places(space: Space[Any], repeat_cost: float) -> Place | None:
    """What views are told apart by; None where nothing grows weary."""
    if not isinstance(space, Symbols) or not repeat_cost:
        return None
    whole = symbol_codes(space.shape, 1, PLACES).encode
    return lambda obs: whole(obs)[-1]


def nowhere(weary: Weariness | None) -> Been:
    """At the beginning of an episode."""
    return () if weary is None else jnp.zeros((PLACES, weary.num_actions))


def tired(
    weary: Weariness | None, been: Been, policy: Any, obs: jax.Array, values: jax.Array
) -> jax.Array:
    """The values [A] of a policy in an observation, less what repetitions cost."""
    if weary is None:
        return values
    less: jax.Array = values - weary.cost(policy) * been[weary.place(obs)]
    return less


def staler(place: Place | None, been: Been, obs: jax.Array, ell: jax.Array) -> jax.Array:
    """ℓ(s, ·), less where actions were taken in the same view of the same episode."""
    if place is None:
        return ell
    less: jax.Array = ell / (1 + been[place(obs)])
    return less


def went(weary: Weariness | None, been: Been, obs: jax.Array, action: jax.Array) -> Been:
    """After an action."""
    return been if weary is None else been.at[weary.place(obs), action].add(1.0)
