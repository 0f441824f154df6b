"""KeyCorridor: find the key in a room on the left, fetch the ball behind the locked door."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.envs.base import check_number
from isl.envs.minigrid import cells
from isl.envs.minigrid.grid import GridTask, Layout, integers, put, until, walled
from isl.envs.minigrid.view import FORWARD

COLUMNS = 3


@dataclass(frozen=True)
class KeyCorridor(GridTask):
    """MiniGrid-KeyCorridorS3R1-v0 and its kin: three columns of `rows` square rooms.

    The middle column is one corridor. Rooms have the size `room_size` with their walls.
    """

    ROWS: ClassVar[range] = range(1, 7)
    SIZES: ClassVar[range] = range(3, 11)

    rows: int
    room_size: int = 3

    def __post_init__(self) -> None:
        check_number("KeyCorridor's number of rows", self.rows, self.ROWS)
        check_number("KeyCorridor's room size", self.room_size, self.SIZES)

    @property
    def name(self) -> str:
        return f"key_corridor/{self.rows}{'' if self.room_size == 3 else f'-S{self.room_size}'}"

    @property
    def width(self) -> int:
        return COLUMNS * (self.room_size - 1) + 1

    @property
    def height(self) -> int:
        return self.rows * (self.room_size - 1) + 1

    @property
    def max_episode_steps(self) -> int:
        return 30 * self.room_size**2

    def draw(self, key: jax.Array) -> Layout:
        """A locked door to the ball, its key on the left, doors until all rooms are connected."""
        pitch, inner, edges = self.room_size - 1, self.room_size - 2, _edges(self.rows)
        key_places, key_agent, key_doors = jax.random.split(key, 3)
        colours = [cells.NUM_COLOURS] * 2
        corners = [inner] * (4 + len(edges.first))
        row, key_row, hue, ball_hue, ball_x, ball_y, key_x, key_y, *slides = integers(
            key_places, self.rows, self.rows, *colours, *corners
        )
        slide = jnp.stack(slides)
        locked = jnp.asarray(edges.into_last)[row]
        grid = jnp.asarray(_rooms(self.rows, self.room_size))
        ball, its_key = cells.pack(cells.BALL_TYPE, ball_hue), cells.pack(cells.KEY_TYPE, hue)
        grid = put(grid, 2 * pitch + 1 + ball_x, row * pitch + 1 + ball_y, ball)
        grid = put(grid, 1 + key_x, key_row * pitch + 1 + key_y, its_key)
        # Where each door would be: in the wall between two rooms, not in its corners.
        door_x = jnp.asarray(edges.x * pitch) + jnp.where(edges.sideways, 0, 1 + slide)
        door_y = jnp.asarray(edges.y * pitch) + jnp.where(edges.sideways, 1 + slide, 0)
        locked_door = cells.pack(cells.DOOR_TYPE, hue, cells.LOCKED)
        grid = put(grid, door_x[locked], door_y[locked], locked_door)

        # The agent must not look at an object. The other doors come later and do not count.
        def fair(dx: jax.Array, dy: jax.Array, direction: jax.Array) -> jax.Array:
            x, y = pitch + dx, self.rows // 2 * pitch + dy
            step = jnp.asarray(FORWARD)[direction]
            ahead = grid[y + step[1], x + step[0]]
            undisturbed = (ahead == cells.EMPTY) | (ahead == cells.WALL)
            return jnp.logical_and(grid[y, x] == cells.EMPTY, undisturbed)

        dx, dy, direction = until(key_agent, fair, self.room_size, self.room_size, 4)
        exists, hues = _connected(key_doors, edges, row)
        doors = cells.pack(cells.DOOR_TYPE, hues, cells.CLOSED)
        unlocked = exists & (np.arange(len(edges.first)) != locked)
        grid = put(grid, door_x, door_y, jnp.where(unlocked, doors, grid[door_y, door_x]))
        return Layout(grid, pitch + dx, self.rows // 2 * pitch + dy, direction)


class Edges(NamedTuple):
    """The walls in which a door can be; rooms are numbered row by row."""

    first: NDArray[np.int32]  # the room on one side
    second: NDArray[np.int32]
    x: NDArray[np.int32]  # of the wall's corner, in rooms
    y: NDArray[np.int32]
    sideways: NDArray[np.bool_]  # between a room and the one to its right
    of: NDArray[np.int32]  # [rooms, 4]: by room and side (right, down, left, up); −1: no door there
    into_last: NDArray[np.int32]  # by row: the door from the corridor into the last column


@lru_cache(maxsize=16)
def _edges(rows: int) -> Edges:
    found: list[tuple[int, int, int, int, bool]] = []
    of = np.full((rows * COLUMNS, 4), -1, np.int32)
    for y in range(rows):
        for x in range(COLUMNS):
            room = y * COLUMNS + x
            if x + 1 < COLUMNS:
                of[room, 0] = of[room + 1, 2] = len(found)
                found.append((room, room + 1, x + 1, y, True))
            if y + 1 < rows and x != 1:  # the corridor has no walls
                of[room, 1] = of[room + COLUMNS, 3] = len(found)
                found.append((room, room + COLUMNS, x, y + 1, False))
    first, second, xs, ys, sideways = (np.array(part) for part in zip(*found, strict=True))
    return Edges(first, second, xs, ys, sideways, of, of[COLUMNS - 1 :: COLUMNS, 2])


@lru_cache(maxsize=16)
def _rooms(rows: int, room_size: int) -> NDArray[np.int32]:
    """The walls of all rooms, without those across the corridor."""
    pitch = room_size - 1
    grid = walled(COLUMNS * pitch + 1, rows * pitch + 1)
    grid[::pitch, :] = grid[:, ::pitch] = cells.WALL
    grid[1:-1, pitch + 1 : 2 * pitch] = cells.EMPTY
    return grid


def _connected(key: jax.Array, edges: Edges, row: jax.Array) -> tuple[jax.Array, jax.Array]:
    """MiniGrid's `connect_all`: random doors until every room can be reached from the corridor.

    Args:
        key: of the draws.
        edges: where doors can be.
        row: of the locked room in the last column. It gets no second door.

    Returns:
        By edge: whether there is a door, and its colour. The locked door is one of them.
    """
    rooms, count = edges.of.shape[0], len(edges.first)
    number = np.arange(rooms)
    touches = (edges.first[:, None] == number) | (edges.second[:, None] == number)
    corridor = jnp.asarray(number % COLUMNS == 1)
    shut = jnp.asarray(touches)[:, row * COLUMNS + COLUMNS - 1]

    def all_reached(exists: jax.Array) -> jax.Array:
        reached = corridor
        for _ in range(rooms // COLUMNS):  # a way from the corridor passes a column at most
            lit = exists & (touches & reached[None, :]).any(axis=1)
            reached = reached | (touches & lit[:, None]).any(axis=0)
        return reached.all()

    def again(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        exists, hues, drawn = carry
        room, side, hue = integers(key, rooms, 4, cells.NUM_COLOURS, skip=drawn)
        edge = jnp.asarray(edges.of)[room, side]
        new = (np.arange(count) == edge) & ~exists & ~shut
        return exists | new, jnp.where(new, hue, hues), drawn + 3

    start = (jnp.arange(count) == jnp.asarray(edges.into_last)[row], jnp.zeros(count, jnp.int32))
    exists, hues, _ = jax.lax.while_loop(
        lambda carry: ~all_reached(carry[0]), again, (*start, jnp.uint32(0))
    )
    return exists, hues
