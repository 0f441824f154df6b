"""The rules of MiniGrid: turning, walking, carrying, opening doors.

A step has no branches: every action's effect is computed on the one cell in front of the agent, and
the right one is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from isl import threefry
from isl.envs.base import TimeStep
from isl.envs.minigrid import cells, view

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
NUM_ACTIONS = 7


class GridState(NamedTuple):
    """An episode of any of the tasks."""

    grid: jax.Array  # uint16 codes of the padded grid, row by row
    position: jax.Array  # of the agent in it
    direction: jax.Array  # 0 to 3: right, down, left, up
    carrying: jax.Array  # the code of an object; that of an empty cell: nothing
    steps: jax.Array


@dataclass(frozen=True)
class GridTask:
    """What the tasks have in common. A task adds the size of its grid and how it is drawn.

    Success is to enter a goal, or to pick up a ball: the only task with a ball asks for that.
    """

    see_through: ClassVar[bool] = False  # whether walls hide what is behind them
    costly_reset: ClassVar[bool] = True  # a loop should draw a grid only when an episode has ended

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def width(self) -> int:
        raise NotImplementedError

    @property
    def height(self) -> int:
        raise NotImplementedError

    @property
    def max_episode_steps(self) -> int:
        raise NotImplementedError

    def draw(self, key: jax.Array) -> Layout:
        """A grid with the distribution of MiniGrid's generator."""
        raise NotImplementedError

    @property
    def observation_space(self) -> Box:
        return Box(0, 255, (view.SIZE, view.SIZE, 3), np.uint8)

    @property
    def num_actions(self) -> int:
        return NUM_ACTIONS

    @property
    def default_episodes(self) -> int:
        return 10_000

    @property
    def stride(self) -> int:
        """Length of a row of the padded grid."""
        return self.width + 2 * view.PADDING

    def reset(self, key: jax.Array) -> tuple[GridState, jax.Array]:
        """A new grid."""
        layout = self.draw(key)
        padded = jnp.pad(layout.grid, view.PADDING, constant_values=cells.WALL)
        position = (layout.y + view.PADDING) * self.stride + layout.x + view.PADDING
        state = GridState(
            grid=padded.astype(jnp.uint16).ravel(),
            position=jnp.asarray(position, jnp.int32),
            direction=jnp.asarray(layout.direction, jnp.int32),
            carrying=jnp.uint16(cells.EMPTY),
            steps=jnp.int32(0),
        )
        return state, self.observe(state)

    def observe(self, state: GridState) -> jax.Array:
        """The view of the agent."""
        offsets = jnp.asarray(_offsets(self.stride))
        around = state.position + offsets[state.direction]
        return view.observe(state.grid, around, state.carrying, self.see_through)

    def step(self, state: GridState, action: jax.Array, key: jax.Array) -> TimeStep:
        """One action of MiniGrid: left, right, forward, pick up, drop, toggle, done."""
        del key
        grid, position, direction, carrying, steps = state
        front = position + jnp.asarray(_ahead(self.stride))[direction]
        cell = grid.at[front].get(mode="promise_in_bounds")
        kind, colour, door = cells.unpacked(cell)

        turn = (action == RIGHT).astype(jnp.int32) - (action == LEFT).astype(jnp.int32)
        free = (kind == cells.EMPTY_TYPE) | (kind == cells.GOAL_TYPE)
        free |= (kind == cells.DOOR_TYPE) & (door == cells.OPEN)
        walks = (action == FORWARD) & free

        empty_handed = carrying == cells.EMPTY
        portable = (kind == cells.KEY_TYPE) | (kind == cells.BALL_TYPE)
        picks = (action == PICK_UP) & portable & empty_handed
        drops = (action == DROP) & (cell == cells.EMPTY)
        # Picking up and dropping both swap the hand with the cell: one of the two is empty.
        swaps = picks | drops

        fits = carrying == cells.pack(cells.KEY_TYPE, colour)
        moves_door = (action == TOGGLE) & (kind == cells.DOOR_TYPE)
        moves_door &= (door != cells.LOCKED) | fits
        state_after = jnp.where(door == cells.OPEN, cells.CLOSED, cells.OPEN).astype(cell.dtype)
        toggled = cells.pack(kind, colour, state_after)
        cell_after = jnp.where(swaps, carrying, jnp.where(moves_door, toggled, cell))

        steps = steps + 1
        state = GridState(
            grid=jax.lax.dynamic_update_index_in_dim(grid, cell_after, front, 0),
            position=jnp.where(walks, front, position),
            direction=(direction + turn) & 3,
            carrying=jnp.where(swaps, cell, carrying),
            steps=steps,
        )
        found = walks & (kind == cells.GOAL_TYPE) | picks & (kind == cells.BALL_TYPE)
        limit = self.max_episode_steps
        return TimeStep(
            state=state,
            obs=self.observe(state),
            reward=jnp.where(found, 1.0 - 0.9 * (steps.astype(jnp.float32) / limit), 0.0),
            discount=1.0 - found.astype(jnp.float32),
            last=found | (steps >= limit),
            info={"goal": found.astype(jnp.int32)},
        )

    def landmarks(self) -> dict[str, jax.Array]:
        """Observations that say where learning stands: a start, and the last step to success."""
        state, start = self.reset(jax.random.key(0))
        grid, ahead = np.array(state.grid), _ahead(self.stride)
        (end,) = np.flatnonzero((grid & 15 == cells.GOAL_TYPE) | (grid & 15 == cells.BALL_TYPE))
        way = next((d for d in range(4) if grid[end - ahead[d]] == cells.EMPTY), None)
        if way is None:  # a ball in a room of one cell, behind its door
            way = next(d for d in range(4) if grid[end - ahead[d]] & 15 == cells.DOOR_TYPE)
            grid[end - ahead[way]] &= 127  # opens it
        before = state._replace(
            grid=jnp.asarray(grid),
            position=jnp.int32(end - ahead[way]),
            direction=jnp.int32(way),
        )
        return {"start": start, "at the end": self.observe(before)}


