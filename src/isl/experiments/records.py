"""From the steps of a run to its episodes, and from its episodes to what it is scored by."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isl.experiments.spec import GOAL_VISITS_TO_SOLVE

Columns = dict[str, NDArray[Any]]

SCHEMA = {
    "episode": pl.Int64,  # from 1
    "steps": pl.Int64,  # of the run, at the end of this episode
    "return": pl.Float64,
    "length": pl.Int64,
    "goal_visits": pl.Int64,  # of the run, at the end of this episode; Deep Sea tasks only
}


class EpisodeRecorder:
    """Cuts a stream of steps into episodes. Its state is a dict of arrays, for checkpoints."""

    def __init__(self, has_goal: bool) -> None:
        self._has_goal = has_goal
        self._chunks: list[Columns] = []
        self.episodes = 0
        self.steps = 0
        self.goal_visits = 0
        self.best_return = -np.inf
        self.solved_episode: int | None = None
        self._open_return = 0.0  # of the episode that has not ended yet
        self._open_length = 0

    def add(self, reward: NDArray[Any], last: NDArray[np.bool_], goal: NDArray[Any] | None) -> None:
        """The next steps, in order."""
        ends = np.flatnonzero(last)
        goals = np.zeros(len(reward), np.int64) if goal is None else goal.astype(np.int64)
        if len(ends) == 0:
            self._open_return += float(np.sum(reward, dtype=np.float64))
            self._open_length += len(reward)
            self.steps += len(reward)
            self.goal_visits += int(goals.sum())
            return
        starts = np.concatenate([[0], ends[:-1] + 1])
        returns = np.add.reduceat(reward[: ends[-1] + 1].astype(np.float64), starts)
        lengths = ends + 1 - starts
        returns[0] += self._open_return
        lengths[0] += self._open_length
        visits = self.goal_visits + np.cumsum(goals)
        self._append(
            {
                "episode": self.episodes + 1 + np.arange(len(ends)),
                "steps": self.steps + ends + 1,
                "return": returns,
                "length": lengths,
                "goal_visits": visits[ends],
            }
        )
        tail = reward[ends[-1] + 1 :]
        self._open_return = float(np.sum(tail, dtype=np.float64))
        self._open_length = len(tail)
        self.steps += len(reward)
        self.goal_visits = int(visits[-1])

    def _append(self, columns: Columns) -> None:
        self._chunks.append(columns)
        self.episodes = int(columns["episode"][-1])
        self.best_return = max(self.best_return, float(columns["return"].max()))
        if self._has_goal and self.solved_episode is None:
            reached = np.flatnonzero(columns["goal_visits"] >= GOAL_VISITS_TO_SOLVE)
            if len(reached):
                self.solved_episode = int(columns["episode"][reached[0]])

    def columns(self) -> Columns:
        """Every finished episode, column by column."""
        names = SCHEMA if self._has_goal else [name for name in SCHEMA if name != "goal_visits"]
        empty = {n: np.empty(0, np.float64 if n == "return" else np.int64) for n in SCHEMA}
        joined = {n: np.concatenate([empty[n], *(c[n] for c in self._chunks)]) for n in SCHEMA}
        self._chunks = [joined] if len(joined["episode"]) else []
        return {name: joined[name] for name in names}

    def frame(self, episodes: int) -> pl.DataFrame:
        """The first `episodes` episodes as a table."""
        columns = self.columns()
        return pl.DataFrame(
            {name: values[:episodes] for name, values in columns.items()},
            schema={name: SCHEMA[name] for name in columns},
        )

    def state(self) -> Columns:
        """What a checkpoint must hold."""
        columns = self.columns()
        columns.setdefault("goal_visits", np.zeros(self.episodes, np.int64))
        return columns | {
            "open": np.array([self._open_return]),
            "open_counts": np.array([self._open_length, self.steps, self.goal_visits]),
        }

    @classmethod
    def restored(cls, has_goal: bool, state: Columns) -> EpisodeRecorder:
        """The recorder that `state` was taken from."""
        recorder = cls(has_goal)
        columns = {name: state[name] for name in SCHEMA}
        if len(columns["episode"]):
            recorder._append(columns)
        recorder._open_return = float(state["open"][0])
        recorder._open_length, recorder.steps, recorder.goal_visits = map(int, state["open_counts"])
        return recorder


def measures(frame: pl.DataFrame) -> dict[str, Any]:
    """What `summary.json` says of a table of episodes."""
    reached = (
        frame.filter(pl.col("goal_visits") >= GOAL_VISITS_TO_SOLVE)["episode"].min()
        if "goal_visits" in frame.columns
        else None
    )
    has_goal = "goal_visits" in frame.columns
    return {
        "episodes": frame.height,
        "steps": frame["steps"].max() or 0,
        "best_return": frame["return"].max(),
        "goal_visits": (frame["goal_visits"].max() or 0) if has_goal else None,
        "solved_episode": reached,
    }
