"""MultiRoom: a chain of rooms behind closed doors; the goal is in the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from isl.envs.base import check_number
from isl.envs.minigrid import cells
from isl.envs.minigrid.grid import GridTask, Layout, integers
from isl.errors import UsageError

EXTENT = 25  # width and height of the map
SMALLEST = 4  # a room with its walls
TRIES = 8  # of every room to place the one after it
EAST, SOUTH, WEST, NORTH = range(4)


class Chain(NamedTuple):
    """Rooms placed so far. All arrays are as long as the finished chain."""

    left: jax.Array  # of each room, its walls included
    top: jax.Array
    width: jax.Array
    height: jax.Array
    door_x: jax.Array  # the door that leads into each room; of the first one it is unused
    door_y: jax.Array
    entry: jax.Array  # the wall by which the newest room is entered
    placed: jax.Array
    tries: jax.Array  # left for the next room
    drawn: jax.Array  # random words used


@dataclass(frozen=True)
class MultiRoom(GridTask):
    """MiniGrid's MultiRoomEnv with a fixed number of rooms of at most `room_size` with walls."""

    ROOMS: ClassVar[range] = range(2, 9)
    SIZES: ClassVar[range] = range(SMALLEST, 11)
    NAMED: ClassVar[dict[int, int]] = {2: 4, 4: 5, 6: 10}  # MiniGrid's: rooms → their size

    rooms: int
    room_size: int

    def __post_init__(self) -> None:
        check_number("MultiRoom's number of rooms", self.rooms, self.ROOMS)
        check_number("MultiRoom's room size", self.room_size, self.SIZES)

    @property
    def name(self) -> str:
        own = "" if self.NAMED.get(self.rooms) == self.room_size else f"-S{self.room_size}"
        return f"multi_room/{self.rooms}{own}"

    @property
    def width(self) -> int:
        return EXTENT

    @property
    def height(self) -> int:
        return EXTENT

    @property
    def max_episode_steps(self) -> int:
        return 20 * self.rooms

    def draw(self, key: jax.Array) -> Layout:
        """Chains are drawn until one is complete, as in MiniGrid."""
        key_chain, key_rest = jax.random.split(key)
        chain = self._chain(key_chain)
        first, last = 0, self.rooms - 1
        sides = [chain.width[first], chain.height[first], chain.width[last], chain.height[last]]
        inside = [side - 2 for side in sides]
        dx, dy, goal_dx, goal_dy, direction, *hues = integers(
            key_rest, *inside, 4, cells.NUM_COLOURS, *[cells.NUM_COLOURS - 1] * (self.rooms - 2)
        )
        grid = _walls(chain)
        colour: Any = 0
        for room in range(1, self.rooms):  # the colour of a door differs from that of the last one
            colour = hues[0] if room == 1 else (colour + 1 + hues[room - 1]) % cells.NUM_COLOURS
            door = cells.pack(cells.DOOR_TYPE, colour, cells.CLOSED)
            grid = grid.at[chain.door_y[room], chain.door_x[room]].set(door)
        goal_x, goal_y = chain.left[last] + 1 + goal_dx, chain.top[last] + 1 + goal_dy
        grid = grid.at[goal_y, goal_x].set(cells.GOAL)
        return Layout(grid, chain.left[first] + 1 + dx, chain.top[first] + 1 + dy, direction)

    def _chain(self, key: jax.Array) -> Chain:
        empty = jnp.zeros(self.rooms, jnp.int32)
        zero = jnp.int32(0)
        start = Chain(empty, empty, empty, empty, empty, empty, zero, zero, zero, jnp.uint32(0))
        chain: Chain = jax.lax.while_loop(
            lambda chain: chain.placed < self.rooms, lambda chain: self._extended(chain, key), start
        )
        return chain

    def _extended(self, chain: Chain, key: jax.Array) -> Chain:
        """The chain after one more try to place a room.

        A room has eight tries to place its successor. If all fail, the chain starts anew.
        """
        last = chain.placed - 1
        left, top = chain.left[last], chain.top[last]
        width, height = chain.width[last], chain.height[last]
        sides = self.room_size - SMALLEST + 1
        wide, high, start_x, start_y, wall = integers(
            key, sides, sides, EXTENT - 2, EXTENT - 2, 3, skip=chain.drawn
        )
        wide, high = wide + SMALLEST, high + SMALLEST
        along_x, along_y, slide_x, slide_y = integers(
            key, width - 2, height - 2, wide - 2, high - 2, skip=chain.drawn + 5
        )
        leave = wall + (
            wall >= chain.entry
        )  # uniform over the walls that the room was not entered by
        sideways = (leave == EAST) | (leave == WEST)
        door_x = left + jnp.where(sideways, jnp.where(leave == EAST, width - 1, 0), 1 + along_x)
        door_y = top + jnp.where(sideways, 1 + along_y, jnp.where(leave == SOUTH, height - 1, 0))
        # The new room's wall holds the door somewhere between its corners.
        new_left = door_x - jnp.where(
            sideways, jnp.where(leave == EAST, 0, wide - 1), wide - 2 - slide_x
        )
        new_top = door_y - jnp.where(
            sideways, high - 2 - slide_y, jnp.where(leave == SOUTH, 0, high - 1)
        )

        first = chain.placed == 0
        x, y = jnp.where(first, start_x, new_left), jnp.where(first, start_y, new_top)
        fits = (x >= 0) & (y >= 0) & (x + wide <= EXTENT) & (y + high < EXTENT)
        apart = (x + wide < chain.left) | (chain.left + chain.width <= x)
        apart |= (y + high < chain.top) | (chain.top + chain.height <= y)
        fits &= (apart | (np.arange(self.rooms) >= last)).all()

        tries = jnp.where(fits, TRIES, chain.tries - 1)
        here = (np.arange(self.rooms) == chain.placed) & fits

        def kept(old: jax.Array, new: jax.Array) -> jax.Array:
            return jnp.where(here, new, old)

        placed = jnp.where(fits, chain.placed + 1, jnp.where(tries > 0, chain.placed, 0))
        entry = jnp.where(first, WEST, (leave + 2) % 4)
        entry = jnp.where(fits, entry, chain.entry)
        return Chain(
            kept(chain.left, x),
            kept(chain.top, y),
            kept(chain.width, wide),
            kept(chain.height, high),
            kept(chain.door_x, door_x),
            kept(chain.door_y, door_y),
            entry,
            placed,
            tries,
            chain.drawn + 9,
        )


def multi_room(rooms: int) -> MultiRoom:
    """MiniGrid-MultiRoom-N2-S4-v0, N4-S5-v1 or N6-v0, by the number of rooms."""
    if rooms not in MultiRoom.NAMED:
        has = ", ".join(map(str, MultiRoom.NAMED))
        raise UsageError(f"multi_room's number of rooms must be one of {has}, got {rooms}")
    return MultiRoom(rooms, MultiRoom.NAMED[rooms])


def _walls(chain: Chain) -> jax.Array:
    """The map with every room's walls; around the rooms it is empty, as in MiniGrid."""
    x, y = np.arange(EXTENT)[None, None, :], np.arange(EXTENT)[None, :, None]
    left, top = chain.left[:, None, None], chain.top[:, None, None]
    right, bottom = left + chain.width[:, None, None] - 1, top + chain.height[:, None, None] - 1
    within = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
    edge = (x == left) | (x == right) | (y == top) | (y == bottom)
    return jnp.where((within & edge).any(axis=0), cells.WALL, cells.EMPTY)
