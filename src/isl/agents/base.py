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

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from isl.agents.config import Config, hyper

__all__ = [
    "Act",
    "Agent",
    "BeginEpisode",
    "Config",
    "Exploit",
    "Follow",
    "Freeze",
    "Init",
    "Inspect",
    "Metrics",
    "Observe",
    "Schedule",
    "Stretch",
    "Track",
    "Transition",
    "Update",
    "allowed",
    "among",
    "follow_of",
    "greedy",
    "hyper",
    "mean_loss",
    "no_episode",
    "sampled",
    "schedule_of",
    "store_as_is",
    "taken",
    "track_inside",
]

Learner = Any
Target = Any
Episode = Any
Item = Any  # what the replay holds: a Transition, or one with extras such as bootstrap masks
Metrics = dict[str, jax.Array]


class Stretch(NamedTuple):
    """Several steps of an episode as one; it ends where the transition does that holds it."""

    obs: Any  # where it began
    action: jax.Array  # the first one
    reward: jax.Array  # Σ γᵏ rₖ
    discount: jax.Array  # of its last step, times γ for every other one
    mask: jax.Array | None = None  # of `obs`


class Transition(NamedTuple):
    """One step. `discount` is 0 at termination and 1 otherwise, truncation included."""

    obs: Any
    action: jax.Array
    reward: jax.Array
    discount: jax.Array
    next_obs: Any
    next_mask: jax.Array | None = None  # bool [A]: the actions allowed there; None: all of them
    mask: jax.Array | None = None  # the same of `obs`; environments give both or neither
    since: Stretch | None = None  # steps that end with it, of agents that learn over several


class Schedule(NamedTuple):
    """How the loop drives the agent: T steps, then I updates, targets renewed every P updates."""

    steps: int  # T
    updates: int  # I
    target_period: int  # P, in updates
    batch_size: int
    replay_capacity: int
    learning_starts: int  # transitions stored before the first update
    random_start: bool  # until then: uniformly random actions, or the agent's own


class Init(Protocol):
    """The learner before its first step."""

    def __call__(self, key: jax.Array, /) -> Learner: ...


class BeginEpisode(Protocol):
    """What is drawn at the beginning of an episode."""

    def __call__(self, learner: Learner, key: jax.Array, /) -> Episode: ...


class Act(Protocol):
    """The action to explore with at one observation; `mask` [A] says which are allowed."""

    def __call__(
        self, learner: Learner, episode: Episode, obs: Any, key: jax.Array, mask: Any = None, /
    ) -> jax.Array: ...


class Exploit(Protocol):
    """The best action known at one observation, without exploration or randomness."""

    def __call__(self, learner: Learner, obs: Any, mask: Any = None, /) -> jax.Array: ...


class Observe(Protocol):
    """Called once with each transition, before it is stored: the learner, and what to store."""

    def __call__(
        self, learner: Learner, transition: Transition, key: jax.Array, /
    ) -> tuple[Learner, Item]: ...


class Update(Protocol):
    """One step of gradient descent on a batch of items: the learner, and scalars to log."""

    def __call__(
        self, learner: Learner, target: Target, batch: Item, key: jax.Array, /
    ) -> tuple[Learner, Metrics]: ...


class Freeze(Protocol):
    """The part of the learner that `update` treats as frozen."""

    def __call__(self, learner: Learner, /) -> Target: ...


class Inspect(Protocol):
    """What the agent believes at one observation: "q", "policy", "value"; "ell", "novelty" …"""

    def __call__(self, learner: Learner, obs: Any, /) -> dict[str, jax.Array]: ...


class Track(Protocol):
    """Called at every step of an episode; `last` says whether it ends there.

    It returns the learner, the episode, and the transition that `observe` is given.
    """

    def __call__(
        self, learner: Learner, episode: Episode, transition: Transition, last: jax.Array, /
    ) -> tuple[Learner, Episode, Transition]: ...


class Follow(NamedTuple):
    """`exploit` with a memory of the episode that it is in."""

    begin: Callable[[], Any]  # the memory at the beginning of an episode
    act: Callable[..., tuple[jax.Array, Any]]  # (learner, memory, obs, mask) → action, memory


