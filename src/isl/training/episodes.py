"""From the steps of a loop to its episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.envs.registry import Fact, family_of
from isl.templates import AnyLength
from isl.training.loop import Steps

GOAL_VISITS_TO_SOLVE = 10  # the paper's measure: the episode of the tenth visit to the goal
RECENT = 100  # episodes that means are taken over

Columns = dict[str, NDArray[Any]]
_TYPES = {"episode": np.int64, "steps": np.int64, "return": np.float64, "length": np.int64}


class Episodes:
    """Cuts the steps of E environments into episodes, in the order in which they end.

    Args:
        width: E.
        facts: numbers that the task gives with every step; their sums so far are recorded.
        goal: name of the fact that counts visits to a goal, if the task has one.
        history: keep the records of all episodes, not only of the recent ones.
    """

    def __init__(
        self,
        width: int = 1,
        facts: Sequence[Fact] = (),
        goal: str | None = None,
        history: bool = False,
    ) -> None:
        self._facts = {fact.name: fact.column for fact in facts}
        self._goal = None if goal is None else self._facts[goal]
        self._totals = dict.fromkeys(self._facts.values(), 0)
        self._history: list[Columns] | None = [] if history else None
        self.finished = 0
        self.steps = 0
        self.best_return = -np.inf
        self.solved_episode: int | None = None
        self.recent: deque[tuple[float, int]] = deque(maxlen=RECENT)  # (return, length)
        self._open_returns = np.zeros(width, np.float64)  # of the episodes that have not ended
        self._open_lengths = np.zeros(width, np.int64)

    @classmethod
    def of(cls, task: str) -> Episodes:
        """The recorder of a run: with the facts that the task's family declares."""
        family = family_of(task)
        if family is None:
            return cls(history=True)
        return cls(facts=family.facts, goal=family.goal, history=True)

    @property
    def width(self) -> int:
        """The number of environments."""
        return len(self._open_returns)

    @property
    def goal_visits(self) -> int:
        return self._totals[self._goal] if self._goal is not None else 0

    def means(self) -> tuple[float, float]:
        """Of the recent episodes: (return, length)."""
        returns, lengths = zip(*self.recent, strict=True)
        return float(np.mean(returns)), float(np.mean(lengths))

    def add(self, steps: Steps) -> None:
        """The next steps, in order."""
        cut = [
            self._cut(env, np.arange(len(steps.reward)) if alone else np.flatnonzero(mine), steps)
            for env, mine, alone in self._by_environment(steps)
        ]
        ends, returns, lengths = (np.concatenate(parts) for parts in zip(*cut, strict=True))
        counts = {
            column: self._totals[column] + np.cumsum(steps.info[fact], dtype=np.int64)
            for fact, column in self._facts.items()
            if len(steps.reward)
        }
        self._totals |= {column: int(count[-1]) for column, count in counts.items()}
        order = np.argsort(ends)
        if len(ends):
            ends = ends[order]
            self._append(
                {
                    "episode": self.finished + 1 + np.arange(len(ends)),
                    "steps": self.steps + ends + 1,
                    "return": returns[order],
                    "length": lengths[order],
                    **{column: count[ends] for column, count in counts.items()},
                }
            )
        self.steps += len(steps.reward)

    def _by_environment(self, steps: Steps) -> list[tuple[int, Any, bool]]:
        if self.width == 1 or steps.env is None:
            return [(0, None, True)]
        return [(env, steps.env == env, False) for env in range(self.width)]

    def _cut(
        self, env: int, at: NDArray[np.int64], steps: Steps
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Where the episodes of one environment end, their returns and lengths."""
        reward, ends = steps.reward[at], np.flatnonzero(steps.last[at])
        if len(ends) == 0:
            self._open_returns[env] += float(np.sum(reward, dtype=np.float64))
            self._open_lengths[env] += len(reward)
            return at[:0], np.empty(0), at[:0]
        starts = np.concatenate([[0], ends[:-1] + 1])
        returns = np.add.reduceat(reward[: ends[-1] + 1].astype(np.float64), starts)
        lengths = ends + 1 - starts
        returns[0] += self._open_returns[env]
        lengths[0] += self._open_lengths[env]
        tail = reward[ends[-1] + 1 :]
        self._open_returns[env] = float(np.sum(tail, dtype=np.float64))
        self._open_lengths[env] = len(tail)
        return at[ends], returns, lengths

    def _append(self, columns: Columns) -> None:
        if self._history is not None:
            self._history.append(columns)
        self.finished = int(columns["episode"][-1])
        self.best_return = max(self.best_return, float(columns["return"].max()))
        latest = (columns[name][-RECENT:].tolist() for name in ("return", "length"))
        self.recent.extend(zip(*latest, strict=True))
        if self._goal is not None and self.solved_episode is None:
            reached = np.flatnonzero(columns[self._goal] >= GOAL_VISITS_TO_SOLVE)
            if len(reached):
                self.solved_episode = int(columns["episode"][reached[0]])

    def columns(self) -> Columns:
        """Every finished episode, column by column; of a recorder with `history`."""
        assert self._history is not None
        empty = {name: np.empty(0, kind) for name, kind in self._types().items()}
        joined = {n: np.concatenate([x, *(c[n] for c in self._history)]) for n, x in empty.items()}
        self._history = [joined] if self.finished else []
        return dict(joined)

    def columns_template(self) -> dict[str, AnyLength]:
        """What `columns` looks like."""
        return {name: AnyLength(kind) for name, kind in self._types().items()}

    def _types(self) -> dict[str, Any]:
        return _TYPES | dict.fromkeys(self._totals, np.int64)

    def state(self) -> Columns:
        """For files: the open episodes and the counts so far, without the history."""
        return {
            "open_returns": self._open_returns.copy(),
            "open_lengths": self._open_lengths.copy(),
            "finished": np.array(self.finished, np.int64),
            **{name: np.array(total, np.int64) for name, total in self._totals.items()},
        }

    def restore(self, state: Columns, columns: Columns | None = None) -> None:
        """Continue where `state`, and the history if it is kept, were taken."""
        if columns is not None and len(columns["episode"]):
            self._append(columns)
            self.steps = int(columns["length"].sum())
        self._open_returns = state["open_returns"].copy()
        self._open_lengths = state["open_lengths"].copy()
        self.finished = int(state["finished"])
        self.steps += int(self._open_lengths.sum())
        self._totals = {name: int(state[name]) for name in self._totals}
