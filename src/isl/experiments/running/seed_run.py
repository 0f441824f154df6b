"""One seed's run on its way: what is reported, and how it ends. Shared by all loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isl.experiments.running.recording.probes import Probes
from isl.experiments.running.recording.records import EpisodeRecorder, measures
from isl.experiments.running.recording.snapshots import Snapshots
from isl.experiments.running.recording.tensorboard import RunLog
from isl.experiments.spec import RunSpec
from isl.status import Status
from isl.storage import checkpoint, run_folder


class Progress(NamedTuple):
    """Sent after every chunk, for each seed at work."""

    seed: int
    status: str
    episodes: int
    steps: int
    best_return: float | None
    goal_visits: int
    solved_episode: int | None
    steps_per_second: float
    updates_per_second: float
    message: str = ""


Listener = Callable[[Progress], None]


@dataclass
class SeedRun:
    """One seed on its way."""

    seed: int
    path: Path
    recorder: EpisodeRecorder
    seconds: float = 0.0  # of computing, without compilation
    snapshots: Snapshots | Probes | None = None
    log: RunLog | None = None
    status: Status = Status.RUNNING
    message: str = ""
    measured: dict[str, Any] = field(default_factory=dict)  # once it has ended


def records_template(recorder: EpisodeRecorder) -> dict[str, Any]:
    """What the recorder's state looks like in a checkpoint."""
    columns: dict[str, Any] = {
        name: checkpoint.AnyLength(np.float64 if name == "return" else np.int64)
        for name in recorder.names
    }
    return columns | {"open": np.zeros(1), "open_counts": recorder.state()["open_counts"]}


def finish(run: SeedRun, spec: RunSpec, learner: Any, steps: int, updates: int) -> None:
    """Results first, the final parameters, then the manifest that makes the run count."""
    episodes = run.recorder.episodes
    if spec.episodes is not None:
        episodes = min(episodes, spec.episodes)
    if spec.until_solved and run.recorder.solved_episode is not None:
        episodes = min(episodes, run.recorder.solved_episode)
    frame = run.recorder.frame(episodes)
    run.measured = measures(frame)
    run_folder.write_episodes(run.path, frame)
    checkpoint.save_final(run.path, learner, {"kind": "final"})
    if run.snapshots is not None:
        run.snapshots.write(run.path)
    seconds = max(run.seconds, 1e-9)
    run_folder.finish(
        run.path,
        {
            "task": spec.task,
            "agent": spec.agent,
            "seed": run.seed,
            "status": run.status.value,
            "message": run.message,
            **run.measured,
            "wall_seconds": run.seconds,
            "env_steps_per_second": steps / seconds,
            "updates_per_second": updates / seconds,
        },
    )


def progress(run: SeedRun, steps_per_second: float, updates_per_second: float) -> Progress:
    recorder = run.recorder
    now = run.measured or {
        "episodes": recorder.episodes,
        "steps": recorder.steps,
        "best_return": float(recorder.best_return) if recorder.episodes else None,
        "goal_visits": recorder.goal_visits,
        "solved_episode": recorder.solved_episode,
    }
    return Progress(
        seed=run.seed,
        status=run.status.value,
        **now,
        steps_per_second=steps_per_second,
        updates_per_second=updates_per_second,
        message=run.message,
    )
