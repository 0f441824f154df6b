"""DoorKey: fetch the key, unlock the door in the wall, reach the goal behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from isl.envs.base import check_number
from isl.envs.minigrid import cells
from isl.envs.minigrid.grid import GridTask, Layout, integers, put, walled

DOOR = cells.pack(cells.DOOR_TYPE, cells.YELLOW, cells.LOCKED)
KEY = cells.pack(cells.KEY_TYPE, cells.YELLOW)


@dataclass(frozen=True)
class DoorKey(GridTask):
    """MiniGrid-DoorKey-NxN-v0: a room of `size` N, walls included, cut in two by a wall."""

    SIZES: ClassVar[range] = range(5, 101)

    size: int

    def __post_init__(self) -> None:
        check_number("DoorKey's size", self.size, self.SIZES)

    @property
    def name(self) -> str:
        return f"door_key/{self.size}"

    @property
    def width(self) -> int:
        return self.size

    @property
    def height(self) -> int:
        return self.size

    @property
    def max_episode_steps(self) -> int:
        return 10 * self.size**2

    def draw(self, key: jax.Array) -> Layout:
        """Agent and key are uniform over the cells left of the wall, never in the same one."""
        size = self.size
        key_split, key_rest = jax.random.split(key)
        (split,) = integers(key_split, size - 4)
        split += 2
        left = (split - 1) * (size - 2)  # cells left of the wall
        door_y, agent, other, direction = integers(key_rest, size - 3, left, left - 1, 4)
        other += other >= agent
        grid = put(jnp.asarray(walled(size, size)), size - 2, size - 2, cells.GOAL)
        grid = grid.at[:, split].set(cells.WALL)
        grid = put(grid, split, 1 + door_y, DOOR)
        grid = put(grid, 1 + other // (size - 2), 1 + other % (size - 2), KEY)
        return Layout(grid, 1 + agent // (size - 2), 1 + agent % (size - 2), direction)
