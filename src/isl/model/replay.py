"""What a model's replay holds, for whoever wants to look into it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from isl.agents.base import Transition
from isl.errors import UsageError
from isl.training.loop import Loop
from isl.training.scalars import transitions


class Replay:
    """The transitions that a model learns from, oldest first: copies, as NumPy arrays.

    `replay[0]` is one transition, `replay[-100:]` are the latest hundred. Observations are as the
    replay keeps them (isl.envs.spaces), actions are numbers from 0 on.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.capacity = loop.agent.schedule.replay_capacity

    def __len__(self) -> int:
        return min(self._loop.steps, self.capacity)

    def __getitem__(self, which: int | slice | Any) -> Transition:
        wanted = np.arange(len(self))[which]
        first = self._loop.steps if self._loop.steps > self.capacity else 0  # the oldest one's
        found = transitions(self._loop.stored((np.atleast_1d(wanted) + first) % self.capacity))
        if found is None:
            raise UsageError("this agent's replay holds no transitions but items of its own")
        held: Transition = jax.tree.map(np.asarray, found)
        return held if np.ndim(wanted) else jax.tree.map(lambda x: x[0], held)

    def sample(self, number: int, seed: int | None = None) -> Transition:
        """`number` transitions, drawn uniformly with replacement; training is not affected."""
        if not len(self):
            raise UsageError("the replay is empty; call learn first")
        return self[np.random.default_rng(seed).integers(len(self), size=number)]