class Layout(NamedTuple):
    """A grid as a task draws it, and the agent in it."""

    grid: jax.Array  # codes [height, width]
    x: Any
    y: Any
    direction: Any


@lru_cache(maxsize=64)
def _offsets(stride: int) -> NDArray[np.int32]:
    return view.offsets(stride)


@lru_cache(maxsize=64)
def _ahead(stride: int) -> NDArray[np.int32]:
    return np.array([dx + stride * dy for dx, dy in view.FORWARD], np.int32)


# --- Drawing ------------------------------------------------------------------------------------


def walled(width: int, height: int) -> NDArray[np.int32]:
    """An empty room [height, width] with a wall around it."""
    grid = np.full((height, width), cells.WALL, np.int32)
    grid[1:-1, 1:-1] = cells.EMPTY
    return grid


def put(grid: jax.Array, x: Any, y: Any, code: Any) -> jax.Array:
    """The grid with an object at (x, y)."""
    return grid.at[y, x].set(code)


def integers(key: jax.Array, *sizes: Any, skip: Any = 0) -> list[jax.Array]:
    """Independent numbers, each uniform in 0 … size − 1; `skip`: see `threefry.bits`."""
    words = threefry.bits(key, (len(sizes),), skip)
    # The remainder is biased by size/2³².
    return [
        (word % jnp.asarray(size).astype(jnp.uint32)).astype(jnp.int32)
        for word, size in zip(words, sizes, strict=True)
    ]


def until(key: jax.Array, accept: Callable[..., jax.Array], *sizes: int) -> list[jax.Array]:
    """Independent uniform numbers below `sizes`, drawn again until they are accepted."""

    def again(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        drawn = carry[0]
        values = integers(key, *sizes, skip=drawn)
        return drawn + len(sizes), values, accept(*values)

    start = (jnp.uint32(0), [jnp.int32(0)] * len(sizes), jnp.bool_(False))
    values: list[jax.Array] = jax.lax.while_loop(lambda carry: ~carry[2], again, start)[1]
    return values
