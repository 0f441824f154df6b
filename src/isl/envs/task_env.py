"""A compiled task as a Gymnasium environment; every step is a compiled call."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from isl.envs.base import Environment, State, TimeStep
from isl.errors import UsageError


# The task is a static argument: environments of equal tasks share their compiled functions.
@partial(jax.jit, static_argnums=0)
def _reset(task: Environment, seed: Any) -> tuple[State, jax.Array]:
    return task.reset(jax.random.key(seed))


@partial(jax.jit, static_argnums=0)
def _step(task: Environment, state: State, action: Any, seed: Any) -> TimeStep:
    return task.step(state, action, jax.random.key(seed))


class TaskEnv(gymnasium.Env[Any, Any]):
    """The task; `info` holds its facts. Subclasses add the arguments of a task and its picture."""

    metadata = {"render_modes": [], "render_fps": 8}  # noqa: RUF012  Gymnasium's convention

    def __init__(self, task: Environment, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise UsageError(f"render_mode must be None or one of {modes}, got {render_mode!r}")
        self.task = task
        self.render_mode = render_mode
        self.observation_space = task.observation_space
        self.action_space = spaces.Discrete(task.num_actions)
        self._actions = range(task.num_actions)
        self._state: Any = None
        self._over = True
        self._steps = 0
        self._return = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._state, obs = _reset(self.task, self._seed())
        self._over, self._steps, self._return = False, 0, 0.0
        return self._plain(obs), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise ResetNeeded("the episode is over (or has not begun): call reset() before step()")
        if action not in self._actions:
            raise UsageError(f"action must be one of {list(self._actions)}, got {action!r}")
        ts = _step(self.task, self._state, np.int32(action), self._seed())
        self._state = ts.state
        reward, self._over = float(ts.reward), bool(ts.last)
        self._steps += 1
        self._return += reward
        terminated = self._over and bool(ts.discount == 0)
        info = {name: int(value) for name, value in ts.info.items()}
        return self._plain(ts.obs), reward, terminated, self._over and not terminated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The picture of this moment if `render_mode="rgb_array"`, else nothing."""
        return None if self.render_mode is None else self.picture()

    def picture(self) -> NDArray[np.uint8]:
        """What `render` shows, for tasks that can be drawn."""
        raise NotImplementedError

    def _seed(self) -> np.uint32:
        return np.uint32(self.np_random.integers(2**32))

    def _plain(self, obs: jax.Array) -> Any:
        array = np.asarray(obs)
        return int(array) if isinstance(self.observation_space, spaces.Discrete) else array


class DrawnTaskEnv(TaskEnv):
    """A task with a picture."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012
