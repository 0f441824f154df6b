"""The suite of hard exploration: MiniGrid's tasks, three small ones, and other packages' tasks."""

from __future__ import annotations

from typing import Any

from isl.envs.families import Fact, TaskFamily

_GOAL: dict[str, Any] = {
    "facts": (Fact("goal", "goal_visits", recorded_since="0.2"),),
    "goal": "goal",
    "best_return": 1.0,
}
_SIZE: dict[str, Any] = {"number": "size", "symbol": "size N", "twin_number": "size"}
_LENGTH: dict[str, Any] = {"number": "length", "symbol": "length N", "twin_number": "length"}


def _suite(
    build: str, title: str, example: str, about: str, numbers: str = "", **more: Any
) -> TaskFamily:
    """An entry of the suite; its twin is named after its class."""
    made = f"isl.envs.{build}"
    twin = f"isl/{title.replace(' ', '')}-v0"
    return TaskFamily(made, about, title, example, numbers=numbers, twin=twin, **more)


SUITE: dict[str, TaskFamily] = {
    "empty": _suite(
        "minigrid.empty:Empty",
        "Empty",
        "empty/8",
        "an N × N room with a goal in the far corner",
        "4 to 100",
        solved_return=0.9,
        **_SIZE,
        **_GOAL,
    ),
    "door_key": _suite(
        "minigrid.door_key:DoorKey",
        "DoorKey",
        "door_key/6",
        "fetch a key, unlock a door, reach the goal behind it",
        "5 to 100; MiniGrid has 5, 6, 8, 16",
        solved_return=0.9,
        **_SIZE,
        **_GOAL,
    ),
    "multi_room": _suite(
        "minigrid.multi_room:multi_room",
        "MultiRoom",
        "multi_room/4",
        "a chain of N rooms behind doors, the goal in the last one",
        "2 (N2-S4), 4 (N4-S5), 6 (N6)",
        number="rooms",
        symbol="rooms N",
        twin_number="rooms",
        solved_return=0.55,  # the shortest ways give 0.84, 0.77 and 0.65
        **_GOAL,
    ),
    "key_corridor": _suite(
        "minigrid.key_corridor:KeyCorridor",
        "KeyCorridor",
        "key_corridor/3",
        "find the key to a locked room and pick up the ball in it",
        "1 to 6; MiniGrid has S3R1, S3R2, S3R3",
        number="rows",
        symbol="rows R",
        twin_number="rows",
        goal_name="ball",
        solved_return=0.8,
        **_GOAL,
    ),
    "four_rooms": _suite(
        "minigrid.four_rooms:FourRooms",
        "FourRooms",
        "four_rooms",
        "four rooms with gaps between them, agent and goal anywhere",
        solved_return=0.6,  # the shortest ways give 0.86
        **_GOAL,
    ),
    "lock": _suite(
        "lock:Lock",
        "Lock",
        "lock/10",
        "a combination of N digits; a wrong one puts the dial back to the start",
        "1 to 1,000",
        parameters={"mapping_seed": 42},
        solved_return=0.9,
        **_LENGTH,
        **_GOAL,
    ),
    "river_swim": _suite(
        "river_swim:RiverSwim",
        "RiverSwim",
        "river_swim/6",
        "a small reward downstream, a large one N cells against the current",
        "2 to 1,000",
        facts=(Fact("rewarded", "rewarded_steps", recorded_since="0.2"),),
        **_LENGTH,
    ),
    "point_maze": _suite(
        "point_maze:PointMaze",
        "Point Maze",
        "point_maze",
        "a point at (x, y) in a labyrinth with noisy moves",
        solved_return=0.9,
        **_GOAL,
    ),
}

# Environments of other packages, by the word before the colon: `gymnax:MountainCar-v0`.
PACKAGES: dict[str, TaskFamily] = {
    package: TaskFamily(f"isl.envs.packages:{package}", about, package, f"{package}:{example}")
    for package, about, example in (
        ("gymnax", "gymnax ≥ 1.0", "MountainCar-v0"),
        ("navix", "navix 0.7", "Navix-DoorKey-5x5-v0"),
        ("xminigrid", "xminigrid 0.9", "MiniGrid-DoorKey-5x5"),
        ("craftax", "craftax 1.6", "Craftax-Classic-Symbolic-v1"),
    )
}
