"""The whole training loop as one XLA program: steps, replay, updates, target copies.

The program runs in chunks of a whole number of target periods, so that between two chunks (when the
host looks at it, draws progress, writes a checkpoint) the targets equal the online parameters and
need not be kept. What a run computes does not depend on how it is cut into chunks: every key is
derived from a stream and a counter (isl.training.rng).

    for each target period:                 targets are constants inside
        for each of its P updates:
            if a new iteration begins: T environment steps
            one update

The same source serves one seed and a cohort of them (`vmap`): the counters are shared, so no branch
ever becomes a select over parameters or replay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete

from isl.agents.base import Agent, Metrics, Transition
from isl.envs.base import Environment, TimeStep, go_on
from isl.nn.networks import dummy_observation
from isl.nn.random_indices import uniform_indices
from isl.training import replay, rng
from isl.training.loop import NEVER, Steps, empty_replay, update_step, zero_metrics

STREAMS = ("init", "env", "act", "episode", "store", "learn")


class SeedState(NamedTuple):
    """Everything that one seed's run is, besides the shared counters."""

    streams: dict[str, jax.Array]  # raw key data per stream; constant
    learner: Any
    env: Any
    obs: jax.Array
    episode: Any
    storage: replay.Storage
    diverged_at: jax.Array  # first update with a non-finite metric, NEVER if none


class Counters(NamedTuple):
    """Shared by all seeds of a cohort."""

    steps: jax.Array
    updates: jax.Array


class TrainState(NamedTuple):
    seeds: SeedState  # every leaf with a leading axis [cohort]
    counters: Counters


Carry = tuple[SeedState, Steps, Metrics]  # of the loop over updates: the metrics are sums


class Program(NamedTuple):
    """The compiled functions of one (task, agent) pair; `Steps` are [cohort, steps] here."""

    init: Callable[[list[int]], TrainState]
    shapes: Callable[[int], TrainState]  # of what `init` gives for a number of seeds
    warm_up: Callable[[TrainState], tuple[TrainState, Steps]]  # steps before the first update
    chunk: Callable[[TrainState], tuple[TrainState, Steps, dict[str, jax.Array]]]
    steps_per_chunk: int
    updates_per_chunk: int


