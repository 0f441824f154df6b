"""Deep Sea: a diver falls through an N × N grid; only N right turns in a row reach the treasure.

The task of bsuite 0.3.6 (Osband et al. 2019, `deep_sea` and `deep_sea_stochastic`), transition by
transition. Which of the two actions means "right" differs from cell to cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from isl.envs.base import TimeStep
from isl.errors import UsageError

MOVE_COST = 0.01  # of N moves to the right; each one costs MOVE_COST / N


class DeepSeaState(NamedTuple):
    """The diver's cell. Row `size` is below the grid: the episode is over."""

    row: jax.Array
    column: jax.Array


@lru_cache(maxsize=64)
def action_mapping(size: int, seed: int) -> NDArray[np.int8]:
    """The action that means "right" in each cell [row, column]; the same draw as bsuite's."""
    mapping = np.random.RandomState(seed).binomial(1, 0.5, [size, size]).astype(np.int8)
    mapping.setflags(write=False)
    return mapping


@dataclass(frozen=True)
class DeepSea:
    """Deep Sea of `size` N; `stochastic` makes right moves slip and the last rewards noisy."""

    SIZES: ClassVar[range] = range(2, 46_341)  # N² cells must be countable in 32 bits

    size: int
    stochastic: bool = False
    mapping_seed: int = 42

    def __post_init__(self) -> None:
        if self.size not in self.SIZES:
            raise UsageError(
                f"Deep Sea's size must be a whole number ≥ 2 (and at most {self.SIZES[-1]}), "
                f"got {self.size}"
            )
        if self.mapping_seed not in range(2**32):
            raise UsageError(
                f"mapping seed must be a whole number from 0 to 2³²−1, got {self.mapping_seed}"
            )

    @property
    def name(self) -> str:
        return f"{'deep_sea_stochastic' if self.stochastic else 'deep_sea'}/{self.size}"

    @property
    def right_actions(self) -> NDArray[np.int8]:
        """The action that means "right" in each cell [row, column]."""
        return action_mapping(self.size, self.mapping_seed)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.size**2)

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def max_episode_steps(self) -> int:
        return self.size

    @property
    def default_episodes(self) -> int:
        return 10_000

    def map_constants(self) -> dict[str, NDArray[np.int8]]:
        """`right`: the action that means it in each cell."""
        return {"right": action_mapping(self.size, self.mapping_seed).ravel()}

    def reset(self, key: jax.Array) -> tuple[DeepSeaState, jax.Array]:
        """Top left, always."""
        del key
        state = DeepSeaState(row=jnp.zeros((), jnp.int32), column=jnp.zeros((), jnp.int32))
        return state, self.observe(state)

    def observe(self, state: DeepSeaState) -> jax.Array:
        """The cell's number, row by row.

        After the last move there is no cell to be in (bsuite shows an empty grid); we show the
        last row. Nothing is learnt from it: the discount there is 0.
        """
        return jnp.minimum(state.row, self.size - 1) * self.size + state.column

    def step(self, state: DeepSeaState, action: jax.Array, key: jax.Array) -> TimeStep:
        """One row down, one column to the left or to the right; walls stop the diver."""
        last_index = self.size - 1
        row, column = state
        right_action = jnp.asarray(action_mapping(self.size, self.mapping_seed).ravel())
        right = action == right_action[row * self.size + column]

        # The last column can only be entered in the last row, so this is the bottom-right cell.
        goal = right & (column == last_index)
        reward = goal.astype(jnp.float32) - jnp.where(right, MOVE_COST / self.size, 0.0)
        shift = jnp.where(right, 1, -1)
        info = {"goal": goal.astype(jnp.int32)}
        if self.stochastic:
            slip, noise = _slip_and_noise(key, self.size)
            shift = jnp.where(right & slip, 0, shift)  # the cost of the move is paid all the same
            at_an_end = (row == last_index) & ((column == 0) | (column == last_index))
            reward += jnp.where(at_an_end, noise, 0.0)
            # bsuite scores by it: the diver was on the way to the treasure and left it by choice,
            # which happens once in an episode at most. Without slips it is an episode without goal.
            info["bad"] = (~right & (row == column)).astype(jnp.int32)

        state = DeepSeaState(row + 1, jnp.clip(column + shift, 0, last_index))
        last = state.row == self.size
        return TimeStep(
            state=state,
            obs=self.observe(state),
            reward=reward,
            discount=1.0 - last.astype(jnp.float32),
            last=last,
            info=info,
        )


def stochastic_deep_sea(size: int, mapping_seed: int = 42) -> DeepSea:
    """Deep Sea Stochastic."""
    return DeepSea(size, stochastic=True, mapping_seed=mapping_seed)


def _slip_and_noise(key: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
    """(True with probability 1/size, a standard normal number) from one call of the generator."""
    words = jax.random.bits(key, (2,), jnp.uint32)
    slip = words[0] < jnp.uint32(2**32 // size)
    # The middles of 2²³ equal pieces of (−1, 1), exact in float32, through the normal quantile.
    middle = (words[1] >> 9).astype(jnp.float32) * 2.0**-22 + (2.0**-23 - 1.0)
    return slip, math.sqrt(2.0) * jax.lax.erf_inv(middle)
