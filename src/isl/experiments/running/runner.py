"""Runs one configuration for some seeds: resume, chunks, checkpoints, results.

What a run computes never depends on the clock: chunks have a fixed length, a run ends at an
episode or at a number of steps, and only *when* a checkpoint is written is a matter of time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isl.envs import named
from isl.errors import Locked
from isl.experiments.running import beliefs
from isl.experiments.running.prepared import host_agent, prepare
from isl.experiments.running.seed_run import Listener, SeedRun
from isl.experiments.spec import RunSpec
from isl.status import Status
from isl.storage import run_folder, store
from isl.storage.tensorboard import RunLog
from isl.training.compiled_loop import CompiledLoop
from isl.training.episodes import Episodes
from isl.training.evaluations import NO_EVALUATIONS, Wish
from isl.training.greedy import PythonPlayer
from isl.training.greedy_compiled import CompiledPlayer
from isl.training.host.loop import HostLoop
from isl.training.loop import Loop, Steps, joined, not_finite
from isl.training.python_envs.envs import PythonEnvs
from isl.training.python_envs.step_limit import StepLimit
from isl.training.watch import Watch

CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True)
class _Conduct:
    """How runs are conducted; see `run_cohort`."""

    listener: Listener
    should_stop: Callable[[], bool]
    snapshots: bool
    checkpoint_seconds: float
    limit: StepLimit | None


# Nine parameters: six of them are independent wishes of a caller, each with a default.
# Many parameters: whoever runs a cohort by hand, as tests do, sets one or two of them by name.
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
    wish: Wish = NO_EVALUATIONS,
) -> dict[int, Status]:
    """Bring every seed to its end, or to a checkpoint if asked to stop.

    Args:
        spec: the configuration.
        seeds: at most `spec.cohort_width` of them on a compiled task.
        root: the folder of all runs.
        listener: is told of every chunk.
        should_stop: is asked between chunks.
        snapshots: record what the agent believes over training (compiled tasks only).
        checkpoint_seconds: between two checkpoints.
        limit: of a step of a Python environment, which can hang; a compiled task cannot.
        wish: how often the greedy policy is evaluated; no bit of training depends on it.

    Returns:
        How each seed stands. RUNNING means that another process is at work on it.
    """
    conduct = _Conduct(listener, should_stop, snapshots, checkpoint_seconds, limit)
    config = spec.to_dict()
    outcome: dict[int, Status] = {}
    with contextlib.ExitStack() as held:
        todo: list[SeedRun] = []
        for seed in seeds:
            path = run_folder.run_path(root, config, seed)
            try:
                held.enter_context(run_folder.lock(path))
            except Locked:
                outcome[seed] = Status.RUNNING  # another process is at it
                continue
            if run_folder.is_done(path):
                outcome[seed] = store.read_run(path).status
                continue
            run_folder.start(path, config)
            todo.append(SeedRun(spec, seed, path, Episodes.of(spec.task), wish))
        if todo:
            loops = _compiled_loops if spec.timesteps is None else _host_loops
            for loop, runs in loops(spec, todo, conduct):
                with contextlib.ExitStack() as logs:
                    for run in runs:
                        log = RunLog(run.path, run.budget, run.done, loop.steps)
                        run.log = logs.enter_context(contextlib.closing(log))
                        run.watch = Watch(loop, spec.hyper, state=run.watched)
                    _drive(loop, runs, conduct)
        outcome.update({run.seed: run.status for run in todo})
    return outcome


def _compiled_loops(
    spec: RunSpec, runs: list[SeedRun], conduct: _Conduct
) -> Iterator[tuple[Loop, list[SeedRun]]]:
    """Cohorts of seeds that are equally far: a crash may have parted the seeds."""
    programs = prepare(spec.to_dict())
    fresh = CompiledLoop(programs, [run.seed for run in runs])
    groups: dict[int, list[tuple[SeedRun, Any]]] = {}
    for run in runs:
        if conduct.snapshots:
            run.snapshots = beliefs.recorder(programs.env, programs.agent)
        run.evaluations.player = CompiledPlayer(programs.agent, programs.env, run.seed)
        found = run.load(fresh)
        groups.setdefault(run.episodes.steps, []).append((run, found))
    for steps, members in groups.items():
        loop = fresh
        if len(groups) > 1:
            loop = CompiledLoop(programs, [run.seed for run, _ in members])
        if steps:
            loop.restore_all([found for _, found in members])
        yield loop, [run for run, _ in members]


def _host_loops(
    spec: RunSpec, runs: list[SeedRun], conduct: _Conduct
) -> Iterator[tuple[Loop, list[SeedRun]]]:
    """One seed after the other, each with an environment of its own."""
    for run in runs:
        made = named.make(spec.task)
        reading = spec.reading(made.observation_space)
        python_envs = PythonEnvs([made], spec.task, run.seed, conduct.limit, reading)
        with contextlib.closing(python_envs) as envs:
            agent = host_agent(spec, envs.observations, envs.actions.number)
            loop = HostLoop(agent, envs, spec.task, run.seed)
            make = partial(named.make, spec.task)
            player = PythonPlayer(agent, make, spec.task, run.seed, conduct.limit, spec.reading)
            run.evaluations.player = player
            found = run.load(loop)
            if found is not None:
                loop.restore_all([found])
            with contextlib.closing(player):
                yield loop, [run]


def _drive(loop: Loop, runs: list[SeedRun], conduct: _Conduct) -> None:
    """Bring the runs of a loop to their ends, or to a checkpoint if asked to stop."""
    saved = time.monotonic()
    while active := {i: run for i, run in enumerate(runs) if run.status is Status.RUNNING}:
        if conduct.should_stop():
            for position, run in active.items():
                run.save(loop, position)
                run.status = Status.INTERRUPTED
            return
        seconds, updates = loop.seconds, loop.updates
        steps = _chunk(loop, active)
        elapsed = max(loop.seconds - seconds, 1e-9)
        for position, run in active.items():
            run.seconds += loop.seconds - seconds
            run.see(loop, position, steps[position])
            steps_per_second = len(steps[position].reward) / elapsed
            run.write_log(loop, position, steps_per_second)
            _judge(loop, position, run)
            run.evaluate(loop, position)
            if run.status is not Status.RUNNING:
                run.finish(loop, position)
            conduct.listener(run.progress(steps_per_second, (loop.updates - updates) / elapsed))
        if time.monotonic() - saved > conduct.checkpoint_seconds:
            for position, run in active.items():
                if run.status is Status.RUNNING:
                    run.save(loop, position)
            saved = time.monotonic()


def _judge(loop: Loop, position: int, run: SeedRun) -> None:
    """Whether the run has ended, and how."""
    diverged = loop.diverged_at(position)
    if diverged is not None:
        run.status = Status.DIVERGED
        run.message = not_finite(diverged, loop.agent.schedule, run.spec.task)
    elif run.is_over:
        run.status = Status.DIVERGED if run.watch and run.watch.diverged else Status.DONE


def _chunk(loop: Loop, active: dict[int, SeedRun]) -> dict[int, Steps]:
    """The next chunk of every run at work; where snapshots are due within it, in parts."""
    first = next(iter(active.values()))
    most = first.budget - first.done
    spacing = [run.snapshots.moments.every for run in active.values() if run.snapshots is not None]
    if not spacing:
        return dict(enumerate(loop.chunk(most)))
    fresh = loop.steps == 0
    fine = not fresh and min(spacing) < loop.parts
    taken: list[list[Steps]] = []
    for _ in range(loop.parts if fine else 1):
        taken.append(loop.chunk(most, fine))
        for position, run in active.items():
            if run.snapshots is not None:
                ended = sum(int(steps[position].last.sum()) for steps in taken)
                run.snapshots.take(
                    partial(loop.learner_of, position),
                    taken[-1][position].cell,
                    run.episodes.finished + ended,
                    1 if fine or fresh else loop.parts,
                )
    return {i: joined([steps[i] for steps in taken]) for i in active}
