"""The environment, the agent and the compiled programs of one configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from isl import agents
from isl.agents.base import Agent
from isl.envs.base import Environment
from isl.errors import UsageError
from isl.experiments.spec import RunSpec
from isl.storage import checkpoint, files, store
from isl.training.compiled import Program, TrainState, compile_training

MOST_PARTS = 10  # of a chunk that is looked into


class Prepared:
    """The program of a configuration, each part compiled when it is first needed.

    So the first episodes are there before the updates are compiled.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.env: Environment = spec.environment()
        space, actions = self.env.observation_space, self.env.num_actions
        self.agent: Agent = spec.make_agent(space, actions)
        self.program: Program = compile_training(self.env, self.agent)
        self._shapes = self.program.shapes(spec.cohort_width)

    @cached_property
    def warm_up(self) -> Callable[[TrainState], Any]:
        return self.program.warm_up.lower(self._shapes).compile()  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def chunk(self) -> Callable[[TrainState], Any]:
        return self.program.chunk.lower(self._shapes).compile()  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def part(self) -> Callable[[TrainState], Any]:
        """One of the `parts` of a chunk, to look inside between them."""
        return self._fine[1].chunk.lower(self._shapes).compile()  # type: ignore[attr-defined, no-any-return]

    @property
    def parts(self) -> int:
        return self._fine[0]

    @cached_property
    def _fine(self) -> tuple[int, Program]:
        whole = self.program.updates_per_chunk
        for parts in range(MOST_PARTS, 1, -1):
            program = compile_training(self.env, self.agent, max(1, whole // parts))
            if program.updates_per_chunk * parts == whole:
                return parts, program
        return 1, self.program

    def one_seed(self) -> TrainState:
        """The shapes of one seed's state, without the cohort's axis."""
        seeds, counters = self.program.shapes(1)
        drop = lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype)  # noqa: E731
        return TrainState(jax.tree.map(drop, seeds), counters)


def prepare(config: dict[str, Any]) -> Prepared:
    """Seeds that follow in the same process reuse the program."""
    return _prepare(files.canonical_json(config))


@lru_cache(maxsize=32)
def _prepare(config: bytes) -> Prepared:
    return Prepared(RunSpec(**files.parse_json(Path("config"), config)))


def final_learner(path: Path) -> tuple[Prepared, Any]:
    """The environment and agent of a finished run, and its learned state.

    The folder may be a stranger's: an agent that it names by a dotted path is not imported.
    """
    run = store.read_run(path)
    if run.agent not in agents.AGENTS:
        known = ", ".join(agents.AGENTS)
        raise UsageError(f"{path} is of agent {run.agent!r}: only {known} are read from a folder")
    prepared = prepare(run.config)
    template = prepared.one_seed().seeds.learner
    learner, _ = checkpoint.load_file(path / checkpoint.FOLDER / checkpoint.FINAL, template)
    return prepared, jax.tree.map(jnp.asarray, learner)
