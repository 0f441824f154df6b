"""What an agent believed over training, at fixed observations: all states of a table, or landmarks.

Recorded between chunks for runs with --snapshots, and written by isl.storage.snapshots.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from isl.agents.base import Agent
from isl.envs.base import Environment
from isl.storage import snapshots
from isl.templates import AnyLength
from isl.training.scalars import inspector

BELIEFS = ("q", "ell", "policy")  # those that an agent lacks are left out
MOST = 200  # moments of a run


class Moments:
    """Which moments of a training of unknown length are kept: evenly spread, at most `most`.

    Time passes in parts of a chunk. Whenever too many moments have been kept, every other one is
    to be dropped, and from then on one in twice as many parts is kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.every = 1  # parts
        self.passed = 0  # parts

    def pass_by(self, parts: int) -> bool:
        """Let `parts` pass; returns whether the moment after them is to be kept."""
        before, self.passed = self.passed, self.passed + parts
        return self.passed // self.every > before // self.every

    def too_many(self, kept: int) -> bool:
        """Whether every other of the kept moments is to be dropped."""
        if kept <= self.most:
            return False
        self.every *= 2
        return True


class BeliefRecorder:
    """Beliefs [time, observation, action] at fixed observations; recorders of both kinds derive."""

    def __init__(self, agent: Agent, obs: Any, most: int) -> None:
        self._inspect, self._obs = inspector(agent), obs
        learner = jax.eval_shape(agent.init, jax.random.key(0))
        said = jax.eval_shape(self._inspect, learner, obs)
        empty = {n: np.empty((0, *said[n].shape), np.float32) for n in BELIEFS if n in said}
        self._empty: snapshots.Beliefs = {"episode": np.empty(0, np.int64), **empty}
        self._taken: dict[str, list[NDArray[Any]]] = {}
        self._forget()
        self.moments = Moments(most)

    def _forget(self) -> None:
        self._taken = {name: [] for name in self._empty}

    def take(
        self, learner: Callable[[], Any], cells: NDArray[Any] | None, episodes: int, parts: int = 1
    ) -> None:
        """Let `parts` of a chunk pass; keep what the learner believes after them, if it is due.

        Args:
            learner: called only where it is looked at: to copy it takes as long as many updates.
            cells: where the steps of these parts were taken, if the task has cells.
            episodes: that have ended so far.
            parts: of a chunk.
        """
        if self.moments.pass_by(parts):
            self._keep(learner(), episodes)
            if self.moments.too_many(len(self._taken["episode"])):
                self._taken = {name: kept[1::2] for name, kept in self._taken.items()}

    def end(self, learner: Callable[[], Any], last_episode: int) -> None:
        """Keep what the learner believes at the end of a run, if the last moment was before it."""
        if not self._taken["episode"] or self._taken["episode"][-1] < last_episode:
            self._keep(learner(), last_episode)

    def _keep(self, learner: Any, episodes: int) -> None:
        found = jax.device_get(self._inspect(learner, self._obs))
        row = {name: found[name] for name in BELIEFS if name in found} | self._more()
        for name, value in (row | {"episode": np.int64(episodes)}).items():
            self._taken[name].append(np.asarray(value, self._empty[name].dtype))

    def _more(self) -> dict[str, Any]:
        return {}

    def _stacked(self, last_episode: float = np.inf) -> snapshots.Beliefs:
        """What was taken up to the first moment at or after the end of an episode.

        A chunk goes on after the last episode that counts. The moment after it stands for the end
        of the run and has that episode's number.
        """
        taken = {n: np.stack(x) if x else self._empty[n] for n, x in self._taken.items()}
        within = int(np.searchsorted(taken["episode"], last_episode)) + 1
        found = {name: values[:within] for name, values in taken.items()}
        return found | {"episode": np.minimum(found["episode"], last_episode).astype(np.int64)}


class Snapshots(BeliefRecorder):
    """Maps over the states of a table-like task, with the visits so far."""

    def __init__(self, env: Environment, agent: Agent, most: int = MOST) -> None:
        assert isinstance(env.observation_space, Discrete)
        self._states = int(env.observation_space.n)
        super().__init__(agent, np.arange(self._states, dtype=np.int32), most)
        self._empty["visits"] = np.empty((0, self._states), np.int32)
        self._forget()
        self._visits = np.zeros(self._states, np.int64)
        self._constants = env.map_constants() if hasattr(env, "map_constants") else {}

    def take(
        self, learner: Callable[[], Any], cells: NDArray[Any] | None, episodes: int, parts: int = 1
    ) -> None:
        """Count the visits, then as any recorder of beliefs."""
        assert cells is not None
        self._visits += np.bincount(cells, minlength=self._states)
        super().take(learner, cells, episodes, parts)

    def _more(self) -> dict[str, Any]:
        return {"visits": self._visits}

    def write(self, run_dir: Path, last_episode: int) -> None:
        if self._taken["episode"]:
            snapshots.write(run_dir, self._stacked(last_episode) | self._constants)

    def state(self) -> dict[str, NDArray[Any]]:
        """For the checkpoint: the visits. Earlier maps are not kept across an interruption."""
        return {"visits": self._visits}

    def template(self) -> dict[str, Any]:
        """What `state` looks like."""
        return {"visits": np.zeros(self._states, np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue counting."""
        self._visits = state["visits"].copy()


class Probes(BeliefRecorder):
    """Beliefs at the landmarks of a task: a few telling observations by name."""

    def __init__(self, marks: dict[str, Any], agent: Agent, most: int = MOST) -> None:
        super().__init__(agent, jnp.stack(list(marks.values())), most)
        self._names = list(marks)

    def write(self, run_dir: Path, last_episode: int) -> None:
        if self.moments.passed:
            snapshots.write_probes(run_dir, self._names, self._stacked(last_episode))

    def state(self) -> dict[str, NDArray[Any]]:
        """For the checkpoint: everything, so that an interruption leaves no gap."""
        return {**self._stacked(), "calls": np.array([self.moments.every, self.moments.passed])}

    def template(self) -> dict[str, Any]:
        """What `state` looks like."""
        rows = {name: AnyLength(x.dtype, x.shape[1:]) for name, x in self._empty.items()}
        return {**rows, "calls": np.zeros(2, np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue where `state` was taken."""
        self._taken = {name: list(state[name]) for name in self._taken}
        self.moments.every, self.moments.passed = map(int, state["calls"])


def recorder(env: Environment, agent: Agent) -> Snapshots | Probes | None:
    """Maps over a table-like task's states, or its landmarks; None if the task has neither."""
    if isinstance(env.observation_space, Discrete):
        return Snapshots(env, agent)
    marks = env.landmarks() if hasattr(env, "landmarks") else {}
    return Probes(marks, agent) if marks else None
