"""Cartpole swing-up: the pole hangs down; swing it up and keep it there, and moving costs.

The task of bsuite 0.3.6 (`cartpole_swingup`), transition by transition. Standing still earns 0,
moving costs 0.1 a step, and only a pole that is high, slow and central earns 1 a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box

from isl.envs.base import TimeStep
from isl.errors import UsageError

GRAVITY = 9.8
MASS_POLE = 0.1
MASS_TOTAL = 1.0 + MASS_POLE
HALF_LENGTH = 0.5  # of the pole
FORCE = 10.0
TIME_STEP = 0.01
# bsuite adds up 0.01 s until the sum exceeds 10 s. The first sum to do so has 1,001 terms, in
# float64; counting steps as integers ends the episode there in any precision.
MAX_STEPS = 1001
MAX_TIME = 10.0

EDGE = 3.0  # |x| beyond it ends the episode
SLOW = 1.0  # |θ̇| below it is slow enough to be rewarded
MOVE_COST = 0.1
START_RANGE = 0.05


class CartpoleState(NamedTuple):
    """Position and angle (0 is upright) with their speeds, and the steps taken so far."""

    x: jax.Array
    x_dot: jax.Array
    theta: jax.Array
    theta_dot: jax.Array
    steps: jax.Array


@dataclass(frozen=True)
class CartpoleSwingup:
    """Swing-up of `difficulty` n: rewarded above height n/20 and within 1 − n/20 of the centre."""

    DIFFICULTIES: ClassVar[range] = range(20)

    difficulty: int

    def __post_init__(self) -> None:
        if self.difficulty not in self.DIFFICULTIES:
            raise UsageError(
                "Cartpole swing-up's difficulty must be a whole number in the range 0–19, "
                f"got {self.difficulty}"
            )

    @property
    def name(self) -> str:
        return f"cartpole_swingup/{self.difficulty}"

    @property
    def height_threshold(self) -> float:
        return self.difficulty / 20

    @property
    def centre(self) -> float:
        """|x| below it is central enough to be rewarded."""
        return 1 - self.difficulty / 20

    @property
    def observation_space(self) -> Box:
        """(x, ẋ, sin θ, cos θ, θ̇, time, central?, slow?), roughly normalised."""
        fast = float(np.finfo(np.float32).max)  # speeds have no bound of their own
        high = np.array([2, fast, 1, 1, fast, MAX_STEPS / 1000, 1, 1], np.float32)
        low = -high
        low[5] = 0
        return Box(low, high, dtype=np.float32)

    @property
    def num_actions(self) -> int:
        """0 pushes to the left, 1 does nothing, 2 pushes to the right."""
        return 3

    @property
    def default_episodes(self) -> int:
        return 1_000

    def reset(self, key: jax.Array) -> tuple[CartpoleState, jax.Array]:
        """Hanging down, nearly at rest near the centre."""
        start = jax.random.uniform(key, (4,), jnp.float32, -START_RANGE, START_RANGE)
        state = CartpoleState(
            x=start[0],
            x_dot=start[1],
            theta=math.pi + start[2],
            theta_dot=start[3],
            steps=jnp.zeros((), jnp.int32),
        )
        return state, self.observe(state)

    def observe(self, state: CartpoleState) -> jax.Array:
        """bsuite's eight numbers."""
        dtype = state.x.dtype
        return jnp.stack(
            [
                state.x / EDGE,
                state.x_dot / EDGE,
                jnp.sin(state.theta),
                jnp.cos(state.theta),
                state.theta_dot,
                state.steps.astype(dtype) * (TIME_STEP / MAX_TIME),
                jnp.where(self._central(state), 1.0, -1.0).astype(dtype),
                jnp.where(_slow(state), 1.0, -1.0).astype(dtype),
            ]
        )

    def step(self, state: CartpoleState, action: jax.Array, key: jax.Array) -> TimeStep:
        """One hundredth of a second. The dynamics draw nothing; `key` is not used."""
        del key
        push = action - 1
        state = _integrate(state, push)
        upright = (
            (jnp.cos(state.theta) > self.height_threshold) & _slow(state) & self._central(state)
        )
        last = (state.steps >= MAX_STEPS) | (jnp.abs(state.x) > EDGE)
        return TimeStep(
            state=state,
            obs=self.observe(state),
            reward=upright.astype(jnp.float32) - MOVE_COST * jnp.abs(push).astype(jnp.float32),
            discount=1.0 - last.astype(jnp.float32),  # bsuite's time-out is a termination too
            last=last,
            info={},
        )

    def _central(self, state: CartpoleState) -> jax.Array:
        return jnp.abs(state.x) < self.centre


def _slow(state: CartpoleState) -> jax.Array:
    return jnp.abs(state.theta_dot) < SLOW


def _integrate(state: CartpoleState, push: jax.Array) -> CartpoleState:
    """One explicit Euler step: positions move with the speeds of before the push."""
    x, x_dot, theta, theta_dot, steps = state
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    moment = MASS_POLE * HALF_LENGTH
    force = FORCE * push.astype(x.dtype)
    thrust = (force + moment * theta_dot**2 * sin) / MASS_TOTAL
    theta_acc = (GRAVITY * sin - cos * thrust) / (
        HALF_LENGTH * (4 / 3 - MASS_POLE * cos**2 / MASS_TOTAL)
    )
    x_acc = thrust - moment * theta_acc * cos / MASS_TOTAL
    return CartpoleState(
        x=x + TIME_STEP * x_dot,
        x_dot=x_dot + TIME_STEP * x_acc,
        theta=jnp.remainder(theta + TIME_STEP * theta_dot, 2 * math.pi),
        theta_dot=theta_dot + TIME_STEP * theta_acc,
        steps=steps + 1,
    )
