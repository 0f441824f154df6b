"""FourRooms: four rooms with gaps between them; agent and goal anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from isl.envs.minigrid import cells
from isl.envs.minigrid.grid import GridTask, Layout, integers, put, until, walled

SIZE = 19
HALF = SIZE // 2  # the row and the column of the inner walls


@dataclass(frozen=True)
class FourRooms(GridTask):
    """MiniGrid-FourRooms-v0."""

    @property
    def name(self) -> str:
        return "four_rooms"

    @property
    def width(self) -> int:
        return SIZE

    @property
    def height(self) -> int:
        return SIZE

    @property
    def max_episode_steps(self) -> int:
        return 100

    def draw(self, key: jax.Array) -> Layout:
        """A gap in each of the four inner walls; agent and goal in any two empty cells."""
        key_gaps, key_agent, key_goal = jax.random.split(key, 3)
        rooms = walled(SIZE, SIZE)
        rooms[HALF, :] = rooms[:, HALF] = cells.WALL
        grid = jnp.asarray(rooms)
        up, left, right, down, direction = integers(key_gaps, *[HALF - 1] * 4, 4)
        for x, y in ((HALF, 1 + up), (1 + left, HALF), (HALF + 1 + right, HALF)):
            grid = put(grid, x, y, cells.EMPTY)
        grid = put(grid, HALF, HALF + 1 + down, cells.EMPTY)
        x, y = until(key_agent, lambda x, y: grid[y, x] == cells.EMPTY, SIZE, SIZE)

        def vacant(to_x: jax.Array, to_y: jax.Array) -> jax.Array:
            elsewhere = (to_x != x) | (to_y != y)
            return jnp.logical_and(grid[to_y, to_x] == cells.EMPTY, elsewhere)

        goal_x, goal_y = until(key_goal, vacant, SIZE, SIZE)
        return Layout(put(grid, goal_x, goal_y, cells.GOAL), x, y, direction)
