"""Runs one configuration for a cohort of seeds: resume, chunks, checkpoints, results.

What a run computes never depends on the clock: chunks have a fixed length, a run ends at an
episode, and only *when* a checkpoint is written is a matter of time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isl.errors import Locked
from isl.experiments.running.host_runner import run_on_host
from isl.experiments.running.prepared import Prepared, prepare
from isl.experiments.running.recording import probes, tensorboard
from isl.experiments.running.recording.records import EpisodeRecorder, counted_facts
from isl.experiments.running.seed_run import Listener, SeedRun, finish, progress, records_template
from isl.experiments.spec import RunSpec
from isl.status import Status
from isl.storage import checkpoint, run_folder, store
from isl.training.compiled import NEVER, SeedState, TrainState
from isl.training.host.loop import not_finite
from isl.training.python_envs.step_limit import StepLimit

CHECKPOINT_SECONDS = 30.0


@dataclass
class _Cohort:
    """Seeds at the same step, advancing together in one program of fixed width."""

    runs: list[SeedRun]
    state: TrainState
    since_checkpoint: float = field(default_factory=time.monotonic)


def run_cohort(
    spec: RunSpec,
    seeds: list[int],
    root: Path,
    *,
    listener: Listener = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
    snapshots: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    limit: StepLimit | None = None,
) -> dict[int, Status]:
    """Bring every seed to its end, or to a checkpoint if asked to stop. At most `cohort_width`.

    `limit` is for Python environments, which can hang; a compiled task cannot.
    """
    config = spec.to_dict()
    outcome: dict[int, Status] = {}
    with contextlib.ExitStack() as locks:
        todo: list[SeedRun] = []
        for seed in seeds:
            path = run_folder.run_path(root, config, seed)
            try:
                locks.enter_context(run_folder.lock(path))
            except Locked:
                outcome[seed] = Status.RUNNING  # another process is at it
                continue
            if run_folder.is_done(path):
                outcome[seed] = store.read_run(path).status
                continue
            run_folder.start(path, config)
            todo.append(SeedRun(seed, path, EpisodeRecorder(counted_facts(spec.task))))
        if todo:
            if spec.timesteps is not None:
                for run in todo:
                    run_on_host(spec, run, listener, should_stop, checkpoint_seconds, limit)
                return outcome | {run.seed: run.status for run in todo}
            prepared = prepare(config)
            for cohort in _cohorts(prepared, spec, todo, snapshots):
                _advance(prepared, spec, cohort, listener, should_stop, checkpoint_seconds)
        outcome.update({run.seed: run.status for run in todo})
    return outcome


def _cohorts(
    prepared: Prepared, spec: RunSpec, runs: list[SeedRun], snapshots: bool
) -> list[_Cohort]:
    """Fresh or resumed states, grouped by how far they are (a crash may have parted a cohort)."""
    groups: dict[int, list[tuple[SeedRun, TrainState]]] = {}
    for run in runs:
        if snapshots:
            run.snapshots = probes.recorder(prepared.env, prepared.agent)
        found = checkpoint.latest(run.path, _checkpoint_template(prepared, run))
        if found is None:
            state = prepared.program.init([run.seed])
        else:
            (seed_state, counters, records, snaps), meta = found
            one = jax.tree.map(lambda x: jnp.asarray(x)[None], seed_state)
            state = TrainState(one, jax.tree.map(jnp.asarray, counters))
            run.recorder = EpisodeRecorder.restored(counted_facts(spec.task), records)
            run.seconds = meta["seconds"]
            if run.snapshots is not None:
                run.snapshots.restore(snaps)
        groups.setdefault(int(state.counters.steps), []).append((run, state))
    cohorts = []
    for members in groups.values():
        states = [state for _, state in members]
        states += states[-1:] * (spec.cohort_width - len(states))  # padding: same bits, any company
        stacked = jax.tree.map(lambda *x: jnp.concatenate(x), *(state.seeds for state in states))
        counters = jax.tree.map(jnp.copy, states[0].counters)
        cohorts.append(_Cohort([run for run, _ in members], TrainState(stacked, counters)))
    return cohorts


def _advance(
    prepared: Prepared,
    spec: RunSpec,
    cohort: _Cohort,
    listener: Listener,
    should_stop: Callable[[], bool],
    checkpoint_seconds: float,
) -> None:
    while True:
        active = [run for run in cohort.runs if run.status is Status.RUNNING]
        if not active:
            return
        if should_stop():
            for run in active:
                _save(cohort, run)
                run.status = Status.INTERRUPTED
            return
        fresh = int(cohort.state.counters.steps) == 0
        spacing = [run.snapshots.moments.every for run in active if run.snapshots is not None]
        updates = prepared.program.updates_per_chunk
        if fresh:
            rounds, advance, updates, parts = 1, prepared.warm_up, 0, 1
        elif spacing and min(spacing) < prepared.parts:
            rounds, advance, parts = prepared.parts, prepared.part, 1
        else:
            rounds, advance, parts = 1, prepared.chunk, prepared.parts
        elapsed, taken = 0.0, []
        for _ in range(rounds):
            started = time.perf_counter()  # compiled by now
            cohort.state, steps, *metrics = advance(cohort.state)
            jax.block_until_ready(cohort.state)
            elapsed += time.perf_counter() - started
            taken.append(jax.device_get(steps))
            _look_inside(cohort, active, taken, parts)
        steps = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *taken)
        diverged = np.asarray(cohort.state.seeds.diverged_at)
        for position, run in enumerate(cohort.runs):
            if run not in active:
                continue
            run.seconds += elapsed
            facts = {fact: values[position] for fact, values in steps.info.items()}
            run.recorder.add(steps.reward[position], steps.last[position], facts)
            if diverged[position] != NEVER:
                run.status = Status.DIVERGED
                schedule = prepared.agent.schedule
                run.message = not_finite(int(diverged[position]), schedule, spec.task)
            elif run.recorder.episodes >= _budget(spec) or (
                spec.until_solved and run.recorder.solved_episode is not None
            ):
                run.status = Status.DONE
            if run.status is not Status.RUNNING:
                learner = jax.tree.map(
                    lambda x, i=position: np.asarray(x[i]), cohort.state.seeds.learner
                )
                finish(run, spec, learner, *(int(x) for x in cohort.state.counters))
            steps_per_second = len(steps.reward[position]) / elapsed
            if metrics:
                means = {name: values[position] for name, values in metrics[0].items()}
                _log(prepared, spec, cohort, run, means, steps_per_second)
            listener(progress(run, steps_per_second, updates / elapsed))
        if time.monotonic() - cohort.since_checkpoint > checkpoint_seconds:
            for run in cohort.runs:
                if run.status is Status.RUNNING:
                    _save(cohort, run)
            cohort.since_checkpoint = time.monotonic()


def _look_inside(cohort: _Cohort, active: list[SeedRun], taken: list[Any], parts: int) -> None:
    """Snapshots after the last of the steps taken since the recorders were told.

    These steps are so many `parts` of a chunk.
    """
    for position, run in enumerate(cohort.runs):
        if run in active and run.snapshots is not None:
            # Cut out of the cohort's only where it is looked at: it takes as long as many updates.
            learner = partial(jax.tree.map, lambda x, i=position: x[i], cohort.state.seeds.learner)
            cells: Any = [] if taken[-1].cell is None else taken[-1].cell[position]
            ended = sum(int(steps.last[position].sum()) for steps in taken)
            run.snapshots.take(learner, cells, run.recorder.episodes + ended, parts)


def _log(
    prepared: Prepared,
    spec: RunSpec,
    cohort: _Cohort,
    run: SeedRun,
    metrics: dict[str, Any],
    steps_per_second: float,
) -> None:
    """A row for TensorBoard, if one is due."""
    done, steps = run.recorder.episodes, int(cohort.state.counters.steps)
    if run.log is None:
        run.log = tensorboard.RunLog(run.path, _budget(spec), done, steps)
    if run.log.due(done):
        position = cohort.runs.index(run)
        at = tensorboard.places(steps, prepared.agent.schedule.replay_capacity)
        obs = tensorboard.observations(cohort.state.seeds.storage)[position, at]
        learner = jax.tree.map(lambda x: x[position], cohort.state.seeds.learner)
        values = tensorboard.belief_values(prepared.agent, learner, obs)
        values |= tensorboard.progress_values(run.recorder, metrics, steps_per_second)
        run.log.add(done, steps, values)


def _budget(spec: RunSpec) -> int:
    return spec.episodes or 0  # compiled tasks have one


def _save(cohort: _Cohort, run: SeedRun) -> None:
    position = cohort.runs.index(run)
    seed_state: SeedState = jax.tree.map(lambda x: np.asarray(x[position]), cohort.state.seeds)
    snaps = run.snapshots.state() if run.snapshots is not None else {}
    state = (seed_state, cohort.state.counters, run.recorder.state(), snaps)
    checkpoint.save(
        run.path,
        int(cohort.state.counters.steps),
        state,
        {"kind": "running", "seconds": run.seconds},
    )


def _checkpoint_template(prepared: Prepared, run: SeedRun) -> Any:
    seed_state, counters = prepared.one_seed()
    snaps = run.snapshots.template() if run.snapshots is not None else {}
    return seed_state, counters, records_template(run.recorder), snaps
