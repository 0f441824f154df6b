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
from gymnasium.spaces import Space

from isl.agents.base import Agent
from isl.agents.weariness import Weariness, places
from isl.agents.wrappers.keep_best import Policies, explores, keep_best
from isl.agents.wrappers.normalise_observations import Statistics, normalise, normalised, pixels_of
from isl.agents.wrappers.scale_rewards import in_units, or_one
from isl.agents.wrappers.stretches import with_stretches
from isl.envs.kinds import Symbols, is_vector


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
    practice: float,
    repeat_cost: float,
    longest_stretch: int,
    num_actions: int,
    rescale: Callable[[Any, jax.Array], Any],
    values: Callable[[Any, Any, jax.Array], jax.Array],
) -> Agent:
    """`agent`, whose learner has the parameters of its newest greedy policy as `average`.

    Args:
        agent: learns in units, from normalised vectors; on symbols it explores as keep_best says.
        space: of the observations, as the environment shows them.
        gamma: the discount factor.
        greedy_share: of the training steps that are played greedily.
        practice: share of the other steps, which the newest values play with random slips.
        repeat_cost: of an action in the same view of an episode, in units; where views are symbols.
        longest_stretch: most steps between a value and its target; where views are symbols.
        num_actions: how many there are.
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
        return values(inner, policy.params, obs) * or_one(policy.unit)

    def rewarded(learner: Any) -> jax.Array:
        """Whether any reward was seen: before that there is nothing to follow."""
        seen: jax.Array = newest(learner).unit > 0
        return seen

    weary, place = None, places(space, repeat_cost)
    if place is not None:
        weary = Weariness(place, lambda policy: repeat_cost * or_one(policy.unit), num_actions)
    policies = Policies(newest, values_of, rewarded)
    agent = keep_best(agent, num_actions, greedy_share, policies, weary, practice)
    if not isinstance(space, Symbols) or longest_stretch == 1:
        return agent
    wanders = explores if practice else None  # practice is there to show what follows
    return with_stretches(agent, space, num_actions, gamma, longest_stretch, wanders)
