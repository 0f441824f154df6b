"""Cartpole swing-up: the pole hangs down; swing it up and keep it there, and moving costs.

The task of bsuite 0.3.6 (`cartpole_swingup`), transition by transition. Standing still earns 0,
moving costs 0.1 a step, and only a pole that is high, slow and central earns 1 a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

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
FULL_TURN = 2 * math.pi

Real = TypeVar("Real", float, jax.Array)


class CartpoleState(NamedTuple):
    """Where the cart and the pole are, how fast they move, and the steps taken so far.

    The pole's angle is counted from hanging: `swing` = θ − π in [−π, π], θ = 0 being upright. Next
    to π float32 has few digits left to add up small moves; next to 0 it has all of them, and the
    pole spends its time there. It keeps us five times closer to bsuite's float64.
    """

    x: jax.Array
    x_dot: jax.Array
    swing: jax.Array
    theta_dot: jax.Array
    steps: jax.Array

    @property
    def sin_theta(self) -> jax.Array:
        return -jnp.sin(self.swing)

    @property
    def cos_theta(self) -> jax.Array:
        """The height of the pole's tip: 1 is upright, −1 hanging."""
        return -jnp.cos(self.swing)


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
    def height(self) -> float:
        """cos θ above it is high enough to be rewarded."""
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
    def max_episode_steps(self) -> int:
        return MAX_STEPS

    @property
    def default_episodes(self) -> int:
        return 1_000

    def landmarks(self) -> dict[str, jax.Array]:
        """The pole upright at half time, and hanging at the start; cart and pole at rest."""
        still = jnp.float32(0)
        hanging = CartpoleState(still, still, still, still, steps=jnp.int32(0))
        upright = hanging._replace(swing=jnp.float32(math.pi), steps=jnp.int32(MAX_STEPS // 2))
        return {"upright": self.observe(upright), "hanging": self.observe(hanging)}

    def reset(self, key: jax.Array) -> tuple[CartpoleState, jax.Array]:
        """Hanging down, nearly at rest near the centre."""
        start = jax.random.uniform(key, (4,), jnp.float32, -START_RANGE, START_RANGE)
        state = CartpoleState(
            x=start[0],
            x_dot=start[1],
            swing=start[2],
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
                state.sin_theta,
                state.cos_theta,
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
        upright = (state.cos_theta > self.height) & _slow(state) & self._central(state)
        last = (state.steps >= MAX_STEPS) | (jnp.abs(state.x) > EDGE)
        return TimeStep(
            state=state,
            obs=self.observe(state),
            reward=upright.astype(jnp.float32) - MOVE_COST * jnp.abs(push).astype(jnp.float32),
            discount=1.0 - last.astype(jnp.float32),  # bsuite's time-out is a termination too
            last=last,
            info={"rewarded": upright.astype(jnp.int32)},
        )

    def _central(self, state: CartpoleState) -> jax.Array:
        return jnp.abs(state.x) < self.centre


def _slow(state: CartpoleState) -> jax.Array:
    return jnp.abs(state.theta_dot) < SLOW


def _integrate(state: CartpoleState, push: jax.Array) -> CartpoleState:
    """One explicit Euler step: positions move with the speeds of before the push."""
    x, x_dot, swing, theta_dot, steps = state
    x_acc, theta_acc = accelerations(
        push.astype(x.dtype), state.sin_theta, state.cos_theta, theta_dot
    )
    swing += TIME_STEP * theta_dot
    return CartpoleState(
        x=x + TIME_STEP * x_dot,
        x_dot=x_dot + TIME_STEP * x_acc,
        swing=swing - FULL_TURN * jnp.round(swing / FULL_TURN),
        theta_dot=theta_dot + TIME_STEP * theta_acc,
        steps=steps + 1,
    )


def accelerations(push: Real, sin: Real, cos: Real, theta_dot: Real) -> tuple[Real, Real]:
    """(ẍ, θ̈) of a cart pushed in the direction −1, 0 or 1. Works on arrays and on plain floats."""
    moment = MASS_POLE * HALF_LENGTH
    thrust = (FORCE * push + moment * theta_dot**2 * sin) / MASS_TOTAL
    theta_acc = (GRAVITY * sin - cos * thrust) / (
        HALF_LENGTH * (4 / 3 - MASS_POLE * cos**2 / MASS_TOTAL)
    )
    return thrust - moment * theta_acc * cos / MASS_TOTAL, theta_acc
