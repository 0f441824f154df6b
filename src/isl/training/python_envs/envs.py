"""Python environments as the host loop sees them: E of them side by side, arrays in and out.

`PythonEnvs` steps single Gymnasium environments itself and resets each episode with a seed derived
from (task, seed, environment, episode). An environment that keeps Gymnasium's promise (the same
seed and the same actions, the same episode) can therefore be brought back to where it was, by
repeating the actions of its open episode. isl.training.python_envs.vector has vector environments.

Environments are other people's code: whatever they raise, and whatever they return that cannot be
learned from, becomes an `EnvironmentFault` that names the step (isl.training.python_envs.guard).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from isl.envs import action_masks, spaces
from isl.envs.action_masks import Mask
from isl.templates import AnyLength
from isl.training import rng
from isl.training.python_envs.guard import EnvGuard
from isl.training.python_envs.masks import Masks
from isl.training.python_envs.step_limit import StepLimit

REPEATABLE_STEPS = 100_000  # of an open episode; a longer one is not brought back but begun anew


class Outcome(NamedTuple):
    """What one step of all environments gave; every array has the leading axis [E]."""

    next_obs: NDArray[Any]  # what the step led to: at the end of an episode its last observation
    reward: NDArray[Any]
    discount: NDArray[Any]  # 0 at termination, 1 otherwise (truncation included)
    last: NDArray[np.bool_]  # the episode is over
    real: NDArray[np.bool_]  # False where the environment only began a new episode
    obs: NDArray[Any]  # where the next step is taken; not `next_obs` where an episode is over
    next_mask: Mask | None = None  # [E, A]: the actions allowed in `next_obs`; None: no masks


class Envs(Protocol):
    """What the host loop needs."""

    width: int  # E
    skips: bool  # whether steps can be unreal
    observations: spaces.Observations
    actions: spaces.Actions
    infos: Any  # what the environments told beside the last step, as they gave it

    @property
    def mask(self) -> Mask | None:
        """[E, A]: the actions allowed in the next step, after the first reset; None: no masks."""

    def reset(self) -> NDArray[Any]:
        """New episodes everywhere: their first observations [E, …]."""

    def step(self, action: NDArray[Any]) -> Outcome:
        """One step everywhere, new episodes begun where one ended."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What `restore` needs, for checkpoints."""

    def template(self) -> dict[str, Any]:
        """What `state` looks like."""

    def restore(
        self, state: dict[str, NDArray[Any]], obs: NDArray[Any], counter: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Back to where `obs` was seen: (observations, whether a new episode had to be begun)."""


class PythonEnvs:
    """Single environments, one after the other."""

    skips = False

    def __init__(
        self,
        envs: list[gymnasium.Env[Any, Any]],
        task: str,
        seed: int,
        limit: StepLimit | None = None,
        observations: spaces.Observations | None = None,  # default: read automatically
    ) -> None:
        self._envs = envs
        self._task, self._seed = task, seed
        self.width = len(envs)
        self.observations = observations or spaces.observations(envs[0].observation_space)
        self.actions = spaces.actions(envs[0].action_space)
        self._guard = EnvGuard(task, self.observations, self.width, limit)
        self._episodes = np.full(self.width, -1, np.int64)  # the number of the open one
        self._taken: list[list[int]] = [[] for _ in envs]  # actions of the open episode
        self._all_real = np.ones(self.width, np.bool_)
        self._masks = Masks(self.actions, self.width)
        self.infos: list[Any] = [{}] * self.width
        self._mask_methods = [action_masks.method_of(env) for env in envs]

    @property
    def mask(self) -> Mask | None:
        return self._masks.now

    def reset(self) -> NDArray[Any]:
        return np.stack([self._begin(i) for i in range(self.width)])

    def step(self, action: NDArray[Any]) -> Outcome:
        width, guard = self.width, self._guard
        guard.step += 1
        seen: list[NDArray[Any]] = []
        reward = np.empty(width, np.float32)
        discount = np.ones(width, np.float32)
        last = np.zeros(width, np.bool_)
        for i, index in enumerate(action.tolist()):
            with guard.watching(i):
                obs, gain, terminated, truncated, info = self._envs[i].step(
                    self.actions.decode(index)
                )
                seen.append(guard.observed(obs))
                reward[i] = guard.rewarded(gain)
                if terminated:
                    discount[i] = 0.0
                last[i] = terminated or truncated
                self._read_mask(i, info, terminated)
                self.infos[i] = info
            self._taken[i].append(index)
        next_obs = np.array(seen)  # several times as fast as `np.stack`
        next_mask = None if self.mask is None else self.mask.copy()
        begun = next_obs
        if last.any():
            begun = next_obs.copy()
            for over in np.flatnonzero(last):
                begun[over] = self._begin(int(over))
        return Outcome(next_obs, reward, discount, last, self._all_real, begun, next_mask)

    def _read_mask(self, i: int, info: Any, over: bool = False) -> None:
        """An environment whose episode has ended is not asked: it may have no state to tell of."""
        method = self._mask_methods[i]
        asked = None if over and method is not None else action_masks.given(info, method)
        self._masks.put(i, asked, over)

    def _begin(self, i: int) -> NDArray[Any]:
        self._episodes[i] += 1
        self._taken[i] = []
        return self._first(i)

    def _first(self, i: int) -> NDArray[Any]:
        """The first observation of the open episode."""
        stream = f"env/{i}/{self._episodes[i]}"
        with self._guard.watching(i):
            obs, info = self._envs[i].reset(seed=episode_seed(self._task, self._seed, stream))
            self._read_mask(i, info)
            return self._guard.observed(obs)

    def close(self) -> None:
        """Let go of windows, files and whatever else the environments hold."""
        for env in self._envs:
            env.close()

    def state(self) -> dict[str, NDArray[Any]]:
        lengths = [len(taken) for taken in self._taken]
        return {
            "episodes": self._episodes.copy(),
            "lengths": np.array(lengths, np.int64),
            "taken": np.array(list(itertools.chain(*self._taken)), np.int32),
        }

    def template(self) -> dict[str, Any]:
        counts = np.zeros(self.width, np.int64)
        return {"episodes": counts, "lengths": counts, "taken": AnyLength(np.int32)}

    def restore(
        self, state: dict[str, NDArray[Any]], obs: NDArray[Any], counter: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        self._episodes = state["episodes"].copy()
        self._guard.step = counter // self.width
        parts = np.split(state["taken"], np.cumsum(state["lengths"])[:-1])
        found = obs.copy()
        anew = np.zeros(self.width, np.bool_)
        for i, taken in enumerate(parts):
            anew[i] = not self._repeat(i, taken.tolist(), obs[i])
            if anew[i]:
                found[i] = self._begin(i)
        return found, anew

    def _repeat(self, i: int, taken: list[int], expected: NDArray[Any]) -> bool:
        """Repeat an episode's actions; whether that led to the observation it led to before."""
        if len(taken) > REPEATABLE_STEPS:
            return False
        obs = self._first(i)
        for index in taken:
            with self._guard.watching(i):
                raw, _, terminated, truncated, info = self._envs[i].step(self.actions.decode(index))
                obs = self._guard.observed(raw)
                if terminated or truncated:
                    return False
                self._read_mask(i, info)
        self._taken[i] = taken
        return bool(np.array_equal(obs, expected))


def episode_seed(task: str, seed: int, stream: str) -> int:
    """A seed for `env.reset`, from the same hash as every other stream."""
    return int(rng.stream_key(task, seed, stream)[0] >> 1)
