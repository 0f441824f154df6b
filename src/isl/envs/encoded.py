"""A compiled task whose observations are encoded as the replay holds them.

The host loop encodes what Python environments give; the compiled loop stores what the task gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from gymnasium.spaces import Box, Discrete, Space

from isl.envs.base import Environment, State, TimeStep
from isl.envs.spaces import Observations


def encoded(task: Environment, observations: Observations) -> Environment:
    """The task itself, if its observations are stored as they are."""
    given, stored = observations.space, observations.stored
    if isinstance(given, Discrete) and isinstance(stored, Discrete) and given.start == 0:
        return task
    same = isinstance(given, Box) and (given.shape, given.dtype) == (stored.shape, stored.dtype)
    return task if same else Encoded(task, observations)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The task `task`, seen through `observations`."""

    task: Environment
    observations: Observations

    def __getattr__(self, name: str) -> Any:
        """What tasks may have beyond `Environment`, such as `costly_reset`."""
        return getattr(self.task, name)

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def observation_space(self) -> Space[Any]:
        return self.observations.stored

    @property
    def num_actions(self) -> int:
        return self.task.num_actions

    @property
    def max_episode_steps(self) -> int:
        return self.task.max_episode_steps

    @property
    def default_episodes(self) -> int:
        return self.task.default_episodes

    def reset(self, key: jax.Array) -> tuple[State, jax.Array]:
        state, obs = self.task.reset(key)
        return state, self.observations.encode(obs, jnp)

    def step(self, state: State, action: jax.Array, key: jax.Array) -> TimeStep:
        step = self.task.step(state, action, key)
        return step._replace(obs=self.observations.encode(step.obs, jnp))
