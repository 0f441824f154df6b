"""The compiled loop, driven a chunk at a time: a cohort of seeds of one task."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent
from isl.envs.base import Environment
from isl.training.compiled import (
    Counters,
    Program,
    SeedState,
    TrainState,
    compile_training,
    streams,
)
from isl.training.loop import (
    NEVER,
    Saved,
    Steps,
    divergence,
    filled,
    filled_template,
    joined,
    refilled,
)

MOST_PARTS = 10  # of a chunk that is looked into


class Programs:
    """The programs of an agent on a task for cohorts of one width, each compiled when needed.

    So the first episodes are there before the updates are compiled.
    """

    def __init__(self, env: Environment, agent: Agent, width: int = 1) -> None:
        self.env, self.agent, self.width = env, agent, width
        self.whole: Program = compile_training(env, agent)
        self._shapes = self.whole.shapes(width)

    @cached_property
    def warm_up(self) -> Callable[[TrainState], Any]:
        """The steps before the first update."""
        return self._compiled(self.whole.warm_up)

    @cached_property
    def chunk(self) -> Callable[[TrainState], Any]:
        """About 500 updates and their steps."""
        return self._compiled(self.whole.chunk)

    @cached_property
    def part(self) -> Callable[[TrainState], Any]:
        """One of the `parts` of a chunk, to look inside between them."""
        return self._compiled(self._fine[1].chunk)

    @property
    def parts(self) -> int:
        return self._fine[0]

    @property
    def updates_per_part(self) -> int:
        return self._fine[1].updates_per_chunk

    @cached_property
    def _fine(self) -> tuple[int, Program]:
        whole = self.whole.updates_per_chunk
        for parts in range(MOST_PARTS, 1, -1):
            program = compile_training(self.env, self.agent, max(1, whole // parts))
            if program.updates_per_chunk * parts == whole:
                return parts, program
        return 1, self.whole

    def _compiled(self, function: Any) -> Callable[[TrainState], Any]:
        compiled: Callable[[TrainState], Any] = function.lower(self._shapes).compile()
        return compiled


@jax.jit
def _one_of(cohort: Any, seed: jax.Array) -> Any:
    """One seed's part of a tree whose leaves are [cohort, …]: a copy, in one call."""
    return jax.tree.map(lambda x: x[seed], cohort)


@jax.jit
def _some_of(cohort: Any, seed: jax.Array, at: jax.Array) -> Any:
    """Some items of one seed's part of a tree whose leaves are [cohort, items, …]."""
    return jax.tree.map(lambda x: x[seed, at], cohort)


