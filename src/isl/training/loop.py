"""What the compiled loop and the host loop share: their interface, one update, one divergence rule.

A run has diverged at the first update with a metric that is not finite, or when its learner holds a
number that is not finite at the time it is looked at (after every chunk). Values that are finite
but beyond all that is possible are another matter (isl.training.watch).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent, Item, Learner, Metrics, Schedule, Target, Transition
from isl.templates import AnyLength
from isl.training import replay, rng

NEVER = np.int32(np.iinfo(np.int32).max)
Saved = dict[str, Any]  # a loop's state of one seed, without the learner: arrays on the host


class Steps(NamedTuple):
    """What environment steps gave, in order. Every array has the axis [steps]."""

    cell: Any  # where the step was taken, for Discrete observations of compiled tasks; else None
    reward: Any
    last: Any  # whether the episode ended with the step
    info: dict[str, Any]  # the facts of a compiled task
    env: Any = None  # the number of the environment that took the step; None if there is one


class Loop(Protocol):
    """Seeds of one agent that learn side by side, each in environments of its own.

    The compiled loop runs a cohort of seeds, the host loop one. Methods that concern one seed take
    its position in the cohort.
    """

    agent: Agent
    steps: int  # environment steps of each seed so far
    updates: int
    seconds: float  # of computing so far, without compilation where it is separate

    @property
    def masked(self) -> bool:
        """Whether the environments forbid some actions."""

    @property
    def infos(self) -> Any:
        """What Python environments told beside the last step; compiled tasks tell `Steps.info`."""

    @property
    def parts(self) -> int:
        """Into how many parts `chunk` can cut a chunk."""

    @property
    def learner(self) -> Learner:
        """What the first seed has learned: a copy."""

    def learner_of(self, seed: int) -> Learner:
        """What a seed has learned: a copy."""

    def diverged_at(self, seed: int = 0) -> int | None:
        """The first update that gave a value that is not finite, if any."""

    def read_metrics(self, seed: int = 0) -> dict[str, float]:
        """Means of the agent's metrics over the updates since the last call; empty without one."""

    def stored(self, at: NDArray[np.int64], seed: int = 0) -> Item:
        """Items of the replay by their places."""

    def run(self, steps: int) -> Steps:
        """At least `steps` more steps of the first seed."""

    def chunk(self, most: int, fine: bool = False) -> list[Steps]:
        """The next steps of each seed.

        Args:
            most: the host loop takes no more steps than this; a compiled chunk cannot be shortened.
            fine: take one of the `parts` of a chunk only.
        """

    def restart(self, learner: Learner | None, salt: str) -> None:
        """Begin anew, with a learner or a fresh one; `salt` gives other random streams."""

    def adopt(self, learner: Learner) -> None:
        """Go on with another learner; replay, environments and counters stay."""

    def state(self, seed: int = 0) -> Saved:
        """Everything but the learner, for a file; of the replay, the filled part."""

    def template(self) -> Saved:
        """What `state` looks like."""

    def restore(self, learner: Learner, state: Saved) -> None:
        """Continue a loop of one seed from `state`."""

    def restore_all(self, saved: Sequence[tuple[Learner, Saved]]) -> None:
        """Continue every seed from its learner and state."""


def dummy_transition(obs: Any, mask: jax.Array | None = None) -> Transition:
    """A transition of the right shapes and types."""
    return Transition(obs, jnp.int32(0), jnp.float32(0), jnp.float32(0), obs, mask, mask)


def empty_replay(
    agent: Agent, learner: Learner, obs: Any, stream: jax.Array, mask: jax.Array | None = None
) -> replay.Storage:
    """A replay for what the agent stores; `stream` is the one that storing draws from."""
    transition, key = dummy_transition(obs, mask), rng.at(stream, jnp.uint32(0))
    if agent.track is not None:
        episode = agent.begin_episode(learner, key)
        _, _, transition = agent.track(learner, episode, transition, jnp.zeros((), jnp.bool_))
    _, item = agent.observe(learner, transition, key)
    return replay.create(item, agent.schedule.replay_capacity)


