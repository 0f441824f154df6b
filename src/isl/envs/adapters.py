"""Other kinds of environments made into ours.

DmEnvAdapter(env)            dm_env, bsuite        → Gymnasium, for the host loop
FunctionalAdapter(env, …)    gymnax, craftax       → a compiled task, for the compiled loop
TimestepAdapter(…)           navix, xminigrid      → likewise

`isl.envs.packages` makes the last two from names such as `gymnax:MountainCar-v0`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from isl.envs.base import TimeStep
from isl.errors import UsageError


class DmEnvAdapter(gymnasium.Env[Any, Any]):
    """A `dm_env.Environment`. Its random numbers are its own: `reset(seed=…)` cannot reach them."""

    def __init__(self, env: Any) -> None:
        self.dm_env = env
        self.observation_space = _space_of(env.observation_spec())
        spec = env.action_spec()
        if not hasattr(spec, "num_values"):
            raise UsageError(
                f"action spec {spec} is not supported; expected dm_env.specs.DiscreteArray"
            )
        self.action_space = spaces.Discrete(int(spec.num_values))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return _observation(self.observation_space, self.dm_env.reset().observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        timestep = self.dm_env.step(int(action))
        over = bool(timestep.last())
        terminated = over and timestep.discount == 0.0  # dm_env's truncation keeps its discount
        obs = _observation(self.observation_space, timestep.observation)
        return obs, float(timestep.reward or 0.0), terminated, over and not terminated, {}


def _space_of(spec: Any) -> spaces.Space[Any]:
    """The space of a spec, or of a dict or sequence of them."""
    if isinstance(spec, dict):
        return spaces.Dict([(name, _space_of(part)) for name, part in spec.items()])
    if isinstance(spec, list | tuple):
        return spaces.Tuple([_space_of(part) for part in spec])
    if hasattr(spec, "num_values"):
        return spaces.Discrete(int(spec.num_values))
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, spec.shape, np.float32)
    if dtype.kind not in "iu":
        raise UsageError(f"observation spec {spec} is not supported; expected numbers")
    limits = np.iinfo(dtype)
    return spaces.Box(limits.min, limits.max, spec.shape, dtype.type)


def _observation(space: spaces.Space[Any], value: Any) -> Any:
    if isinstance(space, spaces.Dict):
        return {name: _observation(part, value[name]) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_observation(p, v) for p, v in zip(space.spaces, value, strict=True))
    return int(value) if isinstance(space, spaces.Discrete) else np.asarray(value, space.dtype)


class FunctionalState(NamedTuple):
    """The environment's own state, and the steps of this episode."""

    inner: Any
    steps: jax.Array


LIMITS = ("max_steps_in_episode", "max_timesteps")  # what gymnax and craftax call it