class CompiledLoop:
    """A cohort of seeds learning on one compiled task (see `isl.training.loop.Loop`).

    The program has a fixed width: short cohorts are padded with copies of their last seed, which
    changes no bit of the others.
    """

    masked = False
    infos = ()
    _diverged: NDArray[Any] | None  # where known, of all seeds after this chunk

    def __init__(self, programs: Programs, seeds: Sequence[int]) -> None:
        self.agent = programs.agent
        self._programs = programs
        self._seeds = list(seeds)
        self.seconds = 0.0
        self.restart(None, "")

    def _padded(self, members: Sequence[Any]) -> list[Any]:
        return [*members, *[members[-1]] * (self._programs.width - len(members))]

    def restart(self, learner: Any, salt: str) -> None:
        """Begin anew, with a learner or a fresh one; `salt` gives other random streams."""
        all_seeds = self._padded(self._seeds)
        self._state = self._programs.whole.init(all_seeds)
        seeds = self._state.seeds
        if salt:
            seeds = seeds._replace(streams=streams(self._programs.env.name + salt, all_seeds))
        if learner is not None:
            seeds = seeds._replace(learner=self._repeated(learner))
        self._begin(seeds, self._state.counters)

    def _repeated(self, learner: Any) -> Any:
        """One learner for all seeds."""
        width = self._programs.width
        return jax.tree.map(lambda x: jnp.stack([jnp.array(x)] * width), learner)

    def adopt(self, learner: Any) -> None:
        """Go on with another learner; replay, environments and counters stay."""
        seeds = self._state.seeds._replace(learner=self._repeated(learner))
        self._state = self._state._replace(seeds=seeds)
        self._diverged = None

    def _begin(self, seeds: SeedState, counters: Counters) -> None:
        self._state = TrainState(seeds, counters)
        self._diverged = None
        self.steps, self.updates = (int(x) for x in counters)
        # Sums of the metrics since they were last read, and over how many updates, by seed.
        self._totals: list[dict[str, float]] = [{} for _ in self._seeds]
        self._counted = [0] * len(self._seeds)

    @property
    def parts(self) -> int:
        """Into how many parts `chunk` can cut a chunk."""
        return self._programs.parts

    @property
    def learner(self) -> Any:
        """What the first seed has learned: a copy."""
        return self.learner_of(0)

    def learner_of(self, seed: int) -> Any:
        """What a seed has learned: a copy."""
        return _one_of(self._state.seeds.learner, seed)

    def diverged_at(self, seed: int = 0) -> int | None:
        """The first update that gave a value that is not finite, if any."""
        if self._diverged is None:
            seeds = self._state.seeds
            self._diverged = divergence(seeds.learner, seeds.diverged_at, self.updates)
        return None if self._diverged[seed] == NEVER else int(self._diverged[seed])

    def read_metrics(self, seed: int = 0) -> dict[str, float]:
        """Means of the agent's metrics over the updates since the last call; empty without one."""
        totals, count = self._totals[seed], self._counted[seed]
        self._totals[seed], self._counted[seed] = {}, 0
        return {name: total / count for name, total in totals.items()}

    def stored(self, at: NDArray[np.int64], seed: int = 0) -> Any:
        """Items of the replay by their places."""
        return _some_of(self._state.seeds.storage, seed, at)

    def run(self, steps: int) -> Steps:
        """At least `steps` more steps of the first seed, in whole chunks."""
        end, taken = self.steps + steps, []
        while self.steps < end:
            taken.append(self.chunk(0)[0])
        return joined(taken)

    def chunk(self, most: int, fine: bool = False) -> list[Steps]:
        """The next chunk, or a part of one; at first the steps before the first update."""
        programs, updates = self._programs, 0
        if self.steps == 0:
            advance = programs.warm_up
        elif fine:
            advance, updates = programs.part, programs.updates_per_part
        else:
            advance, updates = programs.chunk, programs.whole.updates_per_chunk
        started = time.perf_counter()  # compiled by now
        self._state, steps, *metrics = advance(self._state)
        jax.block_until_ready(self._state)
        self.seconds += time.perf_counter() - started
        self._diverged = None
        for means in jax.device_get(metrics):
            self._count(means, updates)
        taken: Steps = jax.device_get(steps)
        self.updates += updates
        self.steps += taken.reward.shape[1]
        return [jax.tree.map(lambda x, i=i: x[i], taken) for i in range(len(self._seeds))]

    def _count(self, means: dict[str, NDArray[Any]], updates: int) -> None:
        for seed, totals in enumerate(self._totals):
            for name, mean in means.items():
                totals[name] = totals.get(name, 0.0) + updates * float(mean[seed])
            self._counted[seed] += updates

    def state(self, seed: int = 0) -> Saved:
        """Everything but the learner, for a file; of the replay, the filled part."""
        fields = self._state.seeds._asdict()
        del fields["learner"]
        one = jax.tree.map(lambda x: np.array(np.asarray(x)[seed]), fields | {"storage": ()})
        storage = jax.tree.map(lambda x: np.asarray(x)[seed], fields["storage"])
        one["storage"] = filled(storage, self.steps, self.agent.schedule.replay_capacity)
        return {"seed": one, "counters": jax.device_get(self._state.counters)}

    def template(self) -> Saved:
        """What `state` looks like."""
        seeds, counters = self._programs.whole.shapes(1)
        drop = lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype)  # noqa: E731
        one = jax.tree.map(drop, seeds)._asdict()
        del one["learner"]
        one["storage"] = filled_template(one["storage"])
        return {"seed": one, "counters": counters}

    def restore(self, learner: Any, state: Saved) -> None:
        """Continue a cohort of one seed from `state`."""
        self.restore_all([(learner, state)])

    def restore_all(self, saved: Sequence[tuple[Any, Saved]]) -> None:
        """Continue every seed from its learner and state, all of them at the same step."""
        capacity = self.agent.schedule.replay_capacity
        members = [
            SeedState(
                **state["seed"]
                | {"learner": learner, "storage": refilled(state["seed"]["storage"], capacity)}
            )
            for learner, state in saved
        ]
        seeds = jax.tree.map(lambda *x: jnp.stack(x), *self._padded(members))
        counters = jax.tree.map(jnp.array, Counters(*saved[0][1]["counters"]))
        self._begin(seeds, counters)
