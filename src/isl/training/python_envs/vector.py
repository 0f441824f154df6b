"""Vector environments as the host loop sees them: Gymnasium's, and those of Stable-Baselines3.

Their episodes cannot be seeded one by one: restored, they begin new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from isl.envs import action_masks, spaces
from isl.envs.action_masks import Mask
from isl.errors import UsageError
from isl.training.python_envs.envs import Outcome, episode_seed
from isl.training.python_envs.guard import EnvGuard
from isl.training.python_envs.masks import Masks, of_each
from isl.training.python_envs.step_limit import StepLimit


class _Several:
    """What vector environments of all kinds have in common."""

    skips = False

    def __init__(
        self,
        task: str,
        seed: int,
        width: int,
        observations: spaces.Observations,
        actions: spaces.Actions,
        limit: StepLimit | None,
    ) -> None:
        self._task, self._seed = task, seed
        self.width, self.observations, self.actions = width, observations, actions
        self._guard = EnvGuard(task, observations, width, limit)
        self._masks = Masks(actions, width)
        self.infos: Any = []

    @property
    def mask(self) -> Mask | None:
        return self._masks.now

    def reset(self) -> NDArray[Any]:
        return self._begun("env")

    def _begun(self, stream: str) -> NDArray[Any]:
        with self._guard.watching():
            return self._reset(episode_seed(self._task, self._seed, stream))

    def step(self, action: NDArray[Any]) -> Outcome:
        self._guard.step += 1
        with self._guard.watching():
            return self._step(action)

    def _reset(self, seed: int) -> NDArray[Any]:
        raise NotImplementedError

    def _step(self, action: NDArray[Any]) -> Outcome:
        raise NotImplementedError

    def state(self) -> dict[str, NDArray[Any]]:
        return {}

    def template(self) -> dict[str, Any]:
        return {}

    def restore(
        self, state: dict[str, NDArray[Any]], obs: NDArray[Any], counter: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        self._guard.step = counter // self.width
        return self._begun(f"env/restored at {counter}"), np.ones(self.width, np.bool_)


class VectorEnvs(_Several):
    """A Gymnasium `VectorEnv`, whichever way it resets itself."""

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        task: str,
        seed: int,
        limit: StepLimit | None = None,
        observations: spaces.Observations | None = None,
    ) -> None:
        reading = observations or spaces.observations(envs.single_observation_space)
        actions = spaces.actions(envs.single_action_space)
        super().__init__(task, seed, envs.num_envs, reading, actions, limit)
        self._envs = envs
        # Gymnasium 1.0 knows no other mode than the next-step one, and does not name it.
        mode = envs.metadata.get("autoreset_mode", "NextStep")
        self._mode = getattr(mode, "value", mode)
        if self._mode not in ("NextStep", "SameStep", "Disabled"):
            raise UsageError(
                f"autoreset mode {mode!r} is unknown; expected one of Gymnasium's AutoresetMode"
            )
        self.skips = self._mode == "NextStep"
        self._over = np.zeros(self.width, np.bool_)  # next-step mode: the next step only resets
        self._mask_method = _method(envs)

    def _reset(self, seed: int) -> NDArray[Any]:
        self._over[:] = False
        obs, info = self._envs.reset(seed=seed)
        self._masks.put_all(action_masks.given(info, self._mask_method))
        return self._guard.observed_batch(obs)

    def _step(self, action: NDArray[Any]) -> Outcome:
        raw, reward, terminated, truncated, info = self._envs.step(self.actions.decode(action))
        self.infos = info
        obs = self._guard.observed_batch(raw)
        real = ~self._over
        last = (np.asarray(terminated) | np.asarray(truncated)) & real
        self._masks.put_all(action_masks.given(info, self._mask_method), last)
        next_obs, next_mask = obs, self._masks.replaced(np.zeros_like(last), None)
        if self._mode == "NextStep":
            self._over = last
        elif last.any() and self._mode == "SameStep":
            next_obs = obs.copy()  # `raw` already belongs to the new episodes
            for i in np.flatnonzero(last):
                next_obs[i] = self._guard.observed(info["final_obs"][i])
            next_mask = self._masks.replaced(last, action_masks.in_info(info.get("final_info")))
        elif last.any():
            begun, info = self._envs.reset(options={"reset_mask": last})
            obs = self._guard.observed_batch(begun)
            self._masks.put_all(action_masks.given(info, self._mask_method), rows=last)
        return Outcome(
            next_obs,
            self._guard.rewarded_batch(reward),
            1.0 - np.asarray(terminated, np.float32),
            last,
            real,
            obs,
            next_mask,
        )


class SB3Envs(_Several):
    """A `VecEnv` as Stable-Baselines3 has them, known by its methods: the package is not needed."""

    def __init__(
        self,
        envs: Any,
        task: str,
        seed: int,
        limit: StepLimit | None = None,
        observations: spaces.Observations | None = None,
    ) -> None:
        reading = observations or spaces.observations(envs.observation_space)
        actions = spaces.actions(envs.action_space)
        super().__init__(task, seed, int(envs.num_envs), reading, actions, limit)
        self._envs = envs
        has_method = hasattr(envs, "has_attr") and envs.has_attr(action_masks.METHOD)
        self._mask_method = (lambda: envs.env_method(action_masks.METHOD)) if has_method else None

    def _reset(self, seed: int) -> NDArray[Any]:
        self._envs.seed(seed)
        obs = self._guard.observed_batch(self._envs.reset())
        self._masks.put_all(self._given(self._reset_infos()))
        return obs

    def _step(self, action: NDArray[Any]) -> Outcome:
        raw, reward, dones, infos = self._envs.step(self.actions.decode(action))
        self.infos = infos
        obs, last = self._guard.observed_batch(raw), np.asarray(dones, np.bool_)
        terminated, next_obs = last.copy(), obs
        begun = list(infos)
        if last.any():
            next_obs, first = obs.copy(), self._reset_infos()
            for i in np.flatnonzero(last).tolist():
                next_obs[i] = self._guard.observed(infos[i]["terminal_observation"])
                terminated[i] = not infos[i].get("TimeLimit.truncated", False)
                begun[i] = first[i]
        self._masks.put_all(self._given(begun))
        return Outcome(
            next_obs,
            self._guard.rewarded_batch(reward),
            1.0 - terminated.astype(np.float32),
            last,
            np.ones(self.width, np.bool_),
            obs,
            self._masks.replaced(last, of_each(infos)),
        )

    def _given(self, infos: list[Any]) -> Any:
        return of_each(infos) if self._mask_method is None else self._mask_method()

    def _reset_infos(self) -> list[Any]:
        return list(getattr(self._envs, "reset_infos", [{}] * self.width))


def is_sb3(env: Any) -> bool:
    """Whether an object has the methods of Stable-Baselines3's `VecEnv`."""
    names = ("num_envs", "step_async", "step_wait", "env_method", "observation_space")
    return not isinstance(env, VectorEnv) and all(hasattr(env, name) for name in names)


def _method(envs: VectorEnv[Any, Any, Any]) -> Callable[[], Any] | None:
    """What asks all environments for their `action_masks()`; None if they have none."""
    if hasattr(envs, action_masks.METHOD):
        found: Callable[[], Any] = getattr(envs, action_masks.METHOD)
        return found
    call = getattr(envs, "call", None)
    try:
        has = call is not None and all(call("has_wrapper_attr", action_masks.METHOD))
    except (AttributeError, NotImplementedError, TypeError):  # written without single ones
        has = False
    return (lambda: call(action_masks.METHOD)) if call is not None and has else None
