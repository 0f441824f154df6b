"""What lets one setting serve every environment, around an agent that learns values.

Rewards are in units of the returns seen, vectors are normalised, and `exploit` follows the greedy
policy that did best in training. A policy is kept together with the scales that it was judged
with: the same parameters on observations of other statistics are another policy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Space

from isl.agents.base import Agent
from isl.agents.wrappers.keep_best import keep_best
from isl.agents.wrappers.normalise_observations import Statistics, normalise, normalised, pixels_of
from isl.agents.wrappers.scale_rewards import in_units
from isl.envs.kinds import is_vector


class Policy(NamedTuple):
    """A greedy policy."""

    params: Any
    unit: jax.Array  # of its values; 0 before the first reward
    statistics: Statistics | None  # of what it reads, if that is normalised


# Many parameters: what the agent is made of, each by its name.
def at_any_scale(
    agent: Agent,
    *,
    space: Space[Any],
    gamma: float,
    greedy_share: float,
    rescale: Callable[[Any, jax.Array], Any],
    values: Callable[[Any, Any, jax.Array], jax.Array],
) -> Agent:
    """`agent`, whose learner has the parameters of its newest greedy policy as `average`.

    Args:
        agent: learns in units, from normalised vectors.
        space: of the observations, as the environment shows them.
        gamma: the discount factor.
        greedy_share: of the training episodes that are played greedily.
        rescale: the learner with all values times a factor.
        values: of all actions, from the learner, parameters of a policy and an observation.
    """
    agent = in_units(agent, gamma, rescale)
    reads = is_vector(space)
    read = partial(normalise, pixels=pixels_of(space))
    if reads:
        agent = normalised(agent, space)

    def newest(learner: Any) -> Policy:
        in_unit, statistics = (learner.inner, learner.statistics) if reads else (learner, None)
        return Policy(in_unit.inner.average, in_unit.unit, statistics)

    def values_of(learner: Any, policy: Policy, obs: jax.Array) -> jax.Array:
        if policy.statistics is not None:
            obs = read(policy.statistics, obs)
        inner = learner.inner.inner if reads else learner.inner
        unit = jnp.where(policy.unit > 0, policy.unit, 1.0)
        return values(inner, policy.params, obs) * unit

    return keep_best(agent, greedy_share, newest, values_of)
