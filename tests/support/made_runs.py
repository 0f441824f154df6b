"""Run folders as training would leave them, made up in milliseconds, for what reads them."""

import jax
import numpy as np
import polars as pl

from isl.envs.deep_sea import action_mapping
from isl.envs.registry import has_goal
from isl.experiments.running.seed_run import measures
from isl.experiments.spec import resolve
from isl.status import Status
from isl.storage import episodes as episodes_file
from isl.storage import evaluations, files, run_folder, snapshots
from isl.theory.exploration import uc_policy


def config(task, agent, **hyper):
    budget = {"episodes": 600, "until_solved": False, "mapping_seed": 42, "cohort_width": 1}
    return {"task": task, "agent": agent, "hyper": {"kappa": 1.0, **hyper}, **budget}


def make(root, task="deep_sea/8", agent="isl", seed=0, *, solves_at=300, episodes=600, **more):
    """A finished run; its path. From `solves_at` on every episode finds the treasure.

    `greedy` are evaluations: the episodes that they came after, and their returns.
    """
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
    if has_goal(task):
        columns["goal_visits"] = np.cumsum(found)
    frame = pl.DataFrame(columns)
    run_folder.write_episodes(path, frame)
    greedy = more.pop("greedy", None)
    if greedy is not None:
        files.write_bytes(path / run_folder.EVALUATIONS, _evaluations(*greedy))
        more |= {"greedy_return": greedy[1][-1], "best_greedy_return": max(greedy[1])}
    speed = {"env_steps_per_second": 1e4, "updates_per_second": 5e3, "wall_seconds": 1.5}
    summary = {"task": task, "agent": agent, "seed": seed, "status": Status.DONE.value}
    run_folder.finish(path, summary | measures(frame, task) | speed | more)
    return path


def _evaluations(after, returns):
    rows = [
        {"steps": 8 * k, "episodes": k, "length_mean": 8.0, "evaluated": 5}
        | {"return_mean": x, "return_min": x, "return_max": x}
        for k, x in zip(after, returns, strict=True)
    ]
    return episodes_file.to_parquet(evaluations.table(rows))


def add_snapshots(path, size, frames=5, seed=0):
    """Beliefs of an ISL with κ = 1, with a frontier that moves down the grid."""
    draw = np.random.default_rng(seed)
    states = size**2
    depth = np.arange(states) // size
    front = np.linspace(1, size, frames)[:, None]
    ell = np.where(depth < front, 5.0, 50.0)[..., None] + draw.random((frames, states, 2))
    q = draw.normal(size=(frames, states, 2))
    maps = {
        "episode": np.arange(1, frames + 1) * 50,
        "visits": (draw.random((frames, states)) * 100).astype(np.int32),
        "q": q.astype(np.float32),
        "ell": ell.astype(np.float32),
        "policy": np.asarray(uc_policy(q, ell, 1.0), np.float32),
        "right": action_mapping(size, 42).ravel(),
    }
    snapshots.write(path, maps)
    return maps


def of_agent(root, task, agent, seed=0, *, frames=3, unit=0.5, finite=True, **more):
    """A run of a built-in agent with its own settings, and beliefs of the names that it tells.

    Seeker learns in units of its rewards: its policy is π* at κ · `unit`. Without `finite` the last
    moment is that of a run that diverged.
    """
    spec = resolve(task, agent, {}, episodes=600)
    env, draw = spec.environment(), np.random.default_rng(seed)
    path = make(root, task, spec.agent, seed, config=spec.to_dict(), **more)
    marks = env.landmarks() if hasattr(env, "landmarks") else None
    states = len(marks) if marks else int(env.observation_space.n)
    made = spec.make_agent(env.observation_space, env.num_actions)
    observation = next(iter(marks.values())) if marks else np.int32(0)
    learner = jax.eval_shape(made.init, jax.random.key(0))
    names = jax.eval_shape(made.inspect, learner, observation).keys()
    shape = (frames, states, env.num_actions)
    q, ell = draw.normal(size=shape), np.exp(draw.normal(size=shape))
    policy = draw.dirichlet(np.ones(env.num_actions), shape[:2])
    if "pareto" in names:
        kappa = spec.hyper["kappa"] * (unit if agent == "seeker" else 1.0)
        policy = np.array(uc_policy(q, ell, kappa))
    if not finite:
        q[-1], ell[-1], policy[-1] = np.nan, np.inf, np.nan
    told = {"q": q, "ell": ell, "policy": policy}
    maps = {name: told[name].astype(np.float32) for name in told if name in names}
    maps["episode"] = np.linspace(0, 600, frames).astype(np.int64)
    if marks:
        snapshots.write_probes(path, list(marks), maps)
    else:
        constants = env.map_constants() if hasattr(env, "map_constants") else {}
        visits = {"visits": draw.integers(0, 100, shape[:2]).cumsum(0).astype(np.int32)}
        snapshots.write(path, maps | visits | constants)
    return path


def on_gymnasium(root, task="CartPole-v1", agent="seeker", seed=0, **more):
    """A run of an environment that Python steps: its budget is in steps, nobody looked inside."""
    settings = {"task": task, "agent": agent, "hyper": {}, "episodes": None, "timesteps": 5000}
    return make(root, task, agent, seed, config=settings, **more)


def begin(root, task="deep_sea/8", agent="isl", seed=0):
    """A run that has begun and not ended."""
    settings = config(task, agent)
    path = run_folder.run_path(root, settings, seed)
    with run_folder.lock(path):
        run_folder.start(path, settings)
    return path