class Agent(NamedTuple):
    """The functions. Observations are single, batches have a leading axis; all can be traced."""

    schedule: Schedule
    init: Init
    begin_episode: BeginEpisode
    act: Act
    exploit: Exploit
    observe: Observe
    update: Update
    target: Freeze
    inspect: Inspect
    track: Track | None = None  # None: nothing depends on how episodes go
    follow: Follow | None = None  # None: `exploit` needs no memory


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


def track_inside(agent: Agent) -> Track | None:
    """`track` of an agent around `agent`, whose learner has that of `agent` as `inner`."""
    if agent.track is None:
        return None
    own = agent.track

    def track(
        learner: Learner, episode: Episode, transition: Transition, last: jax.Array
    ) -> tuple[Learner, Episode, Transition]:
        inner, episode, transition = own(learner.inner, episode, transition, last)
        return learner._replace(inner=inner), episode, transition

    return track


def follow_of(agent: Agent) -> Follow:
    """How the greedy policy of an agent is played, with or without a memory."""
    if agent.follow is not None:
        return agent.follow

    def act(learner: Learner, memory: Any, obs: Any, *mask: Any) -> tuple[jax.Array, Any]:
        return agent.exploit(learner, obs, *mask), memory

    return Follow(lambda: (), act)


def no_episode(learner: Learner, key: jax.Array, /) -> Episode:
    """`begin_episode` of an agent that draws nothing per episode."""
    return ()


def store_as_is(
    learner: Learner, transition: Transition, key: jax.Array, /
) -> tuple[Learner, Item]:
    """`observe` of an agent whose replay holds plain transitions."""
    return learner, transition


def mean_loss(
    losses: Callable[[Any, Any], tuple[tuple[jax.Array, ...], Metrics]], batch: Any, told: Any
) -> tuple[jax.Array, Metrics]:
    """From the losses of one transition to the sum of their means over a batch.

    Where losses share no parameter, one gradient of their sum serves all.

    Args:
        losses: of one transition and what the networks say of it: losses, and metrics.
        batch: transitions with a leading axis.
        told: what the networks say of them, likewise.
    """
    means, metrics = jax.tree.map(jnp.mean, jax.vmap(losses)(batch, told))
    return functools.reduce(jnp.add, means), metrics


def taken(values: jax.Array, action: jax.Array) -> jax.Array:
    """Of values [..., A] those of the actions [...]: cheaper to differentiate than a gather."""
    return jnp.sum(values * jax.nn.one_hot(action, values.shape[-1]), axis=-1)


def among(values: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Values [..., A] in which an action that is not allowed is never the largest.

    A mask without any action, as a terminal state may have, allows all: 0 · (−∞) is not a number.
    """
    if mask is None:
        return values
    return jnp.where(mask | ~jnp.any(mask, axis=-1, keepdims=True), values, -jnp.inf)


def greedy(values: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """The action of the largest value [..., A], among those allowed."""
    return jnp.argmax(among(values, mask), axis=-1).astype(jnp.int32)


def allowed(q: jax.Array, ell: jax.Array, mask: jax.Array | None) -> tuple[jax.Array, jax.Array]:
    """q̂ and ℓ [..., A] with which π* takes no action outside the mask.

    Such an action gets the smallest ℓ and a value below all others: it is Pareto dominated.
    """
    if mask is None:
        return q, ell
    worst, least = jnp.min(q, axis=-1, keepdims=True), jnp.min(ell, axis=-1, keepdims=True)
    below = worst - 1.0 - jnp.abs(worst)  # by more than rounding, however large q̂ is
    return jnp.where(mask, q, below), jnp.where(mask, ell, least)


def sampled(policy: jax.Array, key: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """An action drawn from probabilities [A], which are 0 outside the mask."""
    threshold = jax.random.uniform(key)
    action = jnp.sum(jnp.cumsum(policy)[:-1] <= threshold, dtype=jnp.int32)
    if mask is None:
        return action
    # The sum may round to less than the threshold: then the last action would be taken.
    last = jnp.max(jnp.where(mask, jnp.arange(policy.shape[-1]), 0))
    return jnp.minimum(action, last).astype(jnp.int32)
