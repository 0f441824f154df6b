"""What a compiled task is: a frozen description with two pure functions.

A task never resets itself and never counts episodes: the loop that runs it does both.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space

from isl.errors import UsageError

State = Any  # a pytree of arrays


class TimeStep(NamedTuple):
    """What one step of a task gives back."""

    state: State
    obs: jax.Array
    reward: jax.Array  # float32 scalar
    discount: jax.Array  # float32 scalar: 0 at termination, 1 otherwise (truncation included)
    last: jax.Array  # bool scalar: the episode is over, by termination or truncation
    info: dict[str, jax.Array]  # facts of the step, e.g. {"goal": 0 or 1}; a run records their sums


class Environment(Protocol):
    """A task whose `reset` and `step` can be traced, `vmap`ped and scanned.

    Two methods are optional and serve runs with --snapshots:

        landmarks()      observations that show how far learning is, by name
        map_constants()  arrays [states] of a task with Discrete observations, by name, that are
                         stored with the maps of beliefs
    """

    @property
    def name(self) -> str:
        """The task's id, as typed on the command line: `deep_sea/20`."""

    @property
    def observation_space(self) -> Space[Any]:
        """Of one observation; it decides the torso of the networks."""

    @property
    def num_actions(self) -> int:
        """Actions are 0 … num_actions − 1."""

    @property
    def max_episode_steps(self) -> int:
        """Steps in the longest episode."""

    @property
    def default_episodes(self) -> int:
        """The budget when the user gives none."""

    def reset(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Start an episode: (state, first observation)."""

    def step(self, state: State, action: jax.Array, key: jax.Array) -> TimeStep:
        """Take one action. Calling it after `last` without a `reset` is an error of the caller."""


def go_on(env: Environment, step: TimeStep, key: jax.Array) -> tuple[State, jax.Array]:
    """The state and observation to continue from: after a last step those of a new episode.

    A task with an attribute `costly_reset` that is true is reset only then, by a loop of no or one
    round: under `vmap` such a loop runs when any episode of a cohort has ended, while both sides of
    a branch would always run. For the others a reset costs less than that loop.
    """
    if not getattr(env, "costly_reset", False):
        new: tuple[State, jax.Array] = jax.tree.map(
            partial(jnp.where, step.last), env.reset(key), (step.state, step.obs)
        )
        return new
    start = (step.state, step.obs, step.last)
    state, obs, _ = jax.lax.while_loop(
        lambda carry: carry[2], lambda carry: (*env.reset(key), jnp.bool_(False)), start
    )
    return state, obs


def check_number(what: str, number: int, possible: range) -> None:
    """`UsageError` unless the number is possible."""
    if number not in possible:
        raise UsageError(
            f"{what} must be a whole number from {possible[0]} to {possible[-1]}, got {number}"
        )
