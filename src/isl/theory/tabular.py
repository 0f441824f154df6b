"""The tabular Information Seeking Learner: eq. (17) of the paper, one transition at a time.

`TabularISL` is the object to loop a Gymnasium environment with; `act` and `update` are the pure
functions it wraps, for use inside compiled loops.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from jax import Array
from numpy.typing import NDArray

from isl.theory.exploration import uc_policy, uc_value


@dataclass(frozen=True)
class TabularConfig:
    """Step sizes and constants of eq. (17)."""

    gamma: float = 0.99
    kappa: float = 1.0
    mu_q: float = 0.5
    mu_rho: float = 0.5
    mu_ell: float = 0.5
    eta1: float = 0.0  # 0 for deterministic environments; nearer to 1 the noisier they are
    ell_init: float | None = None  # None: 1/(1−γ), a bound on |q† − q| for rewards in [−1, 1]
    ell_min: float = 1e-12
    sound: bool = False  # add γ (max q − v*) at s′ to the target of ℓ

    def __post_init__(self) -> None:
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma is {self.gamma}; expected a discount in [0, 1)")
        for name, value in (
            ("kappa", self.kappa),
            ("ell_min", self.ell_min),
            ("ell_init", self.first_ell),
        ):
            if not 0 < value < np.inf:
                raise ValueError(f"{name} is {value}; expected a positive finite number")
        for name in ("mu_q", "mu_rho", "mu_ell", "eta1"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a number in [0, 1]")

    @property
    def first_ell(self) -> float:
        """ℓ of every state and action before anything is known."""
        return 1 / (1 - self.gamma) if self.ell_init is None else self.ell_init


class Tables(NamedTuple):
    """What the learner knows, each [S, A]."""

    q: Array
    rho: Array  # estimate of E δ
    ell: Array


def init(config: TabularConfig, num_states: int, num_actions: int) -> Tables:
    """q and ρ at 0, ℓ at its first value."""
    zeros = jnp.zeros((num_states, num_actions))
    return Tables(zeros, zeros, jnp.full_like(zeros, config.first_ell))


@partial(jax.jit, static_argnums=0)
def act(config: TabularConfig, tables: Tables, obs: Array, key: Array) -> Array:
    """Draw an action from π*."""
    policy = uc_policy(tables.q[obs], tables.ell[obs], config.kappa)
    return jax.random.categorical(key, jnp.log(policy))


@partial(jax.jit, static_argnums=0)
def update(
    config: TabularConfig,
    tables: Tables,
    obs: Array,
    action: Array,
    reward: Array,
    next_obs: Array,
    terminated: Array,
) -> Tables:
    """Learn from one transition. Past the end of an episode nothing is to be had or learnt."""
    c, at = config, (obs, action)
    discount = c.gamma * (1.0 - terminated)
    next_q, next_ell = tables.q[next_obs], tables.ell[next_obs]
    next_value = uc_value(next_q, next_ell, c.kappa)
    uncertainty_ahead = jnp.max(next_ell)
    if c.sound:
        uncertainty_ahead += jnp.max(next_q) - next_value

    # eq. (17), its lines in order: ℓ sees the new ρ.
    delta = reward + discount * next_value - tables.q[at]
    rho = tables.rho[at] + c.mu_rho * (delta - tables.rho[at])
    surprise = (1 - c.eta1) * jnp.abs(delta) + c.eta1 * jnp.abs(rho)
    ell_target = surprise + discount * uncertainty_ahead
    ell = tables.ell[at] + c.mu_ell * (ell_target - tables.ell[at])
    return Tables(
        q=tables.q.at[at].add(c.mu_q * delta),
        rho=tables.rho.at[at].set(rho),
        ell=tables.ell.at[at].set(jnp.maximum(ell, c.ell_min)),
    )


class TabularISL:
    """A learner for environments with Discrete observations and actions.

        learner = TabularISL.for_env(env, seed=0)
        action = learner.act(obs)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        learner.step(obs, action, reward, next_obs, terminated)

    Options are the fields of `TabularConfig`.
    """

    def __init__(self, num_states: int, num_actions: int, seed: int = 0, **options: Any) -> None:
        if num_states < 1 or num_actions < 1:
            raise ValueError(
                f"num_states is {num_states}, num_actions {num_actions}; expected at least 1 each"
            )
        self.config = TabularConfig(**options)
        self.tables = init(self.config, num_states, num_actions)
        self._first_obs = self._first_action = 0
        self._seed, self._draws = seed, 0

    @classmethod
    def for_env(cls, env: Any, seed: int = 0, **options: Any) -> "TabularISL":
        """A learner of the right size for a Gymnasium environment."""
        for name in ("observation_space", "action_space"):
            if not isinstance(getattr(env, name), Discrete):
                raise ValueError(
                    f"the {name} is {getattr(env, name)}; TabularISL needs Discrete spaces"
                )
        observations, actions = env.observation_space, env.action_space
        learner = cls(int(observations.n), int(actions.n), seed, **options)
        learner._first_obs, learner._first_action = int(observations.start), int(actions.start)
        return learner

    def act(self, obs: int, explore: bool = True) -> int:
        """An action drawn from π*, or the best known one if not to explore."""
        state = int(obs) - self._first_obs
        if not explore:
            return int(self.q[state].argmax()) + self._first_action
        self._draws += 1
        return int(_draw(self.config, self.tables, state, self._seed, self._draws)) + (
            self._first_action
        )

    def step(self, obs: int, action: int, reward: float, next_obs: int, terminated: bool) -> None:
        """Learn from one transition. A truncated episode is not a terminated one."""
        self.tables = update(
            self.config,
            self.tables,
            int(obs) - self._first_obs,
            int(action) - self._first_action,
            float(reward),
            int(next_obs) - self._first_obs,
            bool(terminated),
        )

    @property
    def q(self) -> NDArray[np.float32]:
        """Estimated values [S, A]."""
        return np.asarray(self.tables.q)

    @property
    def rho(self) -> NDArray[np.float32]:
        """Estimated temporal difference errors [S, A]."""
        return np.asarray(self.tables.rho)

    @property
    def ell(self) -> NDArray[np.float32]:
        """Uncertainties [S, A]."""
        return np.asarray(self.tables.ell)


@partial(jax.jit, static_argnums=0)
def _draw(config: TabularConfig, tables: Tables, obs: Array, seed: Array, draws: Array) -> Array:
    key = jax.random.fold_in(jax.random.key(seed), draws)
    action: Array = act(config, tables, obs, key)
    return action
