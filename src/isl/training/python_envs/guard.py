"""Nothing an environment does is taken on trust: every call is timed, every answer is looked at.

What cannot be learned from (a NaN, another shape, a number where an index should be) would spread
through the replay and the networks, and show many steps later as a loss that is not finite. It is
named where it enters: at its step, in its environment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from isl.envs import spaces
from isl.errors import EnvironmentFault, UsageError
from isl.training.python_envs.step_limit import Expired, StepLimit

_LARGEST = float(np.finfo(np.float32).max)  # what rewards are stored as
_INTERFACE = (  # for an error where the environment is called, not in its own code
    "; expected Gymnasium's interface: reset(seed=…, options=…) gives (observation, info), "
    "step(action) gives (observation, reward, terminated, truncated, info)"
)


class EnvGuard:
    """Around the calls into the environments of one task: `with guard.watching(): …`."""

    def __init__(
        self, task: str, observations: spaces.Observations, width: int, limit: StepLimit | None
    ) -> None:
        self.step = 0  # of every environment
        self._task = task
        self._observations = observations
        self._width = width
        self._limit = limit
        self._env = 0
        stored = observations.stored
        self._shape: tuple[int, ...] = stored.shape or ()
        # Other spaces look at the types of their parts themselves.
        self._plain = isinstance(observations.space, Box | Discrete)
        is_float = stored.dtype is not None and stored.dtype.kind == "f"
        self._type: Any = stored.dtype if is_float else observations.space.dtype
        self._fits: set[np.dtype[Any]] = set()  # types that lose no meaning when they are stored
        self._states = int(stored.n) if isinstance(stored, Discrete) else None

    def watching(self, env: int = 0) -> EnvGuard:
        """For the `with` statement around one call into environment number `env`."""
        self._env = env
        return self

    def __enter__(self) -> None:
        if self._limit is not None:
            self._limit.at(self.step).__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self._limit is not None:
            self._limit.__exit__()
        if isinstance(error, Exception | Expired):
            where = f", environment {self._env}" if self._width > 1 else ""
            refused = isinstance(error, TypeError | ValueError) and traceback.tb_next is None
            hint = _INTERFACE if refused and not isinstance(error, _Useless | UsageError) else ""
            message = f"step {self.step} of {self._task}{where}: {_reason(error)}{hint}"
            raise EnvironmentFault(message) from error

    def observed(self, raw: Any) -> NDArray[Any]:
        """One observation as it is stored; raises if it cannot be one."""
        self._check_type(raw)
        return self._checked(self._observations.encode(raw), self._shape)

    def observed_batch(self, raw: Any) -> NDArray[Any]:
        """The observations of all environments."""
        self._check_type(raw)
        return self._checked(self._observations.encode(raw), (self._width, *self._shape))

    def _check_type(self, raw: Any) -> None:
        if self._plain:
            found = np.asarray(raw).dtype
            if found not in self._fits:
                if not np.can_cast(found, self._type, "same_kind"):
                    raise _Useless(f"observed {found} values, expected {self._type}")
                self._fits.add(found)

    def _checked(self, obs: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if obs.shape != shape:
            raise _Useless(f"observed an array of shape {obs.shape}, expected {shape}")
        if self._states is not None:
            if ((obs < 0) | (obs >= self._states)).any():
                raise _Useless(f"observed {obs}, expected 0 to {self._states - 1}")
        elif obs.dtype.kind == "f" and not np.isfinite(obs).all():
            raise _Useless(f"observed {_first_strange(obs)}, expected finite numbers")
        return obs

    def rewarded(self, raw: Any) -> float:
        """One reward; raises if it is not a finite number of 32 bits."""
        try:
            reward = float(raw)
        except (TypeError, ValueError):
            told = " ".join(repr(raw).split())
            raise _Useless(f"gave the reward {told}, expected one number") from None
        if not -_LARGEST <= reward <= _LARGEST:
            raise _Useless(f"gave the reward {reward}, expected a finite number of 32 bits")
        return reward

    def rewarded_batch(self, raw: Any) -> NDArray[Any]:
        """The rewards of all environments."""
        rewards = np.asarray(raw, np.float64)
        if rewards.shape != (self._width,):
            raise _Useless(f"gave rewards of shape {rewards.shape}, expected {(self._width,)}")
        for self._env in np.flatnonzero(~(np.abs(rewards) <= _LARGEST)).tolist():
            self.rewarded(rewards[self._env])
        return rewards.astype(np.float32)


class _Useless(ValueError):
    """An answer that cannot be learned from; the message says why."""


def _reason(error: BaseException) -> str:
    if isinstance(error, _Useless | Expired | UsageError):
        return str(error)
    said = " ".join(str(error).split())
    return f"raised {type(error).__name__}" + (f": {said}" if said else "")


def _first_strange(obs: NDArray[Any]) -> str:
    found = obs[~np.isfinite(obs)]
    return str(found.flat[0])
