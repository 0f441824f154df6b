"""The environment, the agent and the compiled programs of one configuration."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from isl import agents, envs
from isl.agents.base import Agent
from isl.envs import spaces
from isl.envs.base import Environment
from isl.envs.encoded import encoded
from isl.errors import UsageError
from isl.experiments.spec import RunSpec
from isl.storage import checkpoint, files, store
from isl.training.compiled_loop import Programs


def prepare(config: dict[str, Any]) -> Programs:
    """The programs of a compiled task; seeds that follow in the same process reuse them."""
    return _prepare(files.canonical_json(config))


@lru_cache(maxsize=32)
def _prepare(config: bytes) -> Programs:
    spec = _spec(config)
    env = spec.environment()
    _check_facts(env)
    agent = spec.make_agent(env.observation_space, env.num_actions)
    read = encoded(env, spec.reading(env.observation_space))
    return Programs(read, agent, spec.cohort_width)


def _spec(config: bytes) -> RunSpec:
    return RunSpec(**files.parse_json(Path("config"), config))


def _check_facts(env: Environment) -> None:
    """What a task puts into `TimeStep.info` must be what its family declares."""
    state, _ = jax.eval_shape(env.reset, jax.random.key(0))
    step = jax.eval_shape(env.step, state, jnp.int32(0), jax.random.key(0))
    family = envs.family_of(env.name)
    declared = {fact.name for fact in family.facts} if family is not None else set()
    if step.info.keys() != declared:
        gives, declares = (", ".join(sorted(x)) or "nothing" for x in (step.info, declared))
        raise UsageError(
            f"{env.name} gives the facts {gives} in TimeStep.info, its family declares {declares}: "
            "make `facts` of its entry in isl.envs.registry.TASKS the same"
        )


def host_agent(spec: RunSpec, observations: spaces.Observations, num_actions: int) -> Agent:
    """Seeds that follow in the same process share the agent, and so what is compiled for it."""
    space = files.canonical_json(observations.describe())
    return _host_agent(files.canonical_json(spec.to_dict()), space, num_actions)


@lru_cache(maxsize=8)
def _host_agent(config: bytes, described: bytes, num_actions: int) -> Agent:
    spec = _spec(config)
    space = spaces.from_description(files.parse_json(Path("space"), described))
    return spec.make_agent(space, num_actions)


def final_learner(path: Path) -> tuple[Programs, Any]:
    """The environment and agent of a finished run, and its learned state.

    The folder may be a stranger's: an agent that it names by a dotted path is not imported.
    """
    run = store.read_run(path)
    if run.agent not in agents.AGENTS:
        known = ", ".join(agents.AGENTS)
        raise UsageError(f"{path} is of agent {run.agent!r}: only {known} are read from a folder")
    programs = prepare(run.config)
    template = jax.eval_shape(programs.agent.init, jax.random.key(0))
    learner, _ = checkpoint.load_file(path / checkpoint.FOLDER / checkpoint.FINAL, template)
    return programs, jax.tree.map(jnp.asarray, learner)
