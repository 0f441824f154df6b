"""What the rewards seen so far say about values: how large they can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from isl.training.loop import Steps

NEGLIGIBLE = 1e-3  # a discount below it: later rewards hardly change a return
MOST_KEPT = 10_000  # rewards of an open episode, where the discount does not bound them
MOST_ENDED = 64  # episodes whose ends are looked up at a time


class Ended(NamedTuple):
    """An episode that is over."""

    step: int  # the number of its last step, counted from 0 over all environments
    rate: float  # |its average reward per step|


class Returns:
    """The largest |discounted return| from any step of any episode of E environments.

    An episode that has not ended counts when `include_open` is called, with what it has so far.
    Whoever knows which episodes were cut off says so: their values go on beyond their ends.
    """

    def __init__(self, gamma: float, width: int = 1, steps: int = 0) -> None:
        """`steps`: the number of the first step that will be added."""
        self._gamma = gamma
        self._kept = MOST_KEPT
        if 0 < gamma < 1:
            self._kept = min(MOST_KEPT, math.ceil(math.log(NEGLIGIBLE) / math.log(gamma)))
        self.largest = 0.0  # |discounted return|
        self.longest = 0  # episode, open ones included
        self.cut_rate = 0.0  # the largest rate of an episode that was cut off
        self.ended: list[Ended] = []  # the latest, since they were taken
        self._steps = steps
        # Of each open episode: the latest rewards, and (sum, number) of those before them.
        self._open: list[list[float]] = [[] for _ in range(width)]
        self._before: list[tuple[float, int]] = [(0.0, 0)] * width

    @property
    def possible(self) -> float:
        """The largest |value| that the rewards make possible; 0 before the first reward."""
        return max(self.largest, self.cut_rate * self.horizon)

    @property
    def horizon(self) -> float:
        """Steps whose rewards a value can add up: 1/(1 − γ), or less where episodes end."""
        discounted = math.inf if self._gamma == 1 else 1 / (1 - self._gamma)
        if self.cut_rate and math.isfinite(discounted):
            return discounted
        return min(discounted, self.longest)

    def add(self, steps: Steps) -> None:
        """The next steps, in order."""
        count = len(steps.reward)
        numbers = np.arange(self._steps, self._steps + count)
        reward, last = np.asarray(steps.reward), np.asarray(steps.last)
        self._steps += count
        if len(self._open) == 1 or steps.env is None:
            self._follow(0, numbers.tolist(), reward.tolist(), last.tolist())
            return
        for env in range(len(self._open)):
            mine = np.asarray(steps.env) == env
            self._follow(env, *(x[mine].tolist() for x in (numbers, reward, last)))

    def _follow(
        self, env: int, numbers: Sequence[int], rewards: Sequence[float], last: Sequence[bool]
    ) -> None:
        """The next steps of one environment."""
        begin = 0
        for end in [i for i, over in enumerate(last) if over]:
            self._open[env] += rewards[begin : end + 1]
            total, count = self._before[env]
            length = count + len(self._open[env])
            rate = abs(total + math.fsum(self._open[env])) / length
            self.ended = sorted([*self.ended, Ended(numbers[end], rate)])[-MOST_ENDED:]
            self.longest = max(self.longest, length)
            self._include(self._open[env], len(self._open[env]))
            self._open[env], self._before[env] = [], (0.0, 0)
            begin = end + 1
        self._open[env] += rewards[begin:]
        if len(self._open[env]) > 2 * self._kept:
            self._drop(env, len(self._open[env]) - self._kept)

    def _drop(self, env: int, number: int) -> None:
        """Forget the first rewards of an open episode: what is to come hardly changes returns."""
        self._include(self._open[env], number)
        dropped, self._open[env] = self._open[env][:number], self._open[env][number:]
        total, count = self._before[env]
        self._before[env] = total + math.fsum(dropped), count + number

    def _include(self, rewards: Sequence[float], number: int) -> None:
        """The returns from the first steps of an episode that has these rewards to its end."""
        gamma, value, largest = self._gamma, 0.0, self.largest
        for reward in reversed(rewards[number:]):
            value = reward + gamma * value
        for reward in reversed(rewards[:number]):
            value = reward + gamma * value
            if value > largest or -value > largest:
                largest = abs(value)
        self.largest = largest

    def include_open(self) -> None:
        """The episodes that have not ended, with what they have so far."""
        for rewards, (_, before) in zip(self._open, self._before, strict=True):
            self._include(rewards, len(rewards))
            self.longest = max(self.longest, before + len(rewards))

    def take_ended(self) -> list[Ended]:
        """The episodes that ended since the last call, the latest of them."""
        ended, self.ended = self.ended, []
        return ended

    def cut_off(self, episodes: Sequence[Ended]) -> None:
        """These episodes ended, but not by termination."""
        self.cut_rate = max([self.cut_rate, *(episode.rate for episode in episodes)])

    def state(self) -> dict[str, Any]:
        """For a checkpoint: plain JSON."""
        return {
            "largest": self.largest,
            "longest": self.longest,
            "cut_rate": self.cut_rate,
            "ended": [list(episode) for episode in self.ended],
            "steps": self._steps,
            "open": [list(rewards) for rewards in self._open],
            "before": [list(sums) for sums in self._before],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self.largest, self.longest = state["largest"], state["longest"]
        self.cut_rate, self._steps = state["cut_rate"], state["steps"]
        self.ended = [Ended(*episode) for episode in state["ended"]]
        self._open = [list(rewards) for rewards in state["open"]]
        self._before = [(total, count) for total, count in state["before"]]
