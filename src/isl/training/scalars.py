"""The numbers that a log holds of a training: how it goes, and what the agent believes.

return/mean  return/best  episodes/finished  episodes/goal_visits  speed/steps_per_second
train/…                                     the agent's metrics
q/mean  q/greedy  ell/q10 … q90  policy/…   beliefs at observations of the replay
q/possible  return/discounted  episodes/longest     what the rewards seen allow (isl.training.watch)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent, Transition
from isl.training.episodes import Episodes
from isl.training.loop import Loop

SAMPLE = 256  # stored observations that the beliefs are taken over


def scalars(
    loop: Loop,
    episodes: Episodes,
    steps_per_second: float,
    seed: int = 0,
    beliefs: bool = True,
) -> dict[str, float]:
    """A row of the log; it reads the loop's metrics, which then start anew.

    `beliefs` costs a call of the agent's networks, compiled at the first.
    """
    values: dict[str, float] = {
        "speed/steps_per_second": steps_per_second,
        "episodes/finished": episodes.finished,
    }
    if episodes.recent:
        values |= {"return/mean": episodes.means()[0], "return/best": episodes.best_return}
    if episodes.goal_visits:
        values["episodes/goal_visits"] = episodes.goal_visits
    values |= {f"train/{name}": mean for name, mean in loop.read_metrics(seed).items()}
    if not beliefs or not loop.steps:
        return values
    at = places(loop.steps, loop.agent.schedule.replay_capacity)
    held = transitions(loop.stored(at, seed))
    if held is None:
        return values
    return values | belief_scalars(loop.agent, loop.learner_of(seed), held.obs)


def places(stored: int, capacity: int) -> NDArray[np.int64]:
    """Places of the replay, evenly over what it holds."""
    return np.linspace(0, min(stored, capacity) - 1, SAMPLE).astype(np.int64)


def transitions(items: Any) -> Transition | None:
    """The transitions among the items of a replay; None if an agent stores something else."""
    leaves = jax.tree.leaves(items, is_leaf=lambda x: isinstance(x, Transition))
    return next((leaf for leaf in leaves if isinstance(leaf, Transition)), None)


@lru_cache(maxsize=8)
def inspector(agent: Agent) -> Callable[[Any, Any], dict[str, jax.Array]]:
    """`agent.inspect` for a batch of observations, compiled.

    Never at xla_backend_optimization_level 0: it recomputes ℓ with another rounding in each place
    that uses it, and the policy, which looks for the largest one by equality, is lost.
    """
    return jax.jit(jax.vmap(agent.inspect, in_axes=(None, 0)))


def greedy_values(beliefs: Mapping[str, Any]) -> Any:
    """Values [..., A] whose largest `predict` takes: "greedy" where an agent has it, else "q"."""
    return beliefs.get("greedy", beliefs.get("q"))


def belief_scalars(agent: Agent, learner: Any, obs: Any) -> dict[str, float]:
    """What the agent believes at some observations, in a few numbers."""
    beliefs = jax.device_get(inspector(agent)(learner, obs))
    values: dict[str, Any] = {}
    if "q" in beliefs:
        best = greedy_values(beliefs).max(-1)
        values |= {"q/mean": beliefs["q"].mean(), "q/greedy": best.mean()}
    if "ell" in beliefs:
        low, middle, high = np.quantile(beliefs["ell"], (0.1, 0.5, 0.9))
        values |= {"ell/q10": low, "ell/q50": middle, "ell/q90": high}
    if "policy" in beliefs:
        policy = np.clip(beliefs["policy"], 1e-12, 1.0)
        values["policy/entropy"] = -(policy * np.log(policy)).sum(-1).mean()
    if "pareto" in beliefs:
        values["policy/pareto_actions"] = beliefs["pareto"].sum(-1).mean()
    return {name: float(value) for name, value in values.items()}
