"""The pictures of docs/tasks.md: one per task, from its Gymnasium version.

python docs/tools/draw_tasks.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
from matplotlib import image

import isl  # noqa: F401  registers the environments

# Environment, its arguments, the seed of its layout, the actions before the picture.
TASKS = {
    "empty": ("isl/Empty-v0", {"size": 8}, 0, [2, 2]),
    "door_key": ("isl/DoorKey-v0", {"size": 8}, 3, [1]),
    "multi_room": ("isl/MultiRoom-v0", {"rooms": 6}, 3, []),
    "key_corridor": ("isl/KeyCorridor-v0", {"rows": 3}, 3, []),
    "four_rooms": ("isl/FourRooms-v0", {}, 1, [1]),
    "lock": ("isl/Lock-v0", {"length": 10}, 0, [0, 3]),
    "river_swim": ("isl/RiverSwim-v0", {"length": 6}, 0, [1] * 6),
    "point_maze": ("isl/PointMaze-v0", {}, 0, [1] * 12 + [0] * 6 + [1] * 6),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (env_id, arguments, seed, actions) in TASKS.items():
        env = gymnasium.make(env_id, render_mode="rgb_array", **arguments)
        env.reset(seed=seed)
        for action in actions:
            env.step(action)
        image.imsave(folder / f"{name}.png", env.render())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/tasks"))
