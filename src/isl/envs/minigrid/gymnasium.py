"""MiniGrid's tasks for Gymnasium, with the 7 × 7 × 3 array of ImgObsWrapper as the observation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.envs.minigrid.door_key import DoorKey
from isl.envs.minigrid.empty import Empty
from isl.envs.minigrid.four_rooms import FourRooms
from isl.envs.minigrid.grid import GridTask
from isl.envs.minigrid.key_corridor import KeyCorridor
from isl.envs.minigrid.multi_room import MultiRoom, multi_room
from isl.envs.minigrid.render import draw
from isl.envs.task_env import DrawnTaskEnv


class GridEnv(DrawnTaskEnv):
    """Any of the tasks. As in MiniGrid, success at the limit of steps is also a truncation."""

    task: GridTask

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, _, info = super().step(action)
        return obs, reward, terminated, self._steps >= self.task.max_episode_steps, info

    def picture(self) -> NDArray[np.uint8]:
        """The whole grid; what the agent sees is lit."""
        return draw(self.task, self._state, self._steps, self._return)


class EmptyEnv(GridEnv):
    """`isl/Empty-v0`."""

    def __init__(self, size: int = 8, render_mode: str | None = None) -> None:
        super().__init__(Empty(size), render_mode)


class DoorKeyEnv(GridEnv):
    """`isl/DoorKey-v0`."""

    def __init__(self, size: int = 8, render_mode: str | None = None) -> None:
        super().__init__(DoorKey(size), render_mode)


class MultiRoomEnv(GridEnv):
    """`isl/MultiRoom-v0`; without `room_size` the one that MiniGrid has for that many rooms."""

    def __init__(
        self, rooms: int = 4, room_size: int | None = None, render_mode: str | None = None
    ) -> None:
        task = multi_room(rooms) if room_size is None else MultiRoom(rooms, room_size)
        super().__init__(task, render_mode)


class KeyCorridorEnv(GridEnv):
    """`isl/KeyCorridor-v0`."""

    def __init__(self, rows: int = 3, room_size: int = 3, render_mode: str | None = None) -> None:
        super().__init__(KeyCorridor(rows, room_size), render_mode)


class FourRoomsEnv(GridEnv):
    """`isl/FourRooms-v0`."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(FourRooms(), render_mode)