@dataclass(frozen=True)
class _OneSeed:
    """The training of one seed as functions that can be traced."""

    env: Environment
    agent: Agent
    updates_per_chunk: int

    @property
    def steps_per_chunk(self) -> int:
        schedule = self.agent.schedule
        return self.updates_per_chunk // schedule.updates * schedule.steps

    def init(self, streams: dict[str, jax.Array]) -> SeedState:
        agent, zero = self.agent, jnp.uint32(0)
        learner = agent.init(rng.at(streams["init"], zero))
        env_state, obs = self.env.reset(rng.at(streams["env"], zero))
        dummy = dummy_observation(self.env.observation_space)
        storage = empty_replay(agent, learner, dummy, streams["store"])
        return SeedState(
            streams=streams,
            learner=learner,
            env=env_state,
            obs=obs,
            episode=agent.begin_episode(learner, rng.at(streams["episode"], zero)),
            storage=storage,
            diverged_at=jnp.asarray(NEVER),
        )

    def env_step(self, seed: SeedState, step: jax.Array, learning: bool) -> tuple[SeedState, Steps]:
        """One step of the task, stored; at the end of an episode the next one begins."""
        env, agent = self.env, self.agent
        now = step + 1  # counter 0 served the initial draws
        act_key = rng.at(seed.streams["act"], now)
        if learning or not agent.schedule.random_start:
            action = agent.act(seed.learner, seed.episode, seed.obs, act_key)
        else:
            action = uniform_indices(act_key, jnp.uint32(env.num_actions), ())
        step_key, reset_key = jax.random.split(rng.at(seed.streams["env"], now))
        ts = env.step(seed.env, action, step_key)
        transition = Transition(seed.obs, action, ts.reward, ts.discount, ts.obs)
        learner, going = seed.learner, seed.episode
        if agent.track is not None:
            learner, going, transition = agent.track(learner, going, transition, ts.last)
        learner, item = agent.observe(learner, transition, rng.at(seed.streams["store"], now))
        begun = agent.begin_episode(learner, rng.at(seed.streams["episode"], now))
        env_state, obs = go_on(env, ts, reset_key)
        episode = jax.tree.map(partial(jnp.where, ts.last), begun, going)
        record = _record(env, seed.obs, ts)
        seed = seed._replace(
            learner=learner,
            env=env_state,
            obs=obs,
            episode=episode,
            storage=replay.add(seed.storage, item, step),
        )
        return seed, record

    def run_steps(
        self,
        seed: SeedState,
        records: Steps,
        first: jax.Array,
        n: Any,
        offset: jax.Array,
        learning: bool,
    ) -> tuple[SeedState, Steps]:
        """`n` steps from step number `first`, written to `records` from `offset` on."""

        def body(i: jax.Array, carry: tuple[SeedState, Steps]) -> tuple[SeedState, Steps]:
            seed, records = carry
            seed, record = self.env_step(seed, first + i, learning)
            return seed, replay.write(records, record, offset + i)

        end: tuple[SeedState, Steps] = jax.lax.fori_loop(0, n, body, (seed, records))
        return end

    def warm_up(self, seed: SeedState) -> tuple[SeedState, Steps]:
        n = self.agent.schedule.learning_starts
        zero = jnp.int32(0)
        return self.run_steps(seed, self.empty_records(n), zero, n, zero, learning=False)

    def one_update(self, begin: Counters, target: Any, update: jax.Array, carry: Carry) -> Carry:
        """The environment steps that are due, then one update; `begin`: of the chunk."""
        schedule = self.agent.schedule

        def steps_before(update: jax.Array) -> jax.Array:
            """Environment steps taken in this chunk once update number `update` may happen."""
            return ((update - begin.updates) // schedule.updates + 1) * schedule.steps

        seed, records, totals = carry
        done = steps_before(update - 1)
        n = steps_before(update) - done if schedule.updates > 1 else schedule.steps
        n = replay.loop_length(n, update)
        seed, records = self.run_steps(seed, records, begin.steps + done, n, done, learning=True)
        held = begin.steps + steps_before(update)
        learner, metrics, bad = update_step(
            self.agent, seed.learner, target, seed.storage, seed.streams["learn"], update, held
        )
        seed = seed._replace(learner=learner, diverged_at=jnp.minimum(seed.diverged_at, bad))
        return seed, records, jax.tree.map(jnp.add, totals, metrics)

    def chunk(self, seed: SeedState, counters: Counters) -> Carry:
        """A whole number of target periods; the metrics are means over its updates."""
        period = self.agent.schedule.target_period

        def one_period(carry: Carry, number: jax.Array) -> tuple[Carry, None]:
            target = self.agent.target(carry[0].learner)  # frozen while the online ones move on
            first = counters.updates + number * period
            body = lambda i, c: self.one_update(counters, target, first + i, c)  # noqa: E731
            return jax.lax.fori_loop(0, period, body, carry), None

        totals = zero_metrics(self.agent, seed.learner, seed.storage)
        periods = jnp.arange(self.updates_per_chunk // period, dtype=jnp.int32)
        carry = (seed, self.empty_records(self.steps_per_chunk), totals)
        (seed, records, totals), _ = jax.lax.scan(one_period, carry, periods)
        return seed, records, {k: x / self.updates_per_chunk for k, x in totals.items()}

    def empty_records(self, steps: int) -> Steps:
        def shapes(key: jax.Array) -> Steps:
            state, obs = self.env.reset(key)
            return _record(self.env, obs, self.env.step(state, jnp.int32(0), key))

        one = jax.eval_shape(shapes, jax.random.key(0))
        records: Steps = jax.tree.map(lambda s: jnp.zeros((steps, *s.shape), s.dtype), one)
        return records


def compile_training(env: Environment, agent: Agent, chunk_updates: int = 500) -> Program:
    """The program that trains `agent` on `env`, about `chunk_updates` updates per chunk.

    A chunk is a whole number of target periods and of iterations (T steps, I updates).
    """
    cycle = math.lcm(agent.schedule.target_period, agent.schedule.updates)
    updates_per_chunk = -(-chunk_updates // cycle) * cycle
    one = _OneSeed(env, agent, updates_per_chunk)

    def start(streams: dict[str, jax.Array]) -> TrainState:
        counters = Counters(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return TrainState(_cohort(one.init)(streams), counters)

    # Runs once, so XLA may compile it in a hurry: 2 s instead of 5.
    start_jit = jax.jit(start, compiler_options={"xla_backend_optimization_level": 0})

    def init(seeds: list[int]) -> TrainState:
        state: TrainState = start_jit(streams(env.name, seeds))
        return state

    def shapes(width: int) -> TrainState:
        state: TrainState = jax.eval_shape(start, streams(env.name, [0] * width))
        return state

    @partial(jax.jit, donate_argnums=0)
    def warm_up(state: TrainState) -> tuple[TrainState, Steps]:
        seeds, records = _cohort(one.warm_up)(state.seeds)
        steps = state.counters.steps + agent.schedule.learning_starts
        return TrainState(seeds, state.counters._replace(steps=steps)), records

    @partial(jax.jit, donate_argnums=0)
    def chunk(state: TrainState) -> tuple[TrainState, Steps, dict[str, jax.Array]]:
        seeds, records, metrics = _cohort(one.chunk, shared=1)(state.seeds, state.counters)
        counters = Counters(
            state.counters.steps + one.steps_per_chunk, state.counters.updates + updates_per_chunk
        )
        return TrainState(seeds, counters), records, metrics

    return Program(init, shapes, warm_up, chunk, one.steps_per_chunk, updates_per_chunk)


def streams(task: str, seeds: list[int]) -> dict[str, jax.Array]:
    """Raw key data of every stream [cohort, 2]."""
    keys = {name: [rng.stream_key(task, seed, name) for seed in seeds] for name in STREAMS}
    return {name: jnp.asarray(np.stack(rows)) for name, rows in keys.items()}


def _cohort(function: Callable[..., Any], shared: int = 0) -> Callable[..., Any]:
    """`vmap` over the leading axis; a cohort of one runs the plain function, which is faster."""

    def apply(batched: Any, *rest: Any) -> Any:
        width = jax.tree.leaves(batched)[0].shape[0]
        if width > 1:
            return jax.vmap(function, in_axes=(0, *[None] * shared))(batched, *rest)
        alone = function(jax.tree.map(lambda x: x[0], batched), *rest)
        return jax.tree.map(lambda x: x[None], alone)

    return apply


def _record(env: Environment, obs: jax.Array, ts: TimeStep) -> Steps:
    cell = obs if isinstance(env.observation_space, Discrete) else None
    return Steps(cell, ts.reward, ts.last, ts.info)
