"""What the host loop has compiled: storing, learning and acting in one call.

The state travels packed (isl.training.host.packing): a call hands over a few arrays, not dozens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from isl.agents.base import Agent, Transition
from isl.training import replay, rng
from isl.training.compiled import NEVER
from isl.training.host.packing import Packed, Packing

STREAMS = ("init", "act", "episode", "store", "learn")


class State(NamedTuple):
    """What the device holds between two steps. E is the number of environments."""

    streams: dict[str, jax.Array]
    learner: Any
    target: Any
    storage: replay.Storage
    episode: Any  # leading axis [E]
    obs: jax.Array  # [E, …]: where the next actions are taken
    action: jax.Array  # [E]: those actions
    rounds: jax.Array  # steps of all environments together
    steps: jax.Array  # transitions stored: rounds × E, less those that only reset
    updates: jax.Array
    diverged_at: jax.Array  # first update with a non-finite metric, NEVER if none
    totals: dict[str, jax.Array]  # metrics summed since they were last read


class Program(NamedTuple):
    """The compiled functions of an agent and a number of environments."""

    init: Callable[[dict[str, jax.Array]], State]
    pack: Callable[[State], Packed]
    unpack: Callable[[Packed], State]
    begin: Callable[[Packed, Any, Any], tuple[Packed, jax.Array]]
    advance: Callable[..., tuple[Packed, jax.Array]]
    learner: Callable[[Packed], Any]
    diverged_at: Callable[[Packed], jax.Array]
    take_totals: Callable[[Packed], tuple[Packed, dict[str, jax.Array]]]


def streams(task: str, seed: int) -> dict[str, jax.Array]:
    """Raw key data of every stream the device draws from."""
    return {name: jnp.asarray(rng.stream_key(task, seed, name)) for name in STREAMS}


@lru_cache(maxsize=8)
def compile_host(
    agent: Agent, observation: jax.ShapeDtypeStruct, num_actions: int, width: int, skips: bool
) -> Program:
    """The functions for an agent on `width` environments; runs that follow in a process reuse them.

    `skips`: some steps only reset an environment and must not be stored.
    """
    schedule = agent.schedule
    each = jnp.arange(width, dtype=jnp.int32)
    begin_all = jax.vmap(agent.begin_episode, in_axes=(None, 0))
    act_all = jax.vmap(agent.act, in_axes=(None, 0, 0, 0))
    keys_at = jax.vmap(rng.at, in_axes=(None, 0))

    def init(streams: dict[str, jax.Array]) -> State:
        learner = agent.init(rng.at(streams["init"], jnp.uint32(0)))
        obs = jnp.zeros(observation.shape, observation.dtype)
        nothing = Transition(obs, jnp.int32(0), jnp.float32(0), jnp.float32(0), obs)
        _, item = agent.observe(learner, nothing, rng.at(streams["store"], jnp.uint32(0)))
        storage = replay.create(item, schedule.replay_capacity)
        _, metrics = jax.eval_shape(
            lambda: agent.update(
                learner,
                agent.target(learner),
                replay.sample(storage, jax.random.key(0), jnp.int32(1), schedule.batch_size),
                jax.random.key(0),
            )
        )
        zero = jnp.zeros((), jnp.int32)
        return State(
            streams=streams,
            learner=learner,
            target=agent.target(learner),
            storage=storage,
            episode=begin_all(learner, keys_at(streams["episode"], each)),
            obs=jnp.zeros((width, *obs.shape), obs.dtype),
            action=jnp.zeros(width, jnp.int32),
            rounds=zero,
            steps=zero,
            updates=zero,
            diverged_at=jnp.asarray(NEVER),
            totals={name: jnp.zeros(x.shape, x.dtype) for name, x in metrics.items()},
        )

    def pick(state: State, obs: jax.Array) -> tuple[State, jax.Array]:
        """The actions to take in `obs`."""
        keys = keys_at(state.streams["act"], state.rounds * width + each + 1)
        action = act_all(state.learner, state.episode, obs, keys)
        if schedule.random_start:
            anyhow = jax.vmap(rng.uniform_indices, in_axes=(0, None, None))(
                keys, jnp.uint32(num_actions), ()
            )
            action = jnp.where(state.steps < schedule.learning_starts, anyhow, action)
        return state._replace(obs=obs, action=action), action

    @partial(jax.jit, donate_argnums=0)
    def begin(packed: Packed, obs: jax.Array, over: jax.Array) -> tuple[Packed, jax.Array]:
        """New episodes where the last one is over, and first actions in them."""
        state: State = packing.unpack(packed)
        keys = keys_at(state.streams["episode"], (state.rounds - 1) * width + each + 1)
        begun = begin_all(state.learner, keys)
        episode = jax.tree.map(
            lambda new, old: jnp.where(over.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            begun,
            state.episode,
        )
        state, action = pick(state._replace(episode=episode), obs)
        return packing.pack(state), action

    def store(state: State, next_obs: jax.Array, feedback: jax.Array) -> State:
        reward, discount, real = feedback
        batch = Transition(state.obs, state.action, reward, discount, next_obs)
        real_first = jnp.argsort(real < 1, stable=True) if skips else each

        def one(i: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            learner, storage = carry
            transition = jax.tree.map(lambda x: x[real_first[i]], batch)
            key = rng.at(state.streams["store"], state.steps + i + 1)
            learner, item = agent.observe(learner, transition, key)
            return learner, replay.add(storage, item, state.steps + i)

        count = jnp.sum(real).astype(jnp.int32) if skips else width
        count = replay.loop_length(count, state.steps)
        carry = (state.learner, state.storage)
        learner, storage = jax.lax.fori_loop(0, count, one, carry)
        return state._replace(
            learner=learner,
            storage=storage,
            steps=state.steps + count,
            rounds=state.rounds + 1,
        )

    def update(state: State) -> State:
        number = state.updates
        renew = number % schedule.target_period == 0
        target = jax.lax.cond(renew, lambda: agent.target(state.learner), lambda: state.target)
        key_batch, key_update = jax.random.split(rng.at(state.streams["learn"], number))
        batch = replay.sample(state.storage, key_batch, state.steps, schedule.batch_size)
        learner, metrics = agent.update(state.learner, target, batch, key_update)
        finite = jnp.stack([jnp.isfinite(x) for x in metrics.values()]).all()
        return state._replace(
            learner=learner,
            target=target,
            updates=number + 1,
            diverged_at=jnp.minimum(state.diverged_at, jnp.where(finite, NEVER, number)),
            totals=jax.tree.map(jnp.add, state.totals, metrics),
        )

    @partial(jax.jit, donate_argnums=0, static_argnames="updates")
    def advance(
        packed: Packed, next_obs: jax.Array, feedback: jax.Array, updates: int
    ) -> tuple[Packed, jax.Array]:
        """Store what the last actions led to, learn, pick the next ones."""
        state = store(packing.unpack(packed), next_obs, feedback)
        if updates == 1:
            state = update(state)
        elif updates > 1:
            state = jax.lax.fori_loop(0, updates, lambda _, s: update(s), state)
        state, action = pick(state, next_obs)
        return packing.pack(state), action

    def take_totals(packed: Packed) -> tuple[Packed, dict[str, jax.Array]]:
        """The metrics summed so far, which then start from zero again."""
        state: State = packing.unpack(packed)
        zeros = jax.tree.map(jnp.zeros_like, state.totals)
        return packing.pack(state._replace(totals=zeros)), state.totals

    def first_divergence(packed: Packed) -> jax.Array:
        """Of a metric; or the latest update, if by then the learner holds what is not finite.

        Such as the second moment of a gradient whose square overflows: its parameters never move
        again, while every metric stays finite.
        """
        state: State = packing.unpack(packed)
        numbers = [
            x for x in jax.tree.leaves(state.learner) if jnp.issubdtype(x.dtype, jnp.floating)
        ]
        sound = jnp.array([jnp.isfinite(x).all() for x in numbers]).all()
        return jnp.where(
            sound, state.diverged_at, jnp.minimum(state.diverged_at, state.updates - 1)
        )

    packing = Packing(jax.eval_shape(init, streams("", 0)))
    # These run now and then, so XLA may compile them in a hurry.
    hurried = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
    return Program(
        init=hurried(init),
        pack=hurried(packing.pack),
        unpack=hurried(packing.unpack),
        begin=begin,
        advance=advance,
        learner=hurried(lambda packed: packing.unpack(packed).learner),
        diverged_at=hurried(first_divergence),
        take_totals=hurried(take_totals, donate_argnums=0),
    )
