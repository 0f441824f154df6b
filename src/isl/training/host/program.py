"""What the host loop has compiled: storing, learning and acting in one call.

The state travels packed (isl.training.host.packing): a call hands over a few arrays, not dozens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from isl.agents.base import Agent, Transition, greedy
from isl.nn.random_indices import uniform_indices
from isl.training import replay, rng
from isl.training.host.packing import Packed, Packing
from isl.training.loop import NEVER, empty_replay, update_step, zero_metrics

STREAMS = ("init", "act", "episode", "store", "learn")
Streams = dict[str, Any]  # raw key data [2] by name


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
    mask: jax.Array | None = None  # [E, A]: the actions allowed in `obs`; None: no masks


class Program(NamedTuple):
    """The compiled functions of an agent and a number of environments."""

    packing: Packing  # of a `State`
    init: Callable[[Streams], Packed]
    begin: Callable[..., tuple[Packed, jax.Array]]
    store: Callable[..., Packed]
    advance: Callable[..., tuple[Packed, jax.Array]]
    stored: Callable[[Packed, Any], Any]


def streams(task: str, seed: int) -> Streams:
    """Raw key data of every stream the device draws from."""
    return {name: rng.stream_key(task, seed, name) for name in STREAMS}


@dataclass(frozen=True)
class _Functions:
    """The steps of the loop as functions that can be traced; see `compile_host`."""

    agent: Agent
    observation: jax.ShapeDtypeStruct
    num_actions: int
    width: int
    skips: bool
    masked: bool

    @property
    def each(self) -> jax.Array:
        """The numbers of the environments."""
        return jnp.arange(self.width, dtype=jnp.int32)

    def init(self, streams: Streams) -> State:
        agent = self.agent
        learner = agent.init(rng.at(streams["init"], jnp.uint32(0)))
        obs = jnp.zeros(self.observation.shape, self.observation.dtype)
        everything = jnp.ones((self.width, self.num_actions), jnp.bool_) if self.masked else None
        one_mask = None if everything is None else everything[0]
        storage = empty_replay(agent, learner, obs, streams["store"], one_mask)
        zero = jnp.zeros((), jnp.int32)
        return State(
            streams=streams,
            learner=learner,
            target=agent.target(learner),
            storage=storage,
            episode=self.begun(learner, streams["episode"], self.each),
            obs=jnp.zeros((self.width, *obs.shape), obs.dtype),
            action=jnp.zeros(self.width, jnp.int32),
            rounds=zero,
            steps=zero,
            updates=zero,
            diverged_at=jnp.asarray(NEVER),
            totals=zero_metrics(agent, learner, storage),
            mask=everything,
        )

    def begun(self, learner: Any, stream: jax.Array, counters: jax.Array) -> Any:
        """New episodes everywhere."""
        begin = jax.vmap(self.agent.begin_episode, in_axes=(None, 0))
        return begin(learner, _keys_at(stream, counters))

    def pick(self, state: State, obs: jax.Array, mask: jax.Array | None) -> tuple[State, jax.Array]:
        """The actions to take in `obs`."""
        schedule = self.agent.schedule
        keys = _keys_at(state.streams["act"], state.rounds * self.width + self.each + 1)
        masks = () if mask is None else (mask,)  # an agent need not know of masks
        act = jax.vmap(self.agent.act, in_axes=(None, *[0] * (3 + len(masks))))
        action = act(state.learner, state.episode, obs, keys, *masks)
        if schedule.random_start:
            anyhow = self.anyhow(keys, mask)
            action = jnp.where(state.steps < schedule.learning_starts, anyhow, action)
        return state._replace(obs=obs, action=action, mask=mask), action

    def anyhow(self, keys: jax.Array, mask: jax.Array | None) -> jax.Array:
        """Uniformly random actions."""
        if mask is None:
            draw = jax.vmap(uniform_indices, in_axes=(0, None, None))
            drawn: jax.Array = draw(keys, jnp.uint32(self.num_actions), ())
            return drawn
        heights = jax.vmap(lambda key: jax.random.uniform(key, (self.num_actions,)))(keys)
        return greedy(heights, mask)

    def begin(
        self, state: State, obs: jax.Array, over: jax.Array, mask: jax.Array | None
    ) -> tuple[State, jax.Array]:
        """New episodes where the last one is over, and first actions in them."""
        counters = (state.rounds - 1) * self.width + self.each + 1
        begun = self.begun(state.learner, state.streams["episode"], counters)
        episode = jax.tree.map(
            lambda new, old: jnp.where(over.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            begun,
            state.episode,
        )
        return self.pick(state._replace(episode=episode), obs, mask)

    def store(
        self, state: State, next_obs: jax.Array, feedback: jax.Array, next_mask: jax.Array | None
    ) -> State:
        """Put what the last actions led to into the replay."""
        reward, discount, real, last = feedback
        batch = Transition(
            state.obs, state.action, reward, discount, next_obs, next_mask, state.mask
        )
        real_first = jnp.argsort(real < 1, stable=True) if self.skips else self.each

        def one(i: Any, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            learner, storage, episodes = carry
            env = real_first[i]
            transition = jax.tree.map(lambda x: x[env], batch)
            key = rng.at(state.streams["store"], state.steps + i + 1)
            if self.agent.track is not None:
                own = jax.tree.map(lambda x: x[env], episodes)
                learner, own, transition = self.agent.track(learner, own, transition, last[env] > 0)
                episodes = jax.tree.map(lambda x, new: x.at[env].set(new), episodes, own)
            learner, item = self.agent.observe(learner, transition, key)
            return learner, replay.add(storage, item, state.steps + i), episodes

        count = jnp.sum(real).astype(jnp.int32) if self.skips else self.width
        count = replay.loop_length(count, state.steps)
        carry = (state.learner, state.storage, state.episode)
        learner, storage, episode = jax.lax.fori_loop(0, count, one, carry)
        return state._replace(
            learner=learner,
            storage=storage,
            episode=episode,
            steps=state.steps + count,
            rounds=state.rounds + 1,
        )

    def update(self, state: State) -> State:
        agent, number = self.agent, state.updates
        renew = number % agent.schedule.target_period == 0
        target = jax.lax.cond(renew, lambda: agent.target(state.learner), lambda: state.target)
        learner, metrics, bad = update_step(
            agent,
            state.learner,
            target,
            state.storage,
            state.streams["learn"],
            number,
            state.steps,
        )
        return state._replace(
            learner=learner,
            target=target,
            updates=number + 1,
            diverged_at=jnp.minimum(state.diverged_at, bad),
            totals=jax.tree.map(jnp.add, state.totals, metrics),
        )

    def advance(
        self,
        state: State,
        next_obs: jax.Array,
        feedback: jax.Array,
        next_mask: jax.Array | None,
        updates: int,
    ) -> tuple[State, jax.Array]:
        """Store what the last actions led to, learn, pick the next ones."""
        state = self.store(state, next_obs, feedback, next_mask)
        if updates == 1:
            state = self.update(state)
        elif updates > 1:
            state = jax.lax.fori_loop(0, updates, lambda _, s: self.update(s), state)
        return self.pick(state, next_obs, next_mask)


@lru_cache(maxsize=8)
def compile_host(
    agent: Agent,
    observation: jax.ShapeDtypeStruct,
    num_actions: int,
    width: int,
    skips: bool,
    masked: bool = False,
) -> Program:
    """The functions for an agent on `width` environments; runs that follow in a process reuse them.

    `skips`: some steps only reset an environment and must not be stored. `masked`: some actions are
    forbidden, and the functions are given masks.
    """
    functions = _Functions(_traced_once(agent), observation, num_actions, width, skips, masked)
    first = jax.jit(functions.init, inline=True)
    packing = Packing(jax.eval_shape(first, streams("", 0)))
    # These run now and then, so XLA may compile them in a hurry.
    hurried = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})

    @hurried
    def init(streams: Streams) -> Packed:
        return packing.pack(first(streams))

    @partial(jax.jit, donate_argnums=0)
    def begin(
        packed: Packed, obs: jax.Array, over: jax.Array, mask: jax.Array | None = None
    ) -> tuple[Packed, jax.Array]:
        state, action = functions.begin(packing.unpack(packed), obs, over, mask)
        return packing.pack(state), action

    @partial(jax.jit, donate_argnums=0)
    def store(
        packed: Packed,
        next_obs: jax.Array,
        feedback: jax.Array,
        next_mask: jax.Array | None = None,
    ) -> Packed:
        return packing.pack(functions.store(packing.unpack(packed), next_obs, feedback, next_mask))

    @partial(jax.jit, donate_argnums=0, static_argnames="updates")
    def advance(
        packed: Packed,
        next_obs: jax.Array,
        feedback: jax.Array,
        next_mask: jax.Array | None = None,
        *,
        updates: int,
    ) -> tuple[Packed, jax.Array]:
        state = packing.unpack(packed)
        state, action = functions.advance(state, next_obs, feedback, next_mask, updates)
        return packing.pack(state), action

    @hurried
    def stored(packed: Packed, at: jax.Array) -> Any:
        """Items of the replay by their places; the others are not copied."""
        return jax.tree.map(lambda x: x[at], packing.unpack(packed).storage)

    return Program(packing, init, begin, store, advance, stored)


def _traced_once(agent: Agent) -> Agent:
    """The agent, whose functions are traced once for all the programs that they are part of."""
    once = partial(jax.jit, inline=True)
    return agent._replace(
        begin_episode=once(agent.begin_episode),
        act=once(agent.act),
        observe=once(agent.observe),
        update=once(agent.update),
    )


def _keys_at(stream: jax.Array, counters: jax.Array) -> jax.Array:
    keys: jax.Array = jax.vmap(rng.at, in_axes=(None, 0))(stream, counters)
    return keys
