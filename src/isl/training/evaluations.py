"""The greedy evaluations of one training: when they are due, what they gave, and the best policy.

Left to itself, evaluation takes at most a tenth of the time. A step of an evaluation is a step of
the environment and a look at the networks; a step of training is that and more. So the share is
counted in steps, one of evaluation for ten of training, and no clock is read: an interrupted and
continued training has the same evaluations as an uninterrupted one. Where the share is short, an
evaluation has fewer episodes; where not even one fits, it waits until one does. What exceeds the
share, an episode that turned out to be long, is paid back. The evaluation at the end never waits,
and may have 1,000 steps however short the training was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from isl.agents.base import Learner
from isl.training.greedy import UNCUT, Player, told_of_cut

PARTS = 10  # of the budget, with an evaluation after each
SHARE = 10  # steps of training for one of evaluation
EPISODES = 5


class Wish(NamedTuple):
    """How often to evaluate."""

    every: int | None = None  # steps; None: a tenth of the budget, within a tenth of the time
    episodes: int = EPISODES  # of one evaluation; 0: no evaluations


NO_EVALUATIONS = Wish(episodes=0)


class Evaluated(NamedTuple):
    """One evaluation; the fields are the columns of `isl.storage.evaluations`."""

    steps: int  # of training by then
    episodes: int  # of training, finished by then
    return_mean: float
    return_min: float
    return_max: float
    length_mean: float
    evaluated: int  # episodes of the evaluation

    @property
    def scalars(self) -> dict[str, float]:
        """What logs hold of it, by the names that Stable-Baselines3 has for it."""
        return {"eval/mean_reward": self.return_mean, "eval/mean_ep_length": self.length_mean}


class Evaluations:
    """Those of one training, which begins at step `start`.

    Args:
        wish: how often.
        budget: of the training.
        in_episodes: whether the budget counts episodes; else steps from `start` on.
        player: plays; without one there are no evaluations.
    """

    def __init__(
        self,
        wish: Wish,
        budget: int,
        in_episodes: bool = False,
        player: Player | None = None,
        start: int = 0,
    ) -> None:
        self._wish, self._start = wish, start
        self._interval = wish.every or max(1.0, budget / PARTS)
        self._in_episodes = in_episodes and wish.every is None
        self.player = player
        self.rows: list[Evaluated] = []
        self.best: Evaluated | None = None
        self.best_learner: Learner = None
        self.message = ""  # about episodes that had to be cut

    def look(
        self, learner: Callable[[], Learner], steps: int, episodes: int, at_end: bool
    ) -> Evaluated | None:
        """Evaluate if that is due; at the end of the training in any case.

        Args:
            learner: called only if it is: to copy it takes as long as many updates.
            steps: of training so far.
            episodes: of training so far.
            at_end: whether the training is over.
        """
        if self.player is None or not self._wish.episodes:
            return None
        if self.rows and self.rows[-1].steps == steps:
            return None
        if not at_end and not self._due(steps, episodes):
            return None
        now = learner()
        found = self.player.play(now, self._wish.episodes, self._most_steps(steps, at_end))
        self.message = self.message or told_of_cut(found)
        row = Evaluated(
            steps,
            episodes,
            found.mean,
            min(found.returns),
            max(found.returns),
            float(np.mean(found.lengths)),
            len(found.returns),
        )
        self._add(row, now)
        return row

    def close(self) -> None:
        """Let go of the player's environment."""
        if self.player is not None:
            self.player.close()

    def _due(self, steps: int, episodes: int) -> bool:
        now = self._position(steps, episodes)
        last = self._position(*self.rows[-1][:2]) if self.rows else 0
        passed = now // self._interval > last // self._interval
        if not passed or self._wish.every is not None:
            return passed
        usual = self.rows[-1].length_mean if self.rows else (steps - self._start) / max(1, episodes)
        return self._share(steps) >= usual

    def _position(self, steps: int, episodes: int) -> int:
        """How far training is, in the unit of the interval."""
        return episodes if self._in_episodes else steps - self._start

    def _share(self, steps: int) -> int:
        """The steps that evaluation has earned and not used; below 0 if it used more."""
        used = sum(round(row.evaluated * row.length_mean) for row in self.rows)
        return (steps - self._start) // SHARE - used

    def _most_steps(self, steps: int, at_end: bool) -> float:
        if self._wish.every is not None:
            return np.inf
        return max(self._share(steps), UNCUT if at_end else 1)

    def _add(self, row: Evaluated, learner: Learner) -> None:
        """Of equally good evaluations the latest is the best: its policy has seen the most."""
        self.rows.append(row)
        if self.best is None or row.return_mean >= self.best.return_mean:
            self.best, self.best_learner = row, learner

    def state(self) -> list[list[Any]]:
        """The rows as JSON; the learner of the best one belongs beside it."""
        return [list(row) for row in self.rows]

    def restore(self, state: Iterable[Sequence[Any]], best_learner: Learner) -> None:
        """Continue where `state` was taken."""
        for values in state:
            self._add(Evaluated(*values), best_learner)
