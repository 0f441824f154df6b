"""Compiled environments of other packages, by their names there."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from gymnasium.spaces import Box

from isl.envs.adapters import FunctionalAdapter, TimestepAdapter
from isl.errors import UsageError

CRAFTAX = tuple(
    f"Craftax-{kind}-v1" for kind in ("Symbolic", "Pixels", "Classic-Symbolic", "Classic-Pixels")
)


def gymnax(name: str) -> FunctionalAdapter:
    """An environment of gymnax ≥ 1.0, such as `MountainCar-v0`."""
    package = _package("gymnax", "gymnax")
    _check("gymnax", name, package.registered_envs)
    env, params = package.make(name)
    return FunctionalAdapter(env, params, f"gymnax:{name}")


def craftax(name: str) -> FunctionalAdapter:
    """An environment of craftax, such as `Craftax-Classic-Symbolic-v1`."""
    package = _package("craftax", "craftax.craftax_env")
    _check("craftax", name, CRAFTAX)
    env = package.make_craftax_env_from_name(name, auto_reset=False)
    return FunctionalAdapter(env, env.default_params, f"craftax:{name}")


def navix(name: str) -> TimestepAdapter:
    """An environment of navix, such as `Navix-DoorKey-5x5-v0`, with its limit of 100 steps."""
    package = _package("navix", "navix")
    _check("navix", name, package.registry())
    env = package.make(name)
    kinds = package.environments.environment.StepType

    def ended(timestep: Any) -> tuple[jax.Array, jax.Array]:
        kind = timestep.step_type
        return kind == kinds.TERMINATION, kind == kinds.TRUNCATION

    return TimestepAdapter(
        name=f"navix:{name}",
        observation_space=_box(env.observation_space.shape),
        num_actions=int(env.action_space.maximum) + 1,
        max_episode_steps=int(env.max_steps),
        begin=env.reset,
        advance=env._step,  # `step` would reset by itself
        ended=ended,
    )


def xminigrid(name: str) -> TimestepAdapter:
    """An environment of xminigrid, such as `MiniGrid-DoorKey-5x5`."""
    package = _package("xminigrid", "xminigrid")
    _check("xminigrid", name, package.registered_environments())
    env, params = package.make(name)
    limit = int(params.max_steps)

    def ended(timestep: Any) -> tuple[jax.Array, jax.Array]:
        return timestep.discount == 0, timestep.state.step_num >= limit

    return TimestepAdapter(
        name=f"xminigrid:{name}",
        observation_space=_box(env.observation_shape(params)),
        num_actions=int(env.num_actions(params)),
        max_episode_steps=limit,
        begin=lambda key: env.reset(params, key),
        advance=lambda timestep, action: env.step(params, timestep, action),
        ended=ended,
    )


def _package(package: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"tasks of {package} need the package {error.name!r}: pip install 'isl[{package}]'"
        ) from None


def _check(package: str, name: str, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        listed = ", ".join(known)
        meant = f"did you mean {package}:{close[0]}?" if close else f"it has {listed}"
        raise UsageError(f"{package} has no environment {name!r}; {meant}")


def _box(shape: Any) -> Box:
    """Small integers, as in MiniGrid."""
    return Box(0, 255, tuple(shape), np.uint8)
