"""One seed's run on its way: what is saved, what is reported, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
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
from isl.training.evaluations import Evaluations, Wish
from isl.training.loop import Loop, Steps
from isl.training.scalars import scalars
from isl.training.watch import Watch


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
    greedy_return: float | None  # mean of the last evaluation
    best_greedy_return: float | None  # and of the best one
    best_greedy_steps: int | None
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
    wish: Wish  # how often the greedy policy is evaluated
    snapshots: Snapshots | Probes | None = None
    log: RunLog | None = None
    watch: Watch | None = None
    watched: dict[str, Any] | None = None  # what the watch knew at the checkpoint
    seconds: float = 0.0  # of computing, without compilation
    status: Status = Status.RUNNING
    message: str = ""
    measured: dict[str, Any] = field(default_factory=dict)  # once it has ended

    def __post_init__(self) -> None:
        self.evaluations = Evaluations(self.wish, self.budget, self.spec.timesteps is None)

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
        rest = (learner, loop.template(), records, snaps)
        # Before its first evaluation a run has no best policy, nor had runs without evaluations.
        found = checkpoint.latest(self.path, (*rest, learner), (*rest, None))
        if found is None:
            return None
        (learner, state, records, snaps, best), meta = found
        self.evaluations.restore(meta.get("evaluations", []), best)
        self.episodes.restore(*records)
        self.seconds, self.watched = meta["seconds"], meta.get("watch")
        if self.snapshots is not None:
            self.snapshots.restore(snaps)
        return learner, state

    def save(self, loop: Loop, position: int) -> None:
        """Write a checkpoint."""
        snaps = self.snapshots.state() if self.snapshots is not None else {}
        records = (self.episodes.state(), self.episodes.columns())
        best = self.evaluations.best_learner
        state = (loop.learner_of(position), loop.state(position), records, snaps, best)
        meta = {"kind": "running", "seconds": self.seconds, "evaluations": self.evaluations.state()}
        if self.watch is not None:
            meta["watch"] = self.watch.state()
        checkpoint.save(self.path, loop.steps, state, meta)

    def see(self, loop: Loop, position: int, steps: Steps) -> None:
        """Record the next steps."""
        self.episodes.add(steps)
        if self.watch is not None:
            self.watch.see(loop, steps, position)
            self.message = self.watch.message or self.evaluations.message

    def write_log(self, loop: Loop, position: int, steps_per_second: float) -> None:
        """A row for TensorBoard, if one is due."""
        if self.log is not None and loop.updates and self.log.due(self.done):
            row = scalars(loop, self.episodes, steps_per_second, position)
            seen = {} if self.watch is None else self.watch.scalars()
            self.log.add(self.done, loop.steps, row | seen)

    def evaluate(self, loop: Loop, position: int) -> None:
        """Play greedily if that is due, and at the end of the run."""
        if self.status is Status.DIVERGED:
            return
        learner, over = partial(loop.learner_of, position), self.status is Status.DONE
        row = self.evaluations.look(learner, loop.steps, self.episodes.finished, over)
        self.message = self.message or self.evaluations.message
        if row is not None and self.log is not None:
            self.log.note(loop.steps, row.scalars)

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
        self._write_evaluations()
        if self.snapshots is not None:
            self.snapshots.end(partial(loop.learner_of, position), count)
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
                **self._greedy(),
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
            **self._greedy(),
            message=self.message,
        )

    def _write_evaluations(self) -> None:
        rows, best = self.evaluations.rows, self.evaluations.best
        named = {} if best is None else best._asdict()
        learner = self.evaluations.best_learner
        run_folder.write_evaluations(self.path, [row._asdict() for row in rows], named, learner)

    def _greedy(self) -> dict[str, Any]:
        """The last and the best evaluation, in a few numbers."""
        rows, best = self.evaluations.rows, self.evaluations.best
        return {
            "greedy_return": rows[-1].return_mean if rows else None,
            "best_greedy_return": None if best is None else best.return_mean,
            "best_greedy_steps": None if best is None else best.steps,
        }


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
