"""Run folders as training would leave them, made up in milliseconds, for what reads them."""

import numpy as np
import polars as pl

from isl.envs.deep_sea import action_mapping
from isl.experiments.running.seed_run import measures
from isl.status import Status
from isl.storage import run_folder, snapshots


def config(task, agent, **hyper):
    budget = {"episodes": 600, "until_solved": False, "mapping_seed": 42, "cohort_width": 1}
    return {"task": task, "agent": agent, "hyper": {"kappa": 1.0, **hyper}, **budget}


def make(root, task="deep_sea/8", agent="isl", seed=0, *, solves_at=300, episodes=600, **more):
    """A finished run; its path. From `solves_at` on every episode finds the treasure."""
    settings = more.pop("config", None) or config(task, agent, **more.pop("hyper", {}))
    path = run_folder.run_path(root, settings, seed)
    with run_folder.lock(path):  # makes the folder
        run_folder.start(path, settings)
    number = np.arange(1, episodes + 1)
    found = number >= (episodes + 1 if solves_at is None else solves_at)
    columns = {
        "episode": number,
        "steps": number * 8,
        "return": np.where(found, 0.99, -0.001 * (number % 7)),
        "length": np.full(episodes, 8),
    }
    if task.startswith("deep_sea"):
        columns["goal_visits"] = np.cumsum(found)
    frame = pl.DataFrame(columns)
    run_folder.write_episodes(path, frame)
    speed = {"env_steps_per_second": 1e4, "updates_per_second": 5e3, "wall_seconds": 1.5}
    summary = {"task": task, "agent": agent, "seed": seed, "status": Status.DONE.value}
    run_folder.finish(path, summary | measures(frame, task) | speed | more)
    return path


def add_snapshots(path, size, frames=5, seed=0):
    """Beliefs with a frontier that moves down the grid."""
    draw = np.random.default_rng(seed)
    states = size**2
    depth = np.arange(states) // size
    front = np.linspace(1, size, frames)[:, None]
    ell = np.where(depth < front, 5.0, 50.0)[..., None] + draw.random((frames, states, 2))
    maps = {
        "episode": np.arange(1, frames + 1) * 50,
        "visits": (draw.random((frames, states)) * 100).astype(np.int32),
        "q": draw.normal(size=(frames, states, 2)).astype(np.float32),
        "ell": ell.astype(np.float32),
        "policy": np.full((frames, states, 2), 0.5, np.float32),
        "right": action_mapping(size, 42).ravel(),
    }
    snapshots.write(path, maps)
    return maps
