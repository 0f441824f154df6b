"""RiverSwim (Strehl and Littman 2008): a small reward downstream, a large one against the current.

The probabilities are those of Osband et al. (2013), figure 1, for a river of any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl.envs.base import TimeStep, check_number

LEFT, RIGHT = 0, 1
DOWNSTREAM_REWARD = 0.005
ADVANCE, SLIP = 0.35, 0.05  # of a stroke against the current; else the swimmer stays
AT_AN_END = 0.6  # a stroke in the first cell advances, one in the last cell stays there


class RiverState(NamedTuple):
    """Where the swimmer is."""

    cell: jax.Array
    steps: jax.Array


@dataclass(frozen=True)
class RiverSwim:
    """A river of `length` N cells. Episodes never terminate; they are cut after 20·N steps."""

    LENGTHS: ClassVar[range] = range(2, 1001)

    length: int

    def __post_init__(self) -> None:
        check_number("the river's length", self.length, self.LENGTHS)

    @property
    def name(self) -> str:
        return f"river_swim/{self.length}"

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.length)

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def max_episode_steps(self) -> int:
        return 20 * self.length

    @property
    def default_episodes(self) -> int:
        return 1_000

    def reset(self, key: jax.Array) -> tuple[RiverState, jax.Array]:
        """In the first cell, the one farthest downstream."""
        del key
        zero = jnp.int32(0)
        return RiverState(zero, zero), zero

    def step(self, state: RiverState, action: jax.Array, key: jax.Array) -> TimeStep:
        """Drift left with certainty, or try to swim right."""
        luck = jax.random.uniform(key)
        first, last = state.cell == 0, state.cell == self.length - 1
        advance = jnp.where(first, AT_AN_END, jnp.where(last, 0.0, ADVANCE))
        slip = jnp.where(first, 0.0, jnp.where(last, 1.0 - AT_AN_END, SLIP))
        stroke = jnp.where(luck < advance, 1, jnp.where(luck > 1.0 - slip, -1, 0))
        right = action == RIGHT
        cell = jnp.clip(state.cell + jnp.where(right, stroke, -1), 0, self.length - 1)
        paid = right & last & (stroke == 0)
        small = jnp.where(~right & first, DOWNSTREAM_REWARD, 0.0)
        steps = state.steps + 1
        return TimeStep(
            state=RiverState(cell, steps),
            obs=cell,
            reward=paid.astype(jnp.float32) + small,
            discount=jnp.float32(1.0),
            last=steps >= self.max_episode_steps,
            info={"rewarded": paid.astype(jnp.int32)},
        )
