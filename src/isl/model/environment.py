"""What a user may call an environment, and how an agent is attached to it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from isl import envs
from isl.agents.base import Agent
from isl.envs import named, spaces
from isl.envs.base import Environment
from isl.envs.encoded import encoded
from isl.errors import UsageError
from isl.training.compiled_loop import CompiledLoop, Programs
from isl.training.greedy import Read
from isl.training.host.loop import HostLoop
from isl.training.loop import Loop
from isl.training.python_envs.envs import Envs, PythonEnvs
from isl.training.python_envs.scout import scouted
from isl.training.python_envs.step_limit import StepLimit
from isl.training.python_envs.vector import SB3Envs, VectorEnvs, is_sb3


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
    again: Callable[[], gymnasium.Env[Any, Any]] | None = None  # makes another one, if it can
    limit: StepLimit | None = None  # of its steps
    factory: bool = False  # whether `again` is the user's own function


class _Wish(NamedTuple):
    """How the environments are to be run."""

    seed: int
    num_envs: int
    limit: StepLimit | None
    read: Read
    scout: bool

    def reading(self, env: Any, copy: Callable[[], Any]) -> spaces.Observations:
        """How the observations of a single environment are read; `copy` makes another one."""
        usual = self.read(env.observation_space)
        return scouted(usual, copy, self.limit) if self.scout else usual


def attach(
    env: Any,
    seed: int,
    num_envs: int = 1,
    step_timeout: float | None = None,
    read: Read = spaces.observations,
    scout: bool = False,
) -> Attachment:
    """From a name, a function that makes an environment, or an environment.

    Environments are Gymnasium's (single or vector), Stable-Baselines3's VecEnv, compiled tasks, and
    dm_env's. A step of a Python environment that takes longer than `step_timeout` seconds is an
    error. `read` says how its observations are read; with `scout` a copy of a single Python
    environment is played in first, to see whether they come back.
    """
    limit = None if step_timeout is None else StepLimit(step_timeout)
    if not isinstance(seed, int | np.integer):
        raise UsageError(f"seed must be a whole number, got {seed!r}; leave it out for 0")
    if num_envs < 1:
        raise UsageError(f"num_envs must be at least 1, got {num_envs}")
    wish = _Wish(seed, num_envs, limit, read, scout)
    if isinstance(env, str):
        if envs.is_compiled_task(env):
            return _compiled(envs.make(env), wish)
        return _made(partial(_make, env), env, wish)
    if isinstance(env, type) or (callable(env) and not hasattr(env, "step")):
        return replace(_made(env, None, wish), factory=True)
    return _given(env, wish)


def _made(make: Callable[[], Any], name: str | None, wish: _Wish) -> Attachment:
    """Environments that are made here, by their name or by the user's function."""
    first = make()
    single = _as_single(first)
    if single is None:  # several at once, or a compiled task
        return _given(first, wish)
    made = [single, *(_as_single(make()) for _ in range(wish.num_envs - 1))]
    if len({id(each) for each in made}) < len(made):
        raise UsageError(
            f"num_envs={wish.num_envs} needs as many environments, and the function returned the "
            "same one twice; make it inside the function"
        )
    task = name or _name(single)
    reading = wish.reading(single, lambda: _as_single(make()))
    python_envs = PythonEnvs(made, task, wish.seed, wish.limit, reading)
    attached = _host(single, python_envs, task, wish.seed)
    return replace(attached, again=lambda: _as_single(make()), limit=wish.limit)


def _given(env: Any, wish: _Wish) -> Attachment:
    """An environment that was given made."""
    seed, number, limit, read, _ = wish
    single = _as_single(env)
    if single is not None:
        if number > 1:
            raise UsageError(
                "num_envs needs the environment's name, or a function that makes it, to make more "
                "than one of it; give num_envs with one of these"
            )
        task = _name(single)
        reading = wish.reading(single, lambda: deepcopy(single))
        python_envs = PythonEnvs([single], task, seed, limit, reading)
        return _host(single, python_envs, task, seed)
    vector: Envs | None = None
    if isinstance(env, VectorEnv):
        task = _name(env)
        vector = VectorEnvs(env, task, seed, limit, read(env.single_observation_space))
    elif is_sb3(env):
        task = _name_in_vec_env(env)
        vector = SB3Envs(env, task, seed, limit, read(env.observation_space))
    if vector is not None:
        if number not in (1, vector.width):
            raise UsageError(
                f"num_envs={number}, but the vector environment has {vector.width}; leave it out"
            )
        return _host(env, vector, task, seed)
    if hasattr(env, "num_actions") and hasattr(env, "default_episodes"):
        return _compiled(env, wish)
    raise UsageError(_refusal(env))


def _as_single(env: Any) -> Any:
    """A single Gymnasium environment, from one of dm_env too; None if it is neither."""
    if isinstance(env, gymnasium.Env):
        return env
    if hasattr(env, "observation_spec") and hasattr(env, "action_spec"):
        from isl.envs.adapters import DmEnvAdapter

        return DmEnvAdapter(env)
    return None


def _name(env: Any) -> str:
    """What random streams derive from: the id, or the class of an environment without one."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _name_in_vec_env(env: Any) -> str:
    try:
        return str(env.get_attr("spec")[0].id)
    except (AttributeError, LookupError):  # without an id
        return type(getattr(env, "unwrapped", env)).__name__


def _refusal(env: Any) -> str:
    """What to do with an object that is no environment, or one of another package."""
    name, package = type(env).__name__, type(env).__module__.partition(".")[0]
    functional = hasattr(env, "reset_env") and hasattr(env, "step_env")  # as in gymnax and craftax
    if not functional and package not in envs.PACKAGES:
        return (
            f"cannot train on {name} object {env!r}; expected a Gymnasium id or environment, "
            "a function that makes one, a task such as 'deep_sea/20', or one made by "
            "isl.envs.adapters"
        )
    example = envs.PACKAGES[package if package in envs.PACKAGES else "gymnax"].example
    adapter = "FunctionalAdapter(env)" if functional else "TimestepAdapter(…)"
    return (
        f"{name} is a compiled environment of another package: give its name there, such as "
        f"{example!r}, or wrap it with isl.envs.adapters.{adapter}"
    )


def _compiled(env: Environment, wish: _Wish) -> Attachment:
    if wish.num_envs > 1:
        raise UsageError("num_envs is for Python environments; compiled tasks run one per seed")
    reading, seed = wish.read(env.observation_space), wish.seed
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
        return named.make(name)
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"no environment called {name!r}: {reason} (compiled tasks: {envs.examples()})"
        ) from None
