"""The three small tasks for Gymnasium, and their pictures."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.envs import point_maze
from isl.envs.lock import DIGITS, Lock, combination
from isl.envs.point_maze import PointMaze
from isl.envs.render import GOLD, GREEN, GREY, INK, PAPER, WHITE, Canvas, Colour, text_width
from isl.envs.river_swim import RiverSwim
from isl.envs.task_env import DrawnTaskEnv

WIDTH = 560
ORANGE: Colour = (226, 110, 52)
WATER: Colour = (120, 190, 222)


class _SmallEnv(DrawnTaskEnv):
    """What the pictures have in common."""

    def _canvas(self, height: int) -> Canvas:
        canvas = Canvas.blank(WIDTH, height, PAPER)
        caption = f"STEP {self._steps}/{self.task.max_episode_steps}  RETURN {self._return:.2f}"
        canvas.text(caption, WIDTH - 20 - text_width(caption, 12), 16, 12, INK)
        return canvas


class LockEnv(_SmallEnv):
    """`isl/Lock-v0`."""

    task: Lock

    def __init__(
        self, length: int = 10, mapping_seed: int = 42, render_mode: str | None = None
    ) -> None:
        super().__init__(Lock(length, mapping_seed), render_mode)

    def picture(self) -> NDArray[np.uint8]:
        """A dial per digit, green as far as the combination has been entered."""
        task, right = self.task, int(self._state.right)
        pitch = min((WIDTH - 40) / task.length, 52)
        per_row = int((WIDTH - 40) // pitch)
        rows = -(-task.length // per_row)
        canvas = self._canvas(round(48 + rows * pitch + 20))
        for i, digit in enumerate(combination(task.length, task.mapping_seed)):
            x, y = 20 + (i % per_row + 0.5) * pitch, 48 + (i // per_row + 0.5) * pitch
            now = GREEN if i < right else GREY
            canvas.disc((x, y), 0.44 * pitch, INK)
            canvas.disc((x, y), 0.40 * pitch, now)
            angle = 2 * math.pi * (int(digit) / DIGITS) - math.pi / 2
            tip = (x + 0.3 * pitch * math.cos(angle), y + 0.3 * pitch * math.sin(angle))
            canvas.stroke((x, y), tip, max(0.09 * pitch, 1.5), WHITE if i < right else PAPER)
            if i == right:
                canvas.disc((x, y), 0.14 * pitch, ORANGE)
        return canvas.image()


class RiverSwimEnv(_SmallEnv):
    """`isl/RiverSwim-v0`."""

    task: RiverSwim

    def __init__(self, length: int = 6, render_mode: str | None = None) -> None:
        super().__init__(RiverSwim(length), render_mode)

    def picture(self) -> NDArray[np.uint8]:
        """The river, which flows to the left; the swimmer, and the reward upstream."""
        canvas = self._canvas(176)
        pitch = (WIDTH - 40) / self.task.length
        canvas.box((12, 52), (WIDTH - 12, 152), WATER, corner=14)
        for i in range(self.task.length):  # the faster, the farther upstream
            left = 20 + i * pitch
            shade = 0.12 + 0.4 * i / self.task.length
            for y in (72, 102, 132):
                canvas.stroke((left + 0.2 * pitch, y), (left + 0.8 * pitch, y), 3, WHITE, shade)
            if i:
                canvas.stroke((left, 58), (left, 146), 1, WHITE, 0.6)
        canvas.disc((20 + 0.5 * pitch, 136), 5, GOLD)
        canvas.disc((WIDTH - 20 - 0.5 * pitch, 136), 14, INK)
        canvas.disc((WIDTH - 20 - 0.5 * pitch, 136), 12, GOLD)
        x = 20 + (int(self._state.cell) + 0.5) * pitch
        canvas.stroke((x - 12, 96), (x + 10, 96), 12, ORANGE)
        canvas.disc((x + 18, 94), 9, (250, 204, 160))
        return canvas.image()


class PointMazeEnv(_SmallEnv):
    """`isl/PointMaze-v0`."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(PointMaze(), render_mode)
        self._path: list[tuple[float, float]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._path = []
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._path.append(self._place())
        return super().step(action)

    def _place(self) -> tuple[float, float]:
        x, y = (float(value) for value in self._state.place)
        return x, y

    def picture(self) -> NDArray[np.uint8]:
        """The labyrinth from above, the point and the way it came."""
        walls = point_maze.plan()
        side = (WIDTH - 40) / len(walls)
        canvas = self._canvas(round(48 + side * len(walls) + 20))

        def at(x: float, y: float) -> tuple[float, float]:
            return 20 + x * side, 48 + y * side

        canvas.box(at(0, 0), at(*walls.shape[::-1]), WHITE)
        for row, column in zip(*np.nonzero(walls), strict=True):
            canvas.box(at(column, row), at(column + 1, row + 1), (84, 98, 122))
        goal = point_maze.cell_of("G")
        canvas.box(at(*goal), at(goal[0] + 1, goal[1] + 1), GREEN)
        canvas.disc(at(goal[0] + 0.5, goal[1] + 0.5), 0.26 * side, GOLD)
        way = [*self._path, self._place()]
        for a, b in pairwise(way):
            canvas.stroke(at(*a), at(*b), 3, ORANGE, 0.5)
        canvas.disc(at(*way[-1]), 0.24 * side, INK)
        canvas.disc(at(*way[-1]), 0.19 * side, ORANGE)
        return canvas.image()
