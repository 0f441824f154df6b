"""Playing greedily on a compiled task: all episodes at once, in one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isl.agents.base import Agent, Learner, follow_of
from isl.envs.base import Environment
from isl.training import rng
from isl.training.greedy import STREAM, Evaluation, follower

LONGEST = 100_000  # steps of an episode; the task sets a limit too, and all rewards are held


class CompiledPlayer:
    """On a compiled task: all episodes at once, in one compiled call."""

    def __init__(self, agent: Agent, env: Environment, seed: int) -> None:
        self._agent, self._env = agent, env
        self._stream = jnp.asarray(rng.stream_key(env.name, seed, STREAM))

    def play(self, learner: Learner, episodes: int, steps: float) -> Evaluation:
        """As many episodes as are sure to fit into `steps`, at most `episodes`, at least one."""
        number = int(max(1, min(episodes, steps // self._env.max_episode_steps)))
        # A task is a frozen description: equal ones share their program.
        program = _compiled(self._env, self._agent, episodes)  # type: ignore[arg-type]
        rewards, lengths, over = jax.device_get(program(learner, self._stream, number))
        returns = rewards[:, :number].sum(axis=0, dtype=np.float64)
        return Evaluation(returns.tolist(), lengths[:number].tolist(), int((~over).sum()))

    def close(self) -> None:
        """A compiled task holds nothing."""


@lru_cache(maxsize=8)
def _compiled(env: Environment, agent: Agent, width: int) -> Callable[..., Any]:
    """(learner, stream, number ≤ width) → rewards [time, width], lengths and ends [width]."""
    longest = min(env.max_episode_steps, LONGEST)
    begin, _ = follower(agent)
    act = jax.vmap(follow_of(agent).act, in_axes=(None, 0, 0))
    keys_at = jax.vmap(jax.random.fold_in, in_axes=(0, None))

    @jax.jit
    def run(learner: Learner, stream: jax.Array, number: jax.Array) -> tuple[jax.Array, ...]:
        numbers = jnp.arange(width, dtype=jnp.uint32)
        keys = jax.vmap(rng.at, in_axes=(None, 0))(stream, numbers)
        state, obs = jax.vmap(env.reset)(keys_at(keys, 0))
        rewards = jnp.zeros((longest, width), jnp.float32)
        lengths = jnp.zeros(width, jnp.int32)
        memory = begin(width)

        def going_on(carry: Any) -> Any:
            time, *_, over = carry
            return (time < longest) & ~jnp.all(over)

        def step(carry: Any) -> Any:
            time, state, obs, memory, rewards, lengths, over = carry
            action, memory = act(learner, memory, obs)
            ts = jax.vmap(env.step)(state, action, keys_at(keys, time + 1))
            rewards = rewards.at[time].set(jnp.where(over, 0.0, ts.reward))
            lengths = lengths + ~over
            over = over | ts.last
            # An episode that is over stays before its last step, which may be taken again.
            state, obs = jax.tree.map(partial(_where, over), (state, obs), (ts.state, ts.obs))
            return time + 1, state, obs, memory, rewards, lengths, over

        start = (jnp.int32(0), state, obs, memory, rewards, lengths, numbers >= number)
        *_, rewards, lengths, over = jax.lax.while_loop(going_on, step, start)
        return rewards, lengths, over

    return run


def _where(which: jax.Array, one: jax.Array, other: jax.Array) -> jax.Array:
    """`jnp.where` along the leading axis."""
    chosen: jax.Array = jnp.where(which.reshape(-1, *[1] * (one.ndim - 1)), one, other)
    return chosen
