"""A point in a labyrinth: two floats as the observation, a reward at the far end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from isl.envs.base import TimeStep

# S: start, G: goal, #: wall. A cell is one unit wide.
PLAN = (
    "###########",
    "#S#     # #",
    "# # ### # #",
    "# #   # # #",
    "# ### # # #",
    "#   # #   #",
    "### # #####",
    "#   # #   #",
    "# ### # # #",
    "#       #G#",
    "###########",
)
STRIDE = 0.4  # of a step
JITTER = 0.1  # standard deviation of where a step ends, on each axis
MOVES = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))  # right, down, left, up


def plan() -> NDArray[np.bool_]:
    """Where the walls are: [row, column]."""
    return np.array([[letter == "#" for letter in row] for row in PLAN])


def cell_of(letter: str) -> tuple[int, int]:
    """(column, row) of the start or the goal."""
    row = next(i for i, line in enumerate(PLAN) if letter in line)
    return PLAN[row].index(letter), row


class MazeState(NamedTuple):
    """Where the point is; the top left corner of the plan is (0, 0)."""

    place: jax.Array  # (x, y)
    steps: jax.Array


@dataclass(frozen=True)
class PointMaze:
    """Four noisy moves. A wall stops the part of a move that runs into it. The goal earns 1."""

    costly_reset: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "point_maze"

    @property
    def observation_space(self) -> Box:
        return Box(-1.0, 1.0, (2,), np.float32)

    @property
    def num_actions(self) -> int:
        return len(MOVES)

    @property
    def max_episode_steps(self) -> int:
        return 300

    @property
    def default_episodes(self) -> int:
        return 1_000

    def reset(self, key: jax.Array) -> tuple[MazeState, jax.Array]:
        """Anywhere in the middle half of the first cell."""
        corner = jnp.asarray(cell_of("S"), jnp.float32)
        place = corner + jax.random.uniform(key, (2,), minval=0.25, maxval=0.75)
        state = MazeState(place, jnp.int32(0))
        return state, self.observe(state)

    def observe(self, state: MazeState) -> jax.Array:
        """(x, y) from −1 to 1 across the plan."""
        return state.place * (2.0 / len(PLAN)) - 1.0

    def step(self, state: MazeState, action: jax.Array, key: jax.Array) -> TimeStep:
        """Move, on each axis as far as the walls allow."""
        move = STRIDE * jnp.asarray(MOVES, jnp.float32)[action]
        x, y = state.place + jnp.clip(move + JITTER * jax.random.normal(key, (2,)), -0.9, 0.9)
        old_x, old_y = state.place
        x = jnp.where(self._is_wall(x, old_y), old_x, x)
        y = jnp.where(self._is_wall(x, y), old_y, y)
        goal_x, goal_y = cell_of("G")
        found = (jnp.floor(x) == goal_x) & (jnp.floor(y) == goal_y)
        steps = state.steps + 1
        state = MazeState(jnp.stack([x, y]), steps)
        return TimeStep(
            state=state,
            obs=self.observe(state),
            reward=found.astype(jnp.float32),
            discount=1.0 - found.astype(jnp.float32),
            last=found | (steps >= self.max_episode_steps),
            info={"goal": found.astype(jnp.int32)},
        )

    def landmarks(self) -> dict[str, jax.Array]:
        """Observations that say where learning stands."""
        places = {"start": cell_of("S"), "before the goal": (cell_of("G")[0], cell_of("G")[1] - 1)}
        return {
            name: self.observe(MazeState(jnp.asarray(cell, jnp.float32) + 0.5, jnp.int32(0)))
            for name, cell in places.items()
        }

    @staticmethod
    def _is_wall(x: jax.Array, y: jax.Array) -> jax.Array:
        walls: jax.Array = jnp.asarray(plan())[y.astype(jnp.int32), x.astype(jnp.int32)]
        return walls
