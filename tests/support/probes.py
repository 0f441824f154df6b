"""Tasks so small that their values are known, to see whether an agent learns the right thing.

Each probe is a few states of one union, so that an agent is compiled and trained once for all of
them: an episode draws a probe, plays it and ends. If a probe fails, its name says what is broken.

    one_state      action 1 pays 1, action 0 nothing           rewards, and which action earned them
    delay          nothing now, 1 one step later                values travel back
    noisy          pays 0.5 or 1.5 by a coin                    the mean is learnt, not a lucky draw
    ends           pays 1 and terminates                        no value beyond the end
    cut_short      pays 1 and is truncated, back where it was   value beyond the cut
    discounting    nothing, nothing, 4                          γ enters once per step
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete

from isl.envs.base import TimeStep

END = -1
GAMMA = 0.5  # small: values settle within few updates


class Cell(NamedTuple):
    """What a step from one state does; the reward is that of (action 0, action 1)."""

    probe: str
    rewards: tuple[float, float]
    then: int  # next state, or END
    noise: float = 0.0
    truncated: bool = False


CELLS = [
    Cell("one_state", (0.0, 1.0), END),
    Cell("delay", (0.0, 0.0), 2),
    Cell("delay", (1.0, 1.0), END),
    Cell("noisy", (1.0, 1.0), END, noise=0.5),
    Cell("ends", (1.0, 1.0), END),
    Cell("cut_short", (1.0, 1.0), 5, truncated=True),
    Cell("discounting", (0.0, 0.0), 7),
    Cell("discounting", (0.0, 0.0), 8),
    Cell("discounting", (4.0, 4.0), END),
]
PROBES = list(dict.fromkeys(cell.probe for cell in CELLS))
STARTS = np.array([next(i for i, c in enumerate(CELLS) if c.probe == p) for p in PROBES])
REWARDS = np.array([cell.rewards for cell in CELLS], np.float32)
NOISE = np.array([cell.noise for cell in CELLS], np.float32)
THEN = np.array([cell.then for cell in CELLS])
TRUNCATED = np.array([cell.truncated for cell in CELLS])


class Probes:
    """The union of all probes, as a compiled task."""

    name = "probes"
    observation_space = Discrete(len(CELLS))
    num_actions = 2
    max_episode_steps = 3
    default_episodes = 1_000

    def reset(self, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = jax.random.choice(key, jnp.asarray(STARTS)).astype(jnp.int32)
        return state, state

    def step(self, state: jax.Array, action: jax.Array, key: jax.Array) -> TimeStep:
        coin = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
        then = jnp.asarray(THEN, jnp.int32)[state]
        ended = then == END
        after = jnp.where(ended, state, then)
        return TimeStep(
            state=after,
            obs=after,
            reward=jnp.asarray(REWARDS)[state, action] + jnp.asarray(NOISE)[state] * coin,
            discount=1.0 - ended.astype(jnp.float32),
            last=ended | jnp.asarray(TRUNCATED)[state],
            info={},
        )


def known_values(kappa: float = 0.0) -> tuple[Any, Any]:
    """(q [S, 2], v [S]) by value iteration; `kappa` > 0 gives those of an entropy bonus κ·H(π)."""
    v = np.zeros(len(CELLS))
    for _ in range(100):
        q = REWARDS + GAMMA * np.where(THEN == END, 0.0, v[THEN])[:, None]
        best = q.max(axis=1)
        v = (
            best
            if kappa == 0
            else best + kappa * np.log(np.exp((q - best[:, None]) / kappa).sum(1))
        )
    return q, v
