"""Two small Gymnasium environments with many actions, for `isl reproduce untuned`.

Both show floats, so that nothing is a table, and pay 1 at the end of a way that only the right
actions go; every step costs a little.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class Knobs(gymnasium.Env[NDArray[np.float32], NDArray[np.int64]]):
    """Two knobs from 0 to 9, each turned down, left or turned up; both at 9 is the goal."""

    places, cost = 10, 0.01

    def __init__(self) -> None:
        self.observation_space = Box(0.0, 1.0, (2,), np.float32)
        self.action_space = MultiDiscrete([3, 3])
        self._at = np.zeros(2, np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._at = np.zeros(2, np.int64)
        return self._seen(), {}

    def step(self, action: NDArray[np.int64]) -> Step:
        self._at = np.clip(self._at + np.asarray(action) - 1, 0, self.places - 1)
        done = bool((self._at == self.places - 1).all())
        return self._seen(), float(done) - self.cost, done, False, {}

    def _seen(self) -> NDArray[np.float32]:
        return (self._at / (self.places - 1)).astype(np.float32)


class Keys(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Eight doors in a row, each opened by one of 64 keys; another key changes nothing."""

    doors, keys, cost = 8, 64, 0.002

    def __init__(self) -> None:
        self.observation_space = Box(-1.0, 1.0, (3,), np.float32)
        self.action_space = Discrete(self.keys)
        self._right = np.random.default_rng(0).permutation(self.keys)[: self.doors]
        self._at = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._at = 0
        return self._seen(), {}

    def step(self, action: np.int64) -> Step:
        self._at += int(action == self._right[self._at])
        done = self._at == self.doors
        return self._seen(), float(done) - self.cost, done, False, {}

    def _seen(self) -> NDArray[np.float32]:
        angle = np.pi * self._at / self.doors
        return np.array([self._at / self.doors, np.sin(angle), np.cos(angle)], np.float32)


gymnasium.register("isl/Knobs-v0", "isl.paper.grids:Knobs", max_episode_steps=100)
gymnasium.register("isl/Keys-v0", "isl.paper.grids:Keys", max_episode_steps=500)
