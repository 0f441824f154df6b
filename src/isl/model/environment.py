"""What a user may call an environment, and how an agent is attached to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from isl import envs
from isl.agents.base import Agent
from isl.envs import spaces
from isl.envs.base import Environment
from isl.envs.encoded import encoded
from isl.errors import UsageError
from isl.training.compiled_loop import CompiledLoop, Programs
from isl.training.greedy import Read
from isl.training.host.loop import HostLoop
from isl.training.loop import Loop
from isl.training.python_envs.envs import Envs, PythonEnvs, VectorEnvs
from isl.training.python_envs.step_limit import StepLimit


@dataclass(frozen=True)
class Attachment:
    """An environment that agents can be run on."""

    env: Any  # as the user gave it, or as it was made from the name they gave
    task: str  # the name that random streams derive from
    kind: str  # "compiled" or "host"
    width: int  # environments side by side
    observations: spaces.Observations
    actions: spaces.Actions
    loop: Callable[[Agent], Loop]
    again: Callable[[], gymnasium.Env[Any, Any]] | None = None  # makes another one, if it was named
    limit: StepLimit | None = None  # of its steps


def attach(
    env: Any,
    seed: int,
    num_envs: int = 1,
    step_timeout: float | None = None,
    read: Read = spaces.observations,
) -> Attachment:
    """From a name, a Gymnasium environment (single or vector), a compiled task or a dm_env one.

    A step of a Python environment that takes longer than `step_timeout` seconds is an error.
    `read` says how its observations are read.
    """
    limit = None if step_timeout is None else StepLimit(step_timeout)
    if num_envs < 1:
        raise UsageError(f"num_envs must be at least 1, got {num_envs}")
    if isinstance(env, str):
        if envs.is_compiled_task(env):
            return _compiled(envs.make(env), seed, num_envs, read)
        made = [_make(env) for _ in range(num_envs)]
        reading = read(made[0].observation_space)
        attached = _host(made[0], PythonEnvs(made, env, seed, limit, reading), env, seed)
        return replace(attached, again=partial(_make, env), limit=limit)
    if num_envs > 1:
        raise UsageError(
            "num_envs needs the environment's name, to make more than one of it; "
            "give the name, or a gymnasium.vector.VectorEnv"
        )
    if isinstance(env, VectorEnv):
        task = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        reading = read(env.single_observation_space)
        return _host(env, VectorEnvs(env, task, seed, limit, reading), task, seed)
    if isinstance(env, gymnasium.Env):
        task = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        python_envs = PythonEnvs([env], task, seed, limit, read(env.observation_space))
        return _host(env, python_envs, task, seed)
    if hasattr(env, "observation_spec") and hasattr(env, "action_spec"):
        from isl.envs.adapters import DmEnvAdapter

        return attach(DmEnvAdapter(env), seed, 1, step_timeout, read)
    if hasattr(env, "num_actions") and hasattr(env, "default_episodes"):
        return _compiled(env, seed, num_envs, read)
    raise UsageError(_refusal(env))


def _refusal(env: Any) -> str:
    """What to do with an object that is no environment, or one of another package."""
    name, package = type(env).__name__, type(env).__module__.partition(".")[0]
    functional = hasattr(env, "reset_env") and hasattr(env, "step_env")  # as in gymnax and craftax
    if not functional and package not in envs.PACKAGES:
        return (
            f"cannot train on {name} object {env!r}; expected a Gymnasium id or environment, "
            "a task such as 'deep_sea/20', or one made by isl.envs.adapters"
        )
    example = envs.PACKAGES[package if package in envs.PACKAGES else "gymnax"].example
    adapter = "FunctionalAdapter(env)" if functional else "TimestepAdapter(…)"
    return (
        f"{name} is a compiled environment of another package: give its name there, such as "
        f"{example!r}, or wrap it with isl.envs.adapters.{adapter}"
    )


def _compiled(env: Environment, seed: int, num_envs: int, read: Read) -> Attachment:
    if num_envs > 1:
        raise UsageError("num_envs is for Python environments; compiled tasks run one per seed")
    reading = read(env.observation_space)
    return Attachment(
        env,
        env.name,
        "compiled",
        1,
        reading,
        spaces.actions(gymnasium.spaces.Discrete(env.num_actions)),
        lambda agent: CompiledLoop(Programs(encoded(env, reading), agent), [seed]),
    )


def _host(env: Any, python_envs: Envs, task: str, seed: int) -> Attachment:
    return Attachment(
        env,
        task,
        "host",
        python_envs.width,
        python_envs.observations,
        python_envs.actions,
        lambda agent: HostLoop(agent, python_envs, task, seed),
    )


def _make(name: str) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.make(name)
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"no environment called {name!r}: {reason} (compiled tasks: {envs.examples()})"
        ) from None
