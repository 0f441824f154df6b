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
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete

from isl.agents.base import Agent, Transition
from isl.envs.base import Environment, TimeStep, go_on
from isl.nn.networks import dummy_observation
from isl.training import replay, rng

STREAMS = ("init", "env", "act", "episode", "store", "learn")
NEVER = np.int32(np.iinfo(np.int32).max)


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


class Steps(NamedTuple):
    """What happened in a chunk, step by step: leading axes [cohort, steps]."""

    cell: jax.Array | None  # where the step was taken; for Discrete observations only
    reward: jax.Array
    last: jax.Array
    info: dict[str, jax.Array]


class Program(NamedTuple):
    """The compiled functions of one (task, agent) pair."""

    init: Callable[[list[int]], TrainState]
    shapes: Callable[[int], TrainState]  # what `init` gives for so many seeds, without computing
    warm_up: Callable[[TrainState], tuple[TrainState, Steps]]  # steps before the first update
    chunk: Callable[[TrainState], tuple[TrainState, Steps, dict[str, jax.Array]]]
    steps_per_chunk: int
    updates_per_chunk: int


def compile_training(env: Environment, agent: Agent, chunk_updates: int = 500) -> Program:
    """The program that trains `agent` on `env`, about `chunk_updates` updates per chunk.

    A chunk is a whole number of target periods and of iterations (T steps, I updates).
    """
    schedule = agent.schedule
    cycle = math.lcm(schedule.target_period, schedule.updates)
    updates_per_chunk = -(-chunk_updates // cycle) * cycle
    periods = updates_per_chunk // schedule.target_period
    steps_per_chunk = updates_per_chunk // schedule.updates * schedule.steps

    def init_seed(streams: dict[str, jax.Array]) -> SeedState:
        learner = agent.init(rng.at(streams["init"], jnp.uint32(0)))
        env_state, obs = env.reset(rng.at(streams["env"], jnp.uint32(0)))
        _, item = agent.observe(
            learner, _dummy_transition(env), rng.at(streams["store"], jnp.uint32(0))
        )
        return SeedState(
            streams=streams,
            learner=learner,
            env=env_state,
            obs=obs,
            episode=agent.begin_episode(learner, rng.at(streams["episode"], jnp.uint32(0))),
            storage=replay.create(item, schedule.replay_capacity),
            diverged_at=jnp.asarray(NEVER),
        )

    def env_step(seed: SeedState, step: jax.Array, learning: bool) -> tuple[SeedState, Steps]:
        """One step of the task, stored; at the end of an episode the next one begins."""
        now = step + 1  # counter 0 served the initial draws
        act_key = rng.at(seed.streams["act"], now)
        if learning or not schedule.random_start:
            action = agent.act(seed.learner, seed.episode, seed.obs, act_key)
        else:
            action = rng.uniform_indices(act_key, jnp.uint32(env.num_actions), ())
        step_key, reset_key = jax.random.split(rng.at(seed.streams["env"], now))
        ts = env.step(seed.env, action, step_key)
        transition = Transition(seed.obs, action, ts.reward, ts.discount, ts.obs)
        learner, item = agent.observe(seed.learner, transition, rng.at(seed.streams["store"], now))
        begun = agent.begin_episode(learner, rng.at(seed.streams["episode"], now))
        env_state, obs = go_on(env, ts, reset_key)
        episode = jax.tree.map(partial(jnp.where, ts.last), begun, seed.episode)
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
        seed: SeedState, records: Steps, first: jax.Array, n: Any, offset: jax.Array, learning: bool
    ) -> tuple[SeedState, Steps]:
        """`n` steps from step number `first`, written to `records` from `offset` on."""

        def body(i: jax.Array, carry: tuple[SeedState, Steps]) -> tuple[SeedState, Steps]:
            seed, records = carry
            seed, record = env_step(seed, first + i, learning)
            return seed, replay.write(records, record, offset + i)

        end: tuple[SeedState, Steps] = jax.lax.fori_loop(0, n, body, (seed, records))
        return end

    def warm_up_seed(seed: SeedState) -> tuple[SeedState, Steps]:
        n = schedule.learning_starts
        records = _empty_records(env, n)
        zero = jnp.int32(0)
        return run_steps(seed, records, zero, n, zero, learning=False)

    def chunk_seed(
        seed: SeedState, counters: Counters
    ) -> tuple[SeedState, Steps, dict[str, jax.Array]]:
        steps_0, updates_0 = counters

        def steps_before(update: jax.Array) -> jax.Array:
            """Environment steps taken in this chunk once update number `update` may happen."""
            return ((update - updates_0) // schedule.updates + 1) * schedule.steps

        def one_update(
            target: Any, carry: tuple[SeedState, Steps, Any], update: jax.Array
        ) -> tuple[SeedState, Steps, Any]:
            seed, records, totals = carry
            done = steps_before(update - 1)
            n = steps_before(update) - done if schedule.updates > 1 else schedule.steps
            n = replay.loop_length(n, update)
            seed, records = run_steps(seed, records, steps_0 + done, n, done, learning=True)
            key_batch, key_update = jax.random.split(rng.at(seed.streams["learn"], update))
            held = steps_0 + steps_before(update)
            batch = replay.sample(seed.storage, key_batch, held, schedule.batch_size)
            learner, metrics = agent.update(seed.learner, target, batch, key_update)
            finite = jnp.stack([jnp.isfinite(x) for x in metrics.values()]).all()
            bad = jnp.where(finite, NEVER, update.astype(jnp.int32))
            seed = seed._replace(learner=learner, diverged_at=jnp.minimum(seed.diverged_at, bad))
            return seed, records, jax.tree.map(jnp.add, totals, metrics)

        def one_period(
            carry: tuple[SeedState, Steps, Any], period: jax.Array
        ) -> tuple[tuple[SeedState, Steps, Any], None]:
            target = agent.target(carry[0].learner)  # frozen while the online parameters move on
            first = updates_0 + period * schedule.target_period
            body = lambda i, c: one_update(target, c, first + i)  # noqa: E731
            return jax.lax.fori_loop(0, schedule.target_period, body, carry), None

        _, shapes = jax.eval_shape(
            lambda s: agent.update(
                s.learner,
                agent.target(s.learner),
                replay.sample(s.storage, jax.random.key(0), jnp.int32(1), schedule.batch_size),
                jax.random.key(0),
            ),
            seed,
        )
        totals = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
        carry = (seed, _empty_records(env, steps_per_chunk), totals)
        carry, _ = jax.lax.scan(one_period, carry, jnp.arange(periods, dtype=jnp.int32))
        seed, records, totals = carry
        return seed, records, {k: x / updates_per_chunk for k, x in totals.items()}

    def start(streams: dict[str, jax.Array]) -> TrainState:
        counters = Counters(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return TrainState(_cohort(init_seed)(streams), counters)

    # Runs once, so XLA may compile it in a hurry: 2 s instead of 5.
    start_jit = jax.jit(start, compiler_options={"xla_backend_optimization_level": 0})

    def init(seeds: list[int]) -> TrainState:
        state: TrainState = start_jit(_streams(env.name, seeds))
        return state

    def shapes(width: int) -> TrainState:
        state: TrainState = jax.eval_shape(start, _streams(env.name, [0] * width))
        return state

    @partial(jax.jit, donate_argnums=0)
    def warm_up(state: TrainState) -> tuple[TrainState, Steps]:
        seeds, records = _cohort(warm_up_seed)(state.seeds)
        steps = state.counters.steps + schedule.learning_starts
        return TrainState(seeds, state.counters._replace(steps=steps)), records

    @partial(jax.jit, donate_argnums=0)
    def chunk(state: TrainState) -> tuple[TrainState, Steps, dict[str, jax.Array]]:
        seeds, records, metrics = _cohort(chunk_seed, shared=1)(state.seeds, state.counters)
        counters = Counters(
            state.counters.steps + steps_per_chunk, state.counters.updates + updates_per_chunk
        )
        return TrainState(seeds, counters), records, metrics

    return Program(init, shapes, warm_up, chunk, steps_per_chunk, updates_per_chunk)


def _cohort(function: Callable[..., Any], shared: int = 0) -> Callable[..., Any]:
    """`vmap` over the leading axis; a cohort of one runs the plain function, which is faster."""

    def apply(batched: Any, *rest: Any) -> Any:
        width = jax.tree.leaves(batched)[0].shape[0]
        if width > 1:
            return jax.vmap(function, in_axes=(0, *[None] * shared))(batched, *rest)
        alone = function(jax.tree.map(lambda x: x[0], batched), *rest)
        return jax.tree.map(lambda x: x[None], alone)

    return apply


def _streams(task: str, seeds: list[int]) -> dict[str, jax.Array]:
    keys = {name: [rng.stream_key(task, seed, name) for seed in seeds] for name in STREAMS}
    return {name: jnp.asarray(np.stack(rows)) for name, rows in keys.items()}


def _dummy_transition(env: Environment) -> Transition:
    obs = dummy_observation(env.observation_space)
    return Transition(obs, jnp.int32(0), jnp.float32(0), jnp.float32(0), obs)


def _record(env: Environment, obs: jax.Array, ts: TimeStep) -> Steps:
    cell = obs if isinstance(env.observation_space, Discrete) else None
    return Steps(cell, ts.reward, ts.last, ts.info)


def _empty_records(env: Environment, steps: int) -> Steps:
    def shapes(key: jax.Array) -> Any:
        state, obs = env.reset(key)
        return _record(env, obs, env.step(state, jnp.int32(0), key))

    one = jax.eval_shape(shapes, jax.random.key(0))
    records: Steps = jax.tree.map(lambda s: jnp.zeros((steps, *s.shape), s.dtype), one)
    return records
