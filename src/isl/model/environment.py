"""What a user may call an environment, and how an agent is attached to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from isl import envs
from isl.agents.base import Agent
from isl.envs import spaces
from isl.envs.base import Environment
from isl.errors import UsageError
from isl.training.compiled_loop import CompiledLoop, Programs
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


def attach(env: Any, seed: int, num_envs: int = 1, step_timeout: float | None = None) -> Attachment:
    """From a name, a Gymnasium environment (single or vector), a compiled task or a dm_env one.

    A step of a Python environment that takes longer than `step_timeout` seconds is an error.
    """
    limit = None if step_timeout is None else StepLimit(step_timeout)
    if num_envs < 1:
        raise UsageError(f"num_envs must be at least 1, got {num_envs}")
    if isinstance(env, str):
        if envs.is_compiled_task(env):
            return _compiled(envs.make(env), seed, num_envs)
        made = [_make(env) for _ in range(num_envs)]
        return _host(made[0], PythonEnvs(made, env, seed, limit), env, seed)
    if num_envs > 1:
        raise UsageError(
            "num_envs needs the environment's name, to make more than one of it; "
            "give the name, or a gymnasium.vector.VectorEnv"
        )
    if isinstance(env, VectorEnv):
        task = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        return _host(env, VectorEnvs(env, task, seed, limit), task, seed)
    if isinstance(env, gymnasium.Env):
        task = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        return _host(env, PythonEnvs([env], task, seed, limit), task, seed)
    if hasattr(env, "observation_spec") and hasattr(env, "action_spec"):
        from isl.envs.adapters import DmEnvAdapter

        return attach(DmEnvAdapter(env), seed, step_timeout=step_timeout)
    if hasattr(env, "num_actions") and hasattr(env, "default_episodes"):
        return _compiled(env, seed, num_envs)
    raise UsageError(
        f"cannot train on {type(env).__name__} object {env!r}; expected a Gymnasium id or "
        "environment, a task such as 'deep_sea/20', or one made by isl.envs.adapters"
    )


def _compiled(env: Environment, seed: int, num_envs: int) -> Attachment:
    if num_envs > 1:
        raise UsageError("num_envs is for Python environments; compiled tasks run one per seed")
    return Attachment(
        env,
        env.name,
        "compiled",
        1,
        spaces.observations(env.observation_space),
        spaces.actions(gymnasium.spaces.Discrete(env.num_actions)),
        lambda agent: CompiledLoop(Programs(env, agent), [seed]),
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
