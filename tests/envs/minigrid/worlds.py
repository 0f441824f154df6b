"""MiniGrid's environments beside our tasks: pairs of names, and states copied across."""

from __future__ import annotations

import os

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from isl import envs
from isl.envs.minigrid import cells, view
from isl.envs.minigrid.grid import GridState

PAIRS = {
    "empty/5": "MiniGrid-Empty-5x5-v0",
    "empty/8": "MiniGrid-Empty-8x8-v0",
    "door_key/5": "MiniGrid-DoorKey-5x5-v0",
    "door_key/6": "MiniGrid-DoorKey-6x6-v0",
    "door_key/8": "MiniGrid-DoorKey-8x8-v0",
    "door_key/16": "MiniGrid-DoorKey-16x16-v0",
    "multi_room/2": "MiniGrid-MultiRoom-N2-S4-v0",
    "multi_room/4": "MiniGrid-MultiRoom-N4-S5-v1",
    "multi_room/6": "MiniGrid-MultiRoom-N6-v0",
    "key_corridor/1": "MiniGrid-KeyCorridorS3R1-v0",
    "key_corridor/2": "MiniGrid-KeyCorridorS3R2-v0",
    "key_corridor/3": "MiniGrid-KeyCorridorS3R3-v0",
    "four_rooms": "MiniGrid-FourRooms-v0",
}
FULL = bool(os.environ.get("ISL_MINIGRID_FULL"))  # the sample sizes that docs/tasks-checks.md names


def both(task):
    """Our task and MiniGrid's environment; the test is skipped where minigrid is missing."""
    pytest.importorskip(
        "minigrid", reason="parity needs the extra minigrid: pip install 'isl[minigrid]'"
    )
    return envs.make(task), gymnasium.make(PAIRS[task]).unwrapped


def codes(theirs):
    """The grid of a MiniGrid environment as our codes [height, width]."""
    encoded = theirs.grid.encode().astype(np.int32)
    return cells.pack(*np.moveaxis(encoded, -1, 0)).T


def copied(theirs):
    """The state of a MiniGrid environment as ours, as NumPy arrays."""
    grid = np.pad(codes(theirs), view.PADDING, constant_values=cells.WALL)
    x, y = theirs.agent_pos
    held = theirs.carrying
    return GridState(
        grid=grid.ravel().astype(np.uint16),
        position=np.int32((y + view.PADDING) * grid.shape[1] + x + view.PADDING),
        direction=np.int32(theirs.agent_dir),
        carrying=np.uint16(cells.EMPTY if held is None else cells.pack(*held.encode())),
        steps=np.int32(theirs.step_count),
    )


def unpadded(task, state):
    """(codes [..., height, width], x, y) of our states."""
    grid = np.asarray(state.grid).reshape(*state.grid.shape[:-1], -1, task.stride)
    inside = slice(view.PADDING, -view.PADDING)
    y, x = np.divmod(np.asarray(state.position), task.stride)
    return grid[..., inside, inside], x - view.PADDING, y - view.PADDING


def stacked(states):
    """States of several episodes along a leading axis, on the device."""
    return GridState(*(jnp.asarray(np.stack(leaves)) for leaves in zip(*states, strict=True)))
