"""The tasks as Gymnasium environments: `isl/DeepSea-v0` and `isl/CartpoleSwingup-v0`.

A jitted step costs more in dispatch than these tasks cost in plain Python, so the few lines of
their dynamics are written here once more, on ints and floats. The tests hold both versions equal.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from isl.envs import cartpole_swingup as cartpole
from isl.envs import deep_sea
from isl.envs.cartpole_swingup import CartpoleSwingup
from isl.envs.deep_sea import DeepSea
from isl.envs.render import draw_cartpole, draw_deep_sea
from isl.errors import UsageError


def _metadata(fps: int) -> dict[str, Any]:
    return {"render_modes": ["rgb_array"], "render_fps": fps}


class _PlainEnv(gymnasium.Env[Any, Any]):
    """What both have in common: the episode's bookkeeping and the checks on what callers pass."""

    def __init__(self, num_actions: int, render_mode: str | None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise UsageError(f"render_mode must be None or one of {modes}, got {render_mode!r}")
        self.render_mode = render_mode
        self.action_space = Discrete(num_actions)
        self._actions = range(num_actions)
        self._over = True
        self._return = 0.0

    def _begin(self, seed: int | None) -> None:
        super().reset(seed=seed)
        self._over = False
        self._return = 0.0

    def _check(self, action: Any) -> int:
        if self._over:
            raise ResetNeeded("the episode is over (or has not begun): call reset() before step()")
        if action not in self._actions:
            raise UsageError(f"action must be one of {list(self._actions)}, got {action!r}")
        return int(action)


class DeepSeaEnv(_PlainEnv):
    """Deep Sea: `Discrete(N²)` observations, or with `one_hot` bsuite's N × N grid.

    After the last move bsuite's grid is empty; a `Discrete` observation cannot be, and shows the
    column in the last row. `info["goal"]` says whether this step found the treasure.
    """

    metadata = _metadata(fps=8)

    def __init__(
        self,
        size: int = 20,
        stochastic: bool = False,
        mapping_seed: int = 42,
        one_hot: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.task = DeepSea(size, stochastic, mapping_seed)
        super().__init__(self.task.num_actions, render_mode)
        self.one_hot = one_hot
        self.observation_space = (
            Box(0.0, 1.0, (size, size), np.float32) if one_hot else self.task.observation_space
        )
        self._right_action = deep_sea.action_mapping(size, mapping_seed)
        self._row = self._column = 0
        self._path: list[tuple[int, int]] = []  # the cells of this episode
        self._found = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._begin(seed)
        self._row = self._column = 0
        self._path = [(0, 0)]
        self._found = False
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        action = self._check(action)
        size, row, column = self.task.size, self._row, self._column
        right = bool(action == self._right_action[row, column])
        goal = right and column == size - 1
        reward = float(goal) - right * deep_sea.MOVE_COST / size
        shift = 1 if right else -1
        if self.task.stochastic:
            if row == size - 1 and column in (0, size - 1):
                reward += float(self.np_random.standard_normal())
            if right and self.np_random.random() < 1 / size:
                shift = 0
        self._row, self._column = row + 1, min(max(column + shift, 0), size - 1)
        self._over = self._row == size
        if not self._over:
            self._path.append((self._row, self._column))
        self._found = goal
        self._return += reward
        return self._observation(), reward, self._over, False, {"goal": goal}

    def _observation(self) -> int | NDArray[np.float32]:
        size = self.task.size
        if not self.one_hot:
            return min(self._row, size - 1) * size + self._column
        grid = np.zeros((size, size), np.float32)
        if self._row < size:
            grid[self._row, self._column] = 1.0
        return grid

    def render(self) -> NDArray[np.uint8] | None:
        """The picture of this moment if `render_mode="rgb_array"`, else nothing."""
        if self.render_mode is None:
            return None
        return draw_deep_sea(self.task.size, self._path, self._found, self._row, self._return)


class CartpoleSwingupEnv(_PlainEnv):
    """Cartpole swing-up in float64, as bsuite runs it; observations are float32.

    `terminated` also at the time-out: the observation tells the time, so the end is foreseeable.
    """

    metadata = _metadata(fps=round(1 / cartpole.TIME_STEP))  # real time

    def __init__(self, difficulty: int = 10, render_mode: str | None = None) -> None:
        self.task = CartpoleSwingup(difficulty)
        super().__init__(self.task.num_actions, render_mode)
        self.observation_space = self.task.observation_space
        self._x = self._x_dot = self._swing = self._theta_dot = 0.0
        self._steps = 0
        self._push = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self._begin(seed)
        start = self.np_random.uniform(-cartpole.START_RANGE, cartpole.START_RANGE, 4)
        self._x, self._x_dot, self._swing, self._theta_dot = map(float, start)
        self._steps = 0
        self._push = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._push = push = self._check(action) - 1
        self._integrate(push)
        reward = float(all(self._conditions())) - cartpole.MOVE_COST * abs(push)
        self._over = self._steps >= cartpole.MAX_STEPS or abs(self._x) > cartpole.EDGE
        self._return += reward
        return self._observation(), reward, self._over, False, {}

    def _integrate(self, push: int) -> None:
        sin, cos = -math.sin(self._swing), -math.cos(self._swing)
        x_acc, theta_acc = cartpole.accelerations(float(push), sin, cos, self._theta_dot)
        self._x += cartpole.TIME_STEP * self._x_dot
        self._x_dot += cartpole.TIME_STEP * x_acc
        swing = self._swing + cartpole.TIME_STEP * self._theta_dot
        self._swing = swing - cartpole.FULL_TURN * round(swing / cartpole.FULL_TURN)
        self._theta_dot += cartpole.TIME_STEP * theta_acc
        self._steps += 1

    def _conditions(self) -> tuple[bool, bool, bool]:
        """Is the pole (high, slow, central)? All three earn the reward."""
        return (
            -math.cos(self._swing) > self.task.height,
            abs(self._theta_dot) < cartpole.SLOW,
            abs(self._x) < self.task.centre,
        )

    def _observation(self) -> NDArray[np.float32]:
        _, slow, central = self._conditions()
        return np.array(
            [
                self._x / cartpole.EDGE,
                self._x_dot / cartpole.EDGE,
                -math.sin(self._swing),
                -math.cos(self._swing),
                self._theta_dot,
                self._steps * (cartpole.TIME_STEP / cartpole.MAX_TIME),
                1.0 if central else -1.0,
                1.0 if slow else -1.0,
            ],
            np.float32,
        )

    def render(self) -> NDArray[np.uint8] | None:
        """The picture of this moment if `render_mode="rgb_array"`, else nothing."""
        if self.render_mode is None:
            return None
        return draw_cartpole(
            self.task,
            x=self._x,
            swing=self._swing,
            push=self._push,
            conditions=self._conditions(),
            steps=self._steps,
            episode_return=self._return,
        )
