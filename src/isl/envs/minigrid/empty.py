"""Empty: one room, the agent in a corner, the goal in the opposite one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from isl.envs.base import check_number
from isl.envs.minigrid import cells
from isl.envs.minigrid.grid import GridTask, Layout, put, walled


@dataclass(frozen=True)
class Empty(GridTask):
    """MiniGrid-Empty-NxN-v0: a room of `size` N with its walls. Walls hide nothing."""

    SIZES: ClassVar[range] = range(4, 101)
    see_through: ClassVar[bool] = True

    size: int

    def __post_init__(self) -> None:
        check_number("Empty's size", self.size, self.SIZES)

    @property
    def name(self) -> str:
        return f"empty/{self.size}"

    @property
    def width(self) -> int:
        return self.size

    @property
    def height(self) -> int:
        return self.size

    @property
    def max_episode_steps(self) -> int:
        return 4 * self.size**2

    def draw(self, key: jax.Array) -> Layout:
        """Always the same."""
        del key
        room = jnp.asarray(walled(self.size, self.size))
        return Layout(put(room, self.size - 2, self.size - 2, cells.GOAL), 1, 1, 0)
