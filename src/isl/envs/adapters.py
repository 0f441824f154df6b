"""Other kinds of environments made into ours.

DmEnvAdapter(env)            dm_env, bsuite        → Gymnasium, for the host loop
FunctionalAdapter(env, …)    gymnax and the like   → a compiled task, for the compiled loop
TaskEnv(task)                a compiled task       → Gymnasium, to evaluate and play on
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

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
    inner: Any
    steps: jax.Array


@dataclasses.dataclass(frozen=True, eq=False)
class FunctionalAdapter:
    """A gymnax-style environment: pure `reset_env(key, params)` and `step_env(key, state, action,
    params)`, spaces as functions of `params`.

    Such environments end an episode at `params.max_steps_in_episode` as if it were a termination.
    Here that limit is lifted and kept by the adapter, as a truncation.
    """

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

    @property
    def observation_space(self) -> spaces.Space[Any]:
        space = self.env.observation_space(self.params)
        if hasattr(space, "n"):
            return spaces.Discrete(int(space.n))
        if np.dtype(space.dtype) == np.uint8:
            return spaces.Box(0, 255, tuple(space.shape), np.uint8)
        return spaces.Box(-np.inf, np.inf, tuple(space.shape), np.float32)

    @property
    def num_actions(self) -> int:
        space = self.env.action_space(self.params)
        if not hasattr(space, "n"):
            raise UsageError(f"action space of {self.name} is not supported; expected Discrete")
        return int(space.n)

    @property
    def max_episode_steps(self) -> int:
        return int(self.params.max_steps_in_episode)

    def reset(self, key: jax.Array) -> tuple[FunctionalState, jax.Array]:
        obs, state = self.env.reset_env(key, self._endless())
        return FunctionalState(_arrays(state), jnp.int32(0)), self._seen(obs)

    def step(self, state: FunctionalState, action: jax.Array, key: jax.Array) -> TimeStep:
        obs, inner, reward, done, _ = self.env.step_env(key, state.inner, action, self._endless())
        steps = state.steps + 1
        terminated = jnp.asarray(done, jnp.bool_)
        return TimeStep(
            state=FunctionalState(_arrays(inner), steps),
            obs=self._seen(obs),
            reward=jnp.asarray(reward, jnp.float32),
            discount=1.0 - terminated.astype(jnp.float32),
            last=terminated | (steps >= self.max_episode_steps),
            info={},
        )

    def _endless(self) -> Any:
        return dataclasses.replace(self.params, max_steps_in_episode=np.iinfo(np.int32).max)

    def _seen(self, obs: Any) -> jax.Array:
        space = self.observation_space
        dtype = jnp.int32 if isinstance(space, spaces.Discrete) else space.dtype
        return jnp.asarray(obs, dtype)


def _arrays(state: Any) -> Any:
    """Plain numbers as arrays of a fixed type: a loop's state must not change its types."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.asarray(x).dtype), state)