@dataclasses.dataclass(frozen=True, eq=False)
class FunctionalAdapter:
    """A gymnax-style environment: pure `reset_env(key, params)` and `step_env(key, state, action,
    params)`, spaces as functions of `params`.

    Such environments may end an episode at their limit of steps as if it were a termination. Here
    that limit is lifted and kept by the adapter, as a truncation.
    """

    costly_reset: ClassVar[bool] = True

    env: Any
    params: Any = None  # default: the environment's own
    name: str = ""  # default: the environment's own; random streams derive from it
    default_episodes: int = 1000

    def __post_init__(self) -> None:
        for needed in ("reset_env", "step_env", "observation_space", "action_space"):
            if not hasattr(self.env, needed):
                raise UsageError(
                    f"{type(self.env).__name__} has no {needed}, which gymnax's environments have"
                )
        if self.params is None:
            object.__setattr__(self, "params", self.env.default_params)
        if not self.name:
            own = getattr(self.env, "name", type(self.env).__name__)
            object.__setattr__(self, "name", str(own))
        if not hasattr(self.env.action_space(self.params), "n"):
            raise UsageError(f"action space of {self.name} is not supported; expected Discrete")

    @property
    def observation_space(self) -> spaces.Space[Any]:
        return _read_space(self.name, self.env.observation_space(self.params))

    @property
    def num_actions(self) -> int:
        return int(self.env.action_space(self.params).n)

    @property
    def max_episode_steps(self) -> int:
        return int(getattr(self.params, self._limit))

    def reset(self, key: jax.Array) -> tuple[FunctionalState, jax.Array]:
        obs, state = self.env.reset_env(key, self._endless())
        return FunctionalState(_arrays(state), jnp.int32(0)), _seen(self.observation_space, obs)

    def step(self, state: FunctionalState, action: jax.Array, key: jax.Array) -> TimeStep:
        obs, inner, reward, done, _ = self.env.step_env(key, state.inner, action, self._endless())
        steps = state.steps + 1
        terminated = jnp.asarray(done, jnp.bool_)
        return TimeStep(
            state=FunctionalState(_like(state.inner, inner), steps),
            obs=_seen(self.observation_space, obs),
            reward=jnp.asarray(reward, jnp.float32),
            discount=1.0 - terminated.astype(jnp.float32),
            last=terminated | (steps >= self.max_episode_steps),
            info={},
        )

    @property
    def _limit(self) -> str:
        for name in LIMITS:
            if hasattr(self.params, name):
                return name
        raise UsageError(f"the parameters of {self.name} have no limit of steps ({LIMITS})")

    def _endless(self) -> Any:
        return dataclasses.replace(self.params, **{self._limit: np.iinfo(np.int32).max})


@dataclasses.dataclass(frozen=True, eq=False)
class TimestepAdapter:
    """An environment whose `reset` and `step` give a timestep that holds state and observation."""

    costly_reset: ClassVar[bool] = True

    name: str
    observation_space: spaces.Box
    num_actions: int
    max_episode_steps: int
    begin: Callable[[jax.Array], Any]  # key → timestep
    advance: Callable[[Any, jax.Array], Any]  # (timestep, action) → timestep, never reset
    ended: Callable[[Any], tuple[jax.Array, jax.Array]]  # timestep → (terminated, truncated)
    default_episodes: int = 1000

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        timestep = _arrays(self.begin(key))
        return timestep, _seen(self.observation_space, timestep.observation)

    def step(self, state: Any, action: jax.Array, key: jax.Array) -> TimeStep:
        """The environment carries its own key, drawn from that of `reset`."""
        del key
        timestep = self.advance(state, action)
        terminated, truncated = self.ended(timestep)
        return TimeStep(
            state=_like(state, timestep),
            obs=_seen(self.observation_space, timestep.observation),
            reward=jnp.asarray(timestep.reward, jnp.float32),
            discount=1.0 - terminated.astype(jnp.float32),
            last=terminated | truncated,
            info={},
        )


def _read_space(name: str, space: Any) -> spaces.Space[Any]:
    if hasattr(space, "n"):
        return spaces.Discrete(int(space.n))
    if not hasattr(space, "shape") or not hasattr(space, "dtype"):
        raise UsageError(f"observation space of {name} is not supported; expected Discrete or Box")
    if np.dtype(space.dtype) == np.uint8:
        return spaces.Box(0, 255, tuple(space.shape), np.uint8)
    return spaces.Box(-np.inf, np.inf, tuple(space.shape), np.float32)


def _seen(space: spaces.Space[Any], obs: Any) -> jax.Array:
    dtype = jnp.int32 if isinstance(space, spaces.Discrete) else space.dtype
    return jnp.asarray(obs, dtype)


def _arrays(state: Any) -> Any:
    """Plain numbers as arrays of a fixed type: a loop's state must not change its types."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.asarray(x).dtype), state)


def _like(before: Any, state: Any) -> Any:
    """The state in the types of the one before."""
    return jax.tree.map(lambda old, new: jnp.asarray(new, old.dtype), before, state)
