"""Steps per second of the grid tasks with random actions, beside MiniGrid, navix and xminigrid.

Every contestant steps one environment on one core and starts a new episode where one ends. CPU
time is what is compared, so that other programs on the machine matter less.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from isl import envs
from isl.bench.timing import Contestant, take_turns
from isl.envs.base import Environment, go_on

STEPS, PYTHON_STEPS = 20_000, 300  # of a turn
# Our task → MiniGrid's id, and the same task in navix and xminigrid where they have it.
PEERS = {
    "empty/8": ("Empty-8x8-v0", "Navix-Empty-8x8-v0", "MiniGrid-Empty-8x8"),
    "door_key/5": ("DoorKey-5x5-v0", "Navix-DoorKey-5x5-v0", "MiniGrid-DoorKey-5x5"),
    "door_key/8": ("DoorKey-8x8-v0", "Navix-DoorKey-8x8-v0", "MiniGrid-DoorKey-8x8"),
    "door_key/16": ("DoorKey-16x16-v0", "Navix-DoorKey-16x16-v0", "MiniGrid-DoorKey-16x16"),
    "multi_room/2": ("MultiRoom-N2-S4-v0", None, None),
    "multi_room/4": ("MultiRoom-N4-S5-v1", None, None),
    "multi_room/6": ("MultiRoom-N6-v0", None, None),
    "key_corridor/1": ("KeyCorridorS3R1-v0", "Navix-KeyCorridorS3R1-v0", None),
    "key_corridor/2": ("KeyCorridorS3R2-v0", "Navix-KeyCorridorS3R2-v0", None),
    "key_corridor/3": ("KeyCorridorS3R3-v0", "Navix-KeyCorridorS3R3-v0", None),
    "four_rooms": ("FourRooms-v0", "Navix-FourRooms-v0", "MiniGrid-FourRooms"),
}


def compiled(task: Environment) -> Contestant:
    """A compiled loop of steps with actions drawn beforehand; `facts` has the compile time."""

    def run(state: Any, actions: jax.Array, keys: jax.Array) -> Any:
        def body(i: jax.Array, carry: Any) -> Any:
            state, obs_sum, total = carry
            step = task.step(state, actions[i], keys[i])
            state, obs = go_on(task, step, keys[i])
            # Something of every observation is kept, or its computation would be left out.
            return state, obs_sum + obs.ravel()[0].astype(jnp.float32), total + step.reward

        return jax.lax.fori_loop(0, STEPS, body, (state, jnp.float32(0), jnp.float32(0)))

    key = jax.random.key(0)
    actions = jax.random.randint(key, (STEPS,), 0, task.num_actions)
    keys = jax.random.split(key, STEPS)
    state, _ = jax.jit(task.reset)(key)
    start = time.perf_counter()
    program = jax.jit(run).lower(state, actions, keys).compile()
    seconds = time.perf_counter() - start
    held = [state]

    def turn() -> None:
        held[0], *_ = jax.block_until_ready(program(held[0], actions, keys))

    turn()
    return Contestant(task.name, STEPS, turn, {"compile": seconds})


def minigrid(name: str) -> Contestant:
    """MiniGrid's Python environment; `reset` counts like our drawing of a grid."""
    env = gymnasium.make(f"MiniGrid-{name}").unwrapped
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 7, PYTHON_STEPS)

    def turn() -> None:
        for action in actions:
            if any(env.step(int(action))[2:4]):
                env.reset()

    turn()
    return Contestant(f"minigrid {name}", PYTHON_STEPS, turn)


def bench_tasks(turns: int = 5) -> None:
    """Print the figures as a Markdown table; packages that are not installed are left out."""
    has = [p for p in ("minigrid", "navix", "xminigrid") if importlib.util.find_spec(p)]
    if "minigrid" in has:
        importlib.import_module("minigrid")  # registers its environments
    print("| task | steps/s | compile s | × minigrid | × navix | × xminigrid |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    for name, ids in PEERS.items():
        ours = compiled(envs.make(name))
        others: dict[str, Contestant] = {}
        for package, theirs in zip(("minigrid", "navix", "xminigrid"), ids, strict=True):
            if theirs is not None and package in has:
                others[package] = (
                    minigrid(theirs)
                    if package == "minigrid"
                    else compiled(envs.make(f"{package}:{theirs}"))
                )
        take_turns([ours, *others.values()], turns)
        times = [
            f"{others[package].cpu_median / ours.cpu_median:.1f}" if package in others else "–"
            for package in ("minigrid", "navix", "xminigrid")
        ]
        speed, seconds = 1 / ours.cpu_median, ours.facts["compile"]
        print(f"| `{name}` | {speed:,.0f} | {seconds:.1f} | {' | '.join(times)} |", flush=True)
