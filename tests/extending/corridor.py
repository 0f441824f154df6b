"""A toy task, as CONTRIBUTING.md says a new one is made: this file, and an entry of `TASKS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl.envs.base import TimeStep


class State(NamedTuple):
    cell: jax.Array
    steps: jax.Array


@dataclass(frozen=True)
class Corridor:
    """A corridor of `length` cells; the last one is the goal, and every step back is counted."""

    length: int

    @property
    def name(self) -> str:
        return f"corridor/{self.length}"

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.length)

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def max_episode_steps(self) -> int:
        return 4 * self.length

    @property
    def default_episodes(self) -> int:
        return 50

    def reset(self, key: jax.Array) -> tuple[State, jax.Array]:
        del key
        state = State(jnp.int32(0), jnp.int32(0))
        return state, state.cell

    def step(self, state: State, action: jax.Array, key: jax.Array) -> TimeStep:
        del key
        cell = jnp.clip(state.cell + 2 * action - 1, 0, self.length - 1)
        steps = state.steps + 1
        goal = cell == self.length - 1
        return TimeStep(
            state=State(cell, steps),
            obs=cell,
            reward=goal.astype(jnp.float32),
            discount=1.0 - goal.astype(jnp.float32),
            last=goal | (steps >= self.max_episode_steps),
            info={"goal": goal.astype(jnp.int32), "back": (action == 0).astype(jnp.int32)},
        )
