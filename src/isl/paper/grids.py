"""Small Gymnasium environments for `isl reproduce`: two with many actions, two to find a way in.

All pay 1 at the end of a way that only the right actions go. In all but `Pixels` every step costs a
little.
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


MOVES = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])  # down, right, up, left, as (x, y)


class Labyrinth(gymnasium.Env[Any, np.int64]):
    """From one corner to the opposite one between walls; there is one way without turning back.

    Args:
        table: show the number of the cell instead of its place (x, y).
    """

    size, cost = 7, 0.01

    def __init__(self, table: bool = False) -> None:
        self.table = table
        place = Box(0.0, 1.0, (2,), np.float32)
        self.observation_space = Discrete(self.size**2) if table else place
        self.action_space = Discrete(len(MOVES))
        self._open = passages(self.size)
        self._at = (0, 0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = (0, 0)
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._open[(*self._at, int(action))]:
            self._at = _moved(self._at, int(action))
        done = self._at == (self.size - 1, self.size - 1)
        return self._seen(), float(done) - self.cost, done, False, {}

    def _seen(self) -> Any:
        x, y = self._at
        if self.table:
            return x * self.size + y
        return (np.array(self._at) / (self.size - 1)).astype(np.float32)


def passages(size: int) -> NDArray[np.bool_]:
    """[x, y, move]: where one can go, in a labyrinth drawn by walking at random and back."""
    rng, start = np.random.default_rng(7), (0, 0)
    open_, seen, trail = np.zeros((size, size, len(MOVES)), np.bool_), {start}, [start]
    while trail:
        at = trail[-1]
        ways = [(move, _moved(at, move)) for move in rng.permutation(len(MOVES))]
        ways = [(move, to) for move, to in ways if to not in seen and _within(to, size)]
        if not ways:
            trail.pop()
            continue
        move, to = ways[0]
        open_[(*at, move)] = open_[(*to, (move + 2) % len(MOVES))] = True
        seen.add(to)
        trail.append(to)
    return open_


def _moved(at: tuple[int, int], move: int) -> tuple[int, int]:
    dx, dy = MOVES[move]
    return at[0] + int(dx), at[1] + int(dy)


def _within(at: tuple[int, int], size: int) -> bool:
    return min(at) >= 0 and max(at) < size


class Pixels(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """A picture of `size` × `size` pixels: a bright one moves, the goal is in the far corner."""

    def __init__(self, size: int = 16) -> None:
        self.size = size
        self.observation_space = Box(0, 255, (self.size, self.size, 1), np.uint8)
        self.action_space = Discrete(len(MOVES))
        self._at = (0, 0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        super().reset(seed=seed)
        self._at = (0, 0)
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        to = _moved(self._at, int(action))
        self._at = to if _within(to, self.size) else self._at
        done = self._at == (self.size - 1, self.size - 1)
        return self._seen(), float(done), done, False, {}

    def _seen(self) -> NDArray[np.uint8]:
        picture = np.zeros((self.size, self.size, 1), np.uint8)
        picture[-1, -1] = 128
        picture[self._at[1], self._at[0]] = 255
        return picture


gymnasium.register("isl/Labyrinth-v0", "isl.paper.grids:Labyrinth", max_episode_steps=200)
gymnasium.register("isl/Pixels-v0", "isl.paper.grids:Pixels", max_episode_steps=100)
gymnasium.register("isl/Knobs-v0", "isl.paper.grids:Knobs", max_episode_steps=100)
gymnasium.register("isl/Keys-v0", "isl.paper.grids:Keys", max_episode_steps=500)
