"""What an agent is: a tuple of pure functions over explicit state, and the schedule it is run by.

An agent knows nothing of how it is looped, stored or drawn. Its module offers

    Config                                           a frozen dataclass (isl.agents.config)
    make(config, observation_space, num_actions)     -> Agent

Three kinds of state, kept apart:

    learner   what is learned: parameters, optimiser state, and whatever else `update` changes
    target    the frozen copy of parts of the learner; the loop renews it every `target_period`
    episode   what is drawn once per episode, e.g. the ensemble member that acts; often `()`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from isl.agents.config import Config

Learner = Any
Target = Any
Episode = Any
Item = Any  # what the replay holds: a Transition, or one with extras such as bootstrap masks
Metrics = dict[str, jax.Array]


class Transition(NamedTuple):
    """One step. `discount` is 0 at termination and 1 otherwise, truncation included."""

    obs: Any
    action: jax.Array
    reward: jax.Array
    discount: jax.Array
    next_obs: Any


class Schedule(NamedTuple):
    """How the loop drives the agent: T steps, then I updates, targets renewed every P updates."""

    steps: int  # T
    updates: int  # I
    target_period: int  # P, in updates
    batch_size: int
    replay_capacity: int
    learning_starts: int  # transitions stored before the first update
    random_start: bool  # until then: uniformly random actions, or the agent's own


class Agent(NamedTuple):
    """The functions. Observations are single, batches have a leading axis; all can be traced."""

    schedule: Schedule
    init: Callable[[jax.Array], Learner]  # (key)
    begin_episode: Callable[[Learner, jax.Array], Episode]  # (learner, key)
    act: Callable[[Learner, Episode, Any, jax.Array], jax.Array]  # (learner, episode, obs, key)
    exploit: Callable[[Learner, Any], jax.Array]  # (learner, obs): no exploration, no randomness
    observe: Callable[[Learner, Transition, jax.Array], tuple[Learner, Item]]  # before storage
    update: Callable[[Learner, Target, Item, jax.Array], tuple[Learner, Metrics]]  # one SGD step
    target: Callable[[Learner], Target]  # what `update` treats as frozen
    inspect: Callable[[Learner, Any], dict[str, jax.Array]]  # what it believes: q, ell, policy …


def schedule_of(config: Config, random_start: bool = False) -> Schedule:
    """The schedule that a config's fields describe."""
    return Schedule(
        steps=config.steps,
        updates=config.updates,
        target_period=config.target_period,
        batch_size=config.batch_size,
        replay_capacity=config.replay_capacity,
        learning_starts=config.learning_starts,
        random_start=random_start,
    )


def no_episode(learner: Learner, key: jax.Array) -> Episode:
    """`begin_episode` of an agent that draws nothing per episode."""
    return ()


def store_as_is(learner: Learner, transition: Transition, key: jax.Array) -> tuple[Learner, Item]:
    """`observe` of an agent whose replay holds plain transitions."""
    return learner, transition