def zero_metrics(agent: Agent, learner: Learner, storage: replay.Storage) -> Metrics:
    """The agent's metrics before the first update."""

    def metrics(learner: Learner, storage: replay.Storage) -> Metrics:
        key = jax.random.key(0)
        batch = replay.sample(storage, key, jnp.int32(1), agent.schedule.batch_size)
        return agent.update(learner, agent.target(learner), batch, key)[1]

    shapes = jax.eval_shape(metrics, learner, storage)
    return {name: jnp.zeros(x.shape, x.dtype) for name, x in shapes.items()}


def update_step(
    agent: Agent,
    learner: Learner,
    target: Target,
    storage: replay.Storage,
    stream: jax.Array,
    number: jax.Array,
    held: jax.Array,
) -> tuple[Learner, Metrics, jax.Array]:
    """Update number `number` on a batch from the replay, which was added to `held` times.

    Returns:
        The learner, the agent's metrics, and `number` if one of them is not finite, else NEVER.
    """
    key_batch, key_update = jax.random.split(rng.at(stream, number))
    batch = replay.sample(storage, key_batch, held, agent.schedule.batch_size)
    learner, metrics = agent.update(learner, target, batch, key_update)
    finite = jnp.stack([jnp.isfinite(x) for x in metrics.values()]).all()
    return learner, metrics, jnp.where(finite, NEVER, number.astype(jnp.int32))


def divergence(learner: Learner, diverged_at: Any, updates: int) -> NDArray[np.int32]:
    """The first update with a bad metric; or the latest one, if the learner is not finite by then.

    A gradient whose square overflows leaves an infinite second moment: its parameters never move
    again, while every metric stays finite. This is computed on the host, where it needs no
    compilation. The learner's arrays have the axes of `diverged_at` in front, if it has any.
    """
    found = np.asarray(diverged_at)
    sound = np.ones(found.shape, np.bool_)
    for x in jax.tree.leaves(learner):
        if jnp.issubdtype(x.dtype, jnp.floating):
            finite = np.isfinite(np.asarray(x))
            sound &= finite.all(axis=tuple(range(found.ndim, finite.ndim)))
    latest = np.int32(max(updates - 1, 0))
    return np.where(sound, found, np.minimum(found, latest))


def updates_due(schedule: Schedule, steps: int) -> int:
    """How many updates are made in the first `steps` environment steps."""
    return max(0, steps - schedule.learning_starts) // schedule.steps * schedule.updates


def not_finite(update: int, schedule: Schedule, task: str) -> str:
    """The message for a run whose metrics or parameters stopped being finite at this update."""
    step = schedule.learning_starts + (update // schedule.updates + 1) * schedule.steps
    return f"update {update}, at step {step} of {task}, gave a value that is not finite"


def filled(storage: replay.Storage, steps: int, capacity: int) -> replay.Storage:
    """The part of a replay that has been written to: copies on the host."""
    held = min(steps, capacity)
    return jax.tree.map(lambda x: np.array(np.asarray(x)[:held]), storage)


def filled_template(storage: replay.Storage) -> Any:
    """What `filled` looks like."""
    return jax.tree.map(lambda x: AnyLength(x.dtype, x.shape[1:]), storage)


def refilled(storage: Any, capacity: int) -> Any:
    """A replay of full size from its filled part."""

    def padded(x: NDArray[Any]) -> NDArray[Any]:
        full = np.zeros((capacity, *x.shape[1:]), x.dtype)
        full[: len(x)] = x
        return full

    return jax.tree.map(padded, storage)


def joined(steps: Sequence[Steps]) -> Steps:
    """Several stretches of one seed's steps as one."""
    whole: Steps = jax.tree.map(lambda *x: np.concatenate(x), *steps)
    return whole
