"""From the steps of a run to its episodes, and from its episodes to what it is scored by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

GOAL_VISITS_TO_SOLVE = 10  # the paper's measure: the episode of the tenth visit to the goal

Columns = dict[str, NDArray[Any]]

SCHEMA = {
    "episode": pl.Int64,  # from 1
    "steps": pl.Int64,  # of the run, at the end of this episode
    "return": pl.Float64,
    "length": pl.Int64,
    "goal_visits": pl.Int64,  # of the run, at the end of this episode; Deep Sea tasks only
    "bad_episodes": pl.Int64,  # likewise; Deep Sea Stochastic only (isl.envs.deep_sea)
}
COUNTED = {"goal": "goal_visits", "bad": "bad_episodes"}  # a task's facts → their columns


def counted_facts(task: str) -> tuple[str, ...]:
    """The facts that a task reports at every step and whose sums are recorded."""
    family = task.partition("/")[0]
    return {"deep_sea": ("goal",), "deep_sea_stochastic": ("goal", "bad")}.get(family, ())


class EpisodeRecorder:
    """Cuts a stream of steps into episodes. Its state is a dict of arrays, for checkpoints."""

    def __init__(self, facts: Sequence[str] = ()) -> None:
        self._totals = {COUNTED[fact]: 0 for fact in facts}
        self._chunks: list[Columns] = []
        self.episodes = 0
        self.steps = 0
        self.best_return = -np.inf
        self.solved_episode: int | None = None
        self._open_return = 0.0  # of the episode that has not ended yet
        self._open_length = 0

    @property
    def goal_visits(self) -> int:
        return self._totals.get("goal_visits", 0)

    @property
    def names(self) -> list[str]:
        """The columns of its table."""
        return [n for n in SCHEMA if n in self._totals or n not in COUNTED.values()]

    def add(
        self, reward: NDArray[Any], last: NDArray[np.bool_], facts: Mapping[str, NDArray[Any]]
    ) -> None:
        """The next steps, in order."""
        ends = np.flatnonzero(last)
        counts = {
            COUNTED[fact]: self._totals[COUNTED[fact]] + np.cumsum(values, dtype=np.int64)
            for fact, values in facts.items()
            if len(values)
        }
        self._totals |= {name: int(count[-1]) for name, count in counts.items()}
        if len(ends) == 0:
            self._open_return += float(np.sum(reward, dtype=np.float64))
            self._open_length += len(reward)
            self.steps += len(reward)
            return
        starts = np.concatenate([[0], ends[:-1] + 1])
        returns = np.add.reduceat(reward[: ends[-1] + 1].astype(np.float64), starts)
        lengths = ends + 1 - starts
        returns[0] += self._open_return
        lengths[0] += self._open_length
        self._append(
            {
                "episode": self.episodes + 1 + np.arange(len(ends)),
                "steps": self.steps + ends + 1,
                "return": returns,
                "length": lengths,
                **{name: count[ends] for name, count in counts.items()},
            }
        )
        tail = reward[ends[-1] + 1 :]
        self._open_return = float(np.sum(tail, dtype=np.float64))
        self._open_length = len(tail)
        self.steps += len(reward)

    def _append(self, columns: Columns) -> None:
        self._chunks.append(columns)
        self.episodes = int(columns["episode"][-1])
        self.best_return = max(self.best_return, float(columns["return"].max()))
        if "goal_visits" in columns and self.solved_episode is None:
            reached = np.flatnonzero(columns["goal_visits"] >= GOAL_VISITS_TO_SOLVE)
            if len(reached):
                self.solved_episode = int(columns["episode"][reached[0]])

    def columns(self) -> Columns:
        """Every finished episode, column by column."""
        empty = {n: np.empty(0, np.float64 if n == "return" else np.int64) for n in self.names}
        joined = {n: np.concatenate([empty[n], *(c[n] for c in self._chunks)]) for n in self.names}
        self._chunks = [joined] if len(joined["episode"]) else []
        return dict(joined)

    def frame(self, episodes: int) -> pl.DataFrame:
        """The first `episodes` episodes as a table."""
        columns = self.columns()
        return pl.DataFrame(
            {name: values[:episodes] for name, values in columns.items()},
            schema={name: SCHEMA[name] for name in columns},
        )

    def state(self) -> Columns:
        """What a checkpoint must hold."""
        return self.columns() | {
            "open": np.array([self._open_return]),
            "open_counts": np.array([self._open_length, self.steps, *self._totals.values()]),
        }

    @classmethod
    def restored(cls, facts: Sequence[str], state: Columns) -> EpisodeRecorder:
        """The recorder that `state` was taken from."""
        recorder = cls(facts)
        columns = {name: state[name] for name in recorder.names}
        if len(columns["episode"]):
            recorder._append(columns)
        recorder._open_return = float(state["open"][0])
        recorder._open_length, recorder.steps, *totals = map(int, state["open_counts"])
        recorder._totals = dict(zip(recorder._totals, totals, strict=True))
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
