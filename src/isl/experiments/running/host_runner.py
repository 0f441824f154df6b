"""Runs one seed of a Gymnasium environment in the host loop, with the same folders and resume."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from isl.agents.base import Agent
from isl.envs import spaces
from isl.experiments.running.recording import tensorboard
from isl.experiments.running.recording.records import EpisodeRecorder
from isl.experiments.running.recording.tensorboard import RunLog
from isl.experiments.running.seed_run import Listener, SeedRun, finish, progress, records_template
from isl.experiments.spec import RunSpec
from isl.status import Status
from isl.storage import checkpoint, files
from isl.training.host.loop import HostLoop, not_finite
from isl.training.python_envs.envs import PythonEnvs
from isl.training.python_envs.step_limit import StepLimit

CHUNK_STEPS = 1_000


def run_on_host(
    spec: RunSpec,
    run: SeedRun,
    listener: Listener,
    should_stop: Callable[[], bool],
    checkpoint_seconds: float,
    limit: StepLimit | None,
) -> None:
    """Bring the seed to its number of steps, or to a checkpoint if asked to stop."""
    import gymnasium

    with closing(PythonEnvs([gymnasium.make(spec.task)], spec.task, run.seed, limit)) as envs:
        seen = files.canonical_json(spaces.describe(envs.observations.seen))
        agent = _agent(files.canonical_json(spec.to_dict()), seen, envs.actions.number)
        loop = HostLoop(agent, envs, spec.task, run.seed)
        _resume(loop, run)
        _train(loop, spec, run, listener, should_stop, checkpoint_seconds)


def _train(
    loop: HostLoop,
    spec: RunSpec,
    run: SeedRun,
    listener: Listener,
    should_stop: Callable[[], bool],
    checkpoint_seconds: float,
) -> None:
    assert spec.timesteps is not None
    rows, logged = RunLog(run.path, spec.timesteps, loop.steps, loop.steps), loop.updates
    saved = time.monotonic()
    while loop.steps < spec.timesteps:
        if should_stop():
            _save(loop, run)
            run.status = Status.INTERRUPTED
            return
        updates, started = loop.updates, time.perf_counter()
        steps = loop.run(min(CHUNK_STEPS, spec.timesteps - loop.steps))
        elapsed = time.perf_counter() - started
        run.seconds += elapsed
        run.recorder.add(steps.reward, steps.last, {})
        logged = _log(loop, rows, run, logged, len(steps.reward) / elapsed)
        diverged = loop.diverged_at
        if diverged is not None:
            run.status = Status.DIVERGED
            run.message = not_finite(diverged, loop.agent.schedule, spec.task)
            break
        if loop.steps < spec.timesteps:
            listener(progress(run, len(steps.reward) / elapsed, (loop.updates - updates) / elapsed))
        if time.monotonic() - saved > checkpoint_seconds:
            _save(loop, run)
            saved = time.monotonic()
    if run.status is Status.RUNNING:
        run.status = Status.DONE
    finish(run, spec, jax.device_get(loop.learner), loop.steps, loop.updates)
    seconds = max(run.seconds, 1e-9)
    listener(progress(run, loop.steps / seconds, loop.updates / seconds))


@lru_cache(maxsize=8)
def _agent(config: bytes, seen: bytes, num_actions: int) -> Agent:
    """Seeds that follow in the same process share the agent, and so what is compiled for it."""
    spec = RunSpec(**files.parse_json(Path("config"), config))
    space = spaces.from_description(files.parse_json(Path("space"), seen))
    return spec.make_agent(space, num_actions)


def _log(loop: HostLoop, rows: RunLog, run: SeedRun, logged: int, steps_per_second: float) -> int:
    """A row for TensorBoard, if one is due; up to which update the metrics have been logged."""
    if not rows.due(loop.steps) or loop.updates == logged:
        return logged
    totals = loop.read_metrics()
    metrics = {name: total / (loop.updates - logged) for name, total in totals.items()}
    at = tensorboard.places(loop.steps, loop.agent.schedule.replay_capacity)
    obs = tensorboard.observations(loop.stored(at))
    values = tensorboard.progress_values(run.recorder, metrics, steps_per_second)
    values |= tensorboard.belief_values(loop.agent, loop.learner, obs)
    rows.add(loop.steps, loop.steps, values)
    return loop.updates


def _resume(loop: HostLoop, run: SeedRun) -> None:
    template = (_shapes(loop.learner), loop.template(), records_template(run.recorder))
    found = checkpoint.latest(run.path, template)
    if found is not None:
        (learner, state, records), meta = found
        loop.restore(jax.tree.map(jnp.asarray, learner), state)
        run.recorder = EpisodeRecorder.restored((), records)
        run.seconds = meta["seconds"]


def _save(loop: HostLoop, run: SeedRun) -> None:
    state = (jax.device_get(loop.learner), loop.state(), run.recorder.state())
    checkpoint.save(run.path, loop.steps, state, {"kind": "running", "seconds": run.seconds})


def _shapes(tree: Any) -> Any:
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)
