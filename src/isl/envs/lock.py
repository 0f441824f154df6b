"""A combination lock: every wrong digit puts the dial back to the start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from isl.envs.base import TimeStep, check_number

DIGITS = 4


class LockState(NamedTuple):
    """Where the dial stands."""

    right: jax.Array  # digits entered without a mistake
    steps: jax.Array


@lru_cache(maxsize=64)
def combination(length: int, seed: int) -> NDArray[np.int32]:
    """The digits that open the lock."""
    return np.random.default_rng(seed).integers(DIGITS, size=length, dtype=np.int32)


@dataclass(frozen=True)
class Lock:
    """A lock of `length` L digits, drawn from `mapping_seed`. The L-th right digit earns 1.

    The observation is the number of right digits. Random actions open it once in about 4^L tries.
    """

    LENGTHS: ClassVar[range] = range(1, 1001)

    length: int
    mapping_seed: int = 42

    def __post_init__(self) -> None:
        check_number("the lock's length", self.length, self.LENGTHS)
        check_number("mapping seed", self.mapping_seed, range(2**32))

    @property
    def name(self) -> str:
        return f"lock/{self.length}"

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.length + 1)

    @property
    def num_actions(self) -> int:
        return DIGITS

    @property
    def max_episode_steps(self) -> int:
        return 2 * self.length

    @property
    def default_episodes(self) -> int:
        return 10_000

    def reset(self, key: jax.Array) -> tuple[LockState, jax.Array]:
        """No digit entered."""
        del key
        zero = jnp.int32(0)
        return LockState(zero, zero), zero

    def step(self, state: LockState, action: jax.Array, key: jax.Array) -> TimeStep:
        """Enter a digit."""
        del key
        digit = jnp.asarray(combination(self.length, self.mapping_seed))[state.right]
        right = jnp.where(action == digit, state.right + 1, 0)
        steps = state.steps + 1
        opened = right == self.length
        return TimeStep(
            state=LockState(right, steps),
            obs=right,
            reward=opened.astype(jnp.float32),
            discount=1.0 - opened.astype(jnp.float32),
            last=opened | (steps >= self.max_episode_steps),
            info={"goal": opened.astype(jnp.int32)},
        )
