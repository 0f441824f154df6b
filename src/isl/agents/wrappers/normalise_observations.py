"""Running normalisation of observations, as an agent around an agent.

The replay keeps observations as they came; whatever reads them sees (x − mean) / std with the
statistics of that moment. These are part of the learner, so they are saved, loaded and run by any
loop like everything else that is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from isl.agents.base import Agent, Item, Metrics, Target, Transition, track_inside
from isl.agents.wrappers.expand_observations import map_transitions
from isl.envs.joined import Joined
from isl.envs.kinds import is_vector
from isl.errors import UsageError

SMALLEST_VARIANCE = 1e-8  # of an observation that never changes
CLIP = 10.0  # in standard deviations: what was never seen must not drown the rest


class Statistics(NamedTuple):
    """Welford's sums over the observations so far."""

    seen: jax.Array
    mean: jax.Array
    squares: jax.Array  # Σ (x − mean)²


class Learner(NamedTuple):
    inner: Any
    statistics: Statistics


def normalised(agent: Agent, observation_space: Space[Any]) -> Agent:
    """`agent`, reading observations of zero mean and unit variance; pixels stay as they are."""
    if not is_vector(observation_space):
        raise UsageError(
            f"normalize=True is for vectors of numbers, not for {observation_space}; leave it out"
        )
    shape = observation_space.shape
    read = partial(normalise, pixels=pixels_of(observation_space))

    def init(key: jax.Array) -> Learner:
        nothing = Statistics(jnp.float32(0), jnp.zeros(shape), jnp.zeros(shape))
        return Learner(agent.init(key), nothing)

    def begin_episode(learner: Learner, key: jax.Array) -> Any:
        return agent.begin_episode(learner.inner, key)

    def act(
        learner: Learner, episode: Any, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        return agent.act(learner.inner, episode, read(learner.statistics, obs), key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return agent.exploit(learner.inner, read(learner.statistics, obs), mask)

    def observe(learner: Learner, transition: Transition, key: jax.Array) -> tuple[Learner, Item]:
        statistics = include(learner.statistics, transition.obs)
        # The replay gets the item of the raw transition, the inner learner sees the other one.
        _, item = agent.observe(learner.inner, transition, key)
        inner, _ = agent.observe(learner.inner, _read_all(read, statistics, transition), key)
        return Learner(inner, statistics), item

    def update(
        learner: Learner, target: Target, batch: Item, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        batch = _read_all(read, learner.statistics, batch)
        inner, metrics = agent.update(learner.inner, target, batch, key)
        return learner._replace(inner=inner), metrics

    def target(learner: Learner) -> Target:
        return agent.target(learner.inner)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        return agent.inspect(learner.inner, read(learner.statistics, obs))

    return Agent(
        agent.schedule,
        init,
        begin_episode,
        act,
        exploit,
        observe,
        update,
        target,
        inspect,
        track_inside(agent),
    )


def pixels_of(space: Space[Any]) -> NDArray[np.bool_] | None:
    """Which numbers are pixels, that stay as they are; None if none of them are."""
    return space.pixels if isinstance(space, Joined) else None


def include(statistics: Statistics, obs: jax.Array) -> Statistics:
    """The statistics with one more observation (Welford 1962)."""
    seen = statistics.seen + 1
    off = obs - statistics.mean
    mean = statistics.mean + off / seen
    return Statistics(seen, mean, statistics.squares + off * (obs - mean))


def normalise(
    statistics: Statistics, obs: jax.Array, pixels: NDArray[np.bool_] | None = None
) -> jax.Array:
    """Any number of observations; as they are until two have been seen, or where `pixels`."""
    seen, mean, squares = statistics
    variance = jnp.where(seen > 1, squares / jnp.maximum(seen, 1), 1.0)
    scale = jax.lax.rsqrt(jnp.maximum(variance, SMALLEST_VARIANCE))
    batch = (1,) * (obs.ndim - mean.ndim)
    off = (obs - mean.reshape(*batch, *mean.shape)) * scale.reshape(*batch, *scale.shape)
    found = jnp.clip(off, -CLIP, CLIP)
    return found if pixels is None else jnp.where(pixels.reshape(*batch, -1), obs, found)


def _read_all(read: Callable[..., jax.Array], statistics: Statistics, items: Any) -> Any:
    """`items` with every transition in it as `read` gives it."""

    def one(part: Transition) -> Transition:
        obs, next_obs = (read(statistics, x) for x in (part.obs, part.next_obs))
        return part._replace(obs=obs, next_obs=next_obs)

    return map_transitions(one, items)
