"""One seed's run on its way: what is saved, what is reported, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import polars as pl

from isl.envs import family_of
from isl.experiments.running.beliefs import Probes, Snapshots
from isl.experiments.spec import RunSpec
from isl.status import Status
from isl.storage import checkpoint, run_folder
from isl.storage.episodes import table
from isl.storage.tensorboard import RunLog
from isl.training.episodes import GOAL_VISITS_TO_SOLVE, Episodes
from isl.training.loop import Loop
from isl.training.scalars import scalars


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


class Listener(Protocol):
    """Hears of every chunk; it may be called from no other thread than the runner's."""

    def __call__(self, progress: Progress, /) -> None: ...


@dataclass
class SeedRun:
    """One seed on its way."""

    spec: RunSpec
    seed: int
    path: Path
    episodes: Episodes
    snapshots: Snapshots | Probes | None = None
    log: RunLog | None = None
    seconds: float = 0.0  # of computing, without compilation
    status: Status = Status.RUNNING
    message: str = ""
    measured: dict[str, Any] = field(default_factory=dict)  # once it has ended

    @property
    def budget(self) -> int:
        """Steps of a Gymnasium environment, episodes of a compiled task."""
        return self.spec.timesteps or self.spec.episodes or 0

    @property
    def done(self) -> int:
        """How much of the budget is used."""
        return self.episodes.finished if self.spec.timesteps is None else self.episodes.steps

    @property
    def is_over(self) -> bool:
        """Whether the budget is used, or the task solved where that ends the run."""
        solved = self.spec.until_solved and self.episodes.solved_episode is not None
        return solved or self.done >= self.budget

    def load(self, loop: Loop) -> tuple[Any, dict[str, Any]] | None:
        """The learner and the loop's state in the latest checkpoint; the rest is put in place."""
        learner = jax.eval_shape(loop.agent.init, jax.random.key(0))
        snaps = self.snapshots.template() if self.snapshots is not None else {}
        records = (self.episodes.state(), self.episodes.columns_template())
        found = checkpoint.latest(self.path, (learner, loop.template(), records, snaps))
        if found is None:
            return None
        (learner, state, records, snaps), meta = found
        self.episodes.restore(*records)
        self.seconds = meta["seconds"]
        if self.snapshots is not None:
            self.snapshots.restore(snaps)
        return learner, state

    def save(self, loop: Loop, position: int) -> None:
        """Write a checkpoint."""
        snaps = self.snapshots.state() if self.snapshots is not None else {}
        records = (self.episodes.state(), self.episodes.columns())
        state = (loop.learner_of(position), loop.state(position), records, snaps)
        meta = {"kind": "running", "seconds": self.seconds}
        checkpoint.save(self.path, loop.steps, state, meta)

    def write_log(self, loop: Loop, position: int, steps_per_second: float) -> None:
        """A row for TensorBoard, if one is due."""
        if self.log is not None and loop.updates and self.log.due(self.done):
            row = scalars(loop, self.episodes, steps_per_second, position)
            self.log.add(self.done, loop.steps, row)

    def finish(self, loop: Loop, position: int) -> None:
        """Results first, the final parameters, then the manifest that makes the run count."""
        spec, count = self.spec, self.episodes.finished
        if spec.episodes is not None:
            count = min(count, spec.episodes)
        if spec.until_solved and self.episodes.solved_episode is not None:
            count = min(count, self.episodes.solved_episode)
        frame = table(self.episodes.columns(), count)
        self.measured = measures(frame, spec.task)
        run_folder.write_episodes(self.path, frame)
        checkpoint.save_final(self.path, loop.learner_of(position), {"kind": "final"})
        if self.snapshots is not None:
            self.snapshots.write(self.path, count)
        seconds = max(self.seconds, 1e-9)
        run_folder.finish(
            self.path,
            {
                "task": spec.task,
                "agent": spec.agent,
                "seed": self.seed,
                "status": self.status.value,
                "message": self.message,
                **self.measured,
                "wall_seconds": self.seconds,
                "env_steps_per_second": loop.steps / seconds,
                "updates_per_second": loop.updates / seconds,
            },
        )

    def progress(self, steps_per_second: float, updates_per_second: float) -> Progress:
        """What a listener is told."""
        episodes = self.episodes
        now = self.measured or {
            "episodes": episodes.finished,
            "steps": episodes.steps,
            "best_return": float(episodes.best_return) if episodes.finished else None,
            "goal_visits": episodes.goal_visits,
            "solved_episode": episodes.solved_episode,
        }
        return Progress(
            seed=self.seed,
            status=self.status.value,
            **now,
            steps_per_second=steps_per_second,
            updates_per_second=updates_per_second,
            message=self.message,
        )


def measures(frame: pl.DataFrame, task: str) -> dict[str, Any]:
    """What `summary.json` says of a run's table of episodes."""
    family = family_of(task)
    columns = {fact.name: fact.column for fact in family.facts} if family is not None else {}
    goal = None if family is None or family.goal is None else frame[columns[family.goal]]
    solved = None if goal is None else frame.filter(goal >= GOAL_VISITS_TO_SOLVE)["episode"].min()
    return {
        "episodes": frame.height,
        "steps": frame["steps"].max() or 0,
        "best_return": frame["return"].max(),
        "goal_visits": None if goal is None else goal.max() or 0,
        "solved_episode": solved,
    }
