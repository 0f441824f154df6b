"""Notices values that leave the range of what is possible, while a training goes on.

Runs of `isl train` and `learn`, on both loops, show it every stretch of steps. Now and then it
compares

    |q/greedy|    the mean value of the best action at stored observations, by the head that
                  `predict` uses, in the environment's rewards
    q/possible    the largest |value| that the rewards seen make possible: the largest discounted
                  return from any step; where episodes are cut off, their values go on beyond it

It only looks: no random number, no parameter and no metric depends on it. When it looks depends on
the number of updates alone, so an interrupted run comes to the same judgement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isl.agents.base import Agent
from isl.agents.divergence import DIVERGED, NOTED, WARNED, advice
from isl.training.loop import Loop, Steps
from isl.training.returns import MOST_ENDED, Returns
from isl.training.scalars import greedy_values, inspector, places, transitions

EVERY = 500  # updates between two looks
UNLEARNED = 1.0  # the mean value of best actions that networks may have before they know anything


class Watch:
    """Follows the training of one seed; `message` is "" while its values are possible.

    Args:
        loop: before the first of the steps to follow.
        hyper: the agent's hyper-parameters.
        width: the number of environments.
        state: of an earlier watch, to continue it.
        learned: the learner comes from elsewhere: its values may be right, though the rewards that
            they are from are not known.
    """

    def __init__(
        self,
        loop: Loop,
        hyper: Mapping[str, Any],
        width: int = 1,
        state: Mapping[str, Any] | None = None,
        learned: bool = False,
    ) -> None:
        self._hyper = hyper
        self._returns = Returns(hyper["gamma"], width, loop.steps)
        self.message = ""
        self.diverged = False  # at the last look: values may come back
        # At any look: |value| over the largest discounted return seen by then; None: no look yet.
        self.largest_ratio: float | None = None
        self._told = 0.0  # the multiple that was told of
        self._looked = loop.updates // EVERY
        self._most_unlearned = math.inf if learned or loop.updates else UNLEARNED
        self._unlearned: float | None = None
        self._cost = 0.0  # the most that the agent's own objective adds to or takes off a step
        if state is not None:
            self._restore(state)

    @property
    def possible(self) -> float:
        """The largest |value| that is possible, as far as is known; 0 before the first reward."""
        if not self._returns.largest:
            return 0.0
        own = self._returns.possible + self._cost * self._returns.horizon
        return max(own, self._unlearned or 0.0)

    def see(self, loop: Loop, steps: Steps, seed: int = 0) -> str:
        """The next steps, which the loop has just taken; a new message, if there is one."""
        self._returns.add(steps)
        if loop.updates // EVERY == self._looked:
            return ""
        self._looked = loop.updates // EVERY
        before = self.message
        self._look(loop, seed)
        return self.message if self.message != before else ""

    def scalars(self) -> dict[str, float]:
        """For the log."""
        if not self._returns.longest:
            return {}
        return {
            "q/possible": self.possible,
            "return/discounted": self._returns.largest,
            "episodes/longest": self._returns.longest,
        }

    def _look(self, loop: Loop, seed: int) -> None:
        capacity = loop.agent.schedule.replay_capacity
        ended = [e for e in self._returns.take_ended() if e.step >= loop.steps - capacity]
        ends = np.zeros(MOST_ENDED, np.int64)  # of one length, so that it is compiled once
        ends[: len(ended)] = [episode.step % capacity for episode in ended]
        spread = places(loop.steps, capacity)
        held = transitions(loop.stored(np.concatenate([spread, ends]), seed))
        if held is None:
            return
        over = np.asarray(held.discount)[len(spread) :]
        self._returns.cut_off([e for e, left in zip(ended, over, strict=False) if left > 0])
        self._returns.include_open()
        obs = jax.tree.map(lambda x: x[: len(spread)], held.obs)
        learner = loop.learner_of(seed)
        value = best_value(loop.agent)(learner, obs)
        if value is not None and math.isfinite(value) and self._returns.largest:
            self._judge(loop, float(value), lambda: own_cost(loop.agent, learner, obs))

    def _judge(self, loop: Loop, value: float, cost: Callable[[], float]) -> None:
        """Compare; `cost` is asked only where it may matter."""
        size = abs(value)
        self.largest_ratio = max(self.largest_ratio or 0.0, size / self._returns.largest)
        if self._unlearned is None:
            self._unlearned = min(size, self._most_unlearned)
        if size > NOTED * self.possible:
            self._cost = max(self._cost, cost())
        times = size / self.possible
        self.diverged = times > DIVERGED
        reached = max((limit for limit in (WARNED, DIVERGED) if times > limit), default=0.0)
        if reached <= self._told:
            return
        self._told = reached
        self.message = (
            f"at step {loop.steps} the best actions were valued at {value:.3g} on average, "
            f"{times:.3g} times what the rewards seen make possible ({self.possible:.3g}): "
            f"values diverge; {advice(self._hyper)}"
        )

    def state(self) -> dict[str, Any]:
        """For a checkpoint: plain JSON."""
        return {
            "returns": self._returns.state(),
            "message": self.message,
            "diverged": self.diverged,
            "told": self._told,
            "largest_ratio": self.largest_ratio,
            "looked": self._looked,
            "most_unlearned": self._most_unlearned if self._most_unlearned < math.inf else None,
            "unlearned": self._unlearned,
            "cost": self._cost,
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._returns.restore(state["returns"])
        self.message, self.diverged = state["message"], state["diverged"]
        self._told = state["told"]
        self.largest_ratio = state.get("largest_ratio")  # earlier checkpoints lack it
        self._looked, self._cost = state["looked"], state["cost"]
        most = state["most_unlearned"]
        self._most_unlearned = math.inf if most is None else most
        self._unlearned = state["unlearned"]


@lru_cache(maxsize=8)
def best_value(agent: Agent) -> Callable[[Any, Any], jax.Array | None]:
    """The mean over observations of the best action's value; None of an agent without values."""

    def mean(learner: Any, obs: Any) -> jax.Array | None:
        values = greedy_values(jax.vmap(agent.inspect, in_axes=(None, 0))(learner, obs))
        return None if values is None else jnp.mean(jnp.max(values, axis=-1))

    # Of all beliefs this is the one that does not mind a hurry (isl.training.scalars.inspector).
    return jax.jit(mean, compiler_options={"xla_backend_optimization_level": 0})


def own_cost(agent: Agent, learner: Any, obs: Any) -> float:
    """What the agent's objective adds to or takes off the reward of a step, on average.

    ISL learns values less κ times a divergence, SBEED adds an entropy: the value of an observation
    then differs from that of its best action. Values that `predict` does not use do not matter.
    """
    beliefs = jax.device_get(inspector(agent)(learner, obs))
    if "greedy" in beliefs or "value" not in beliefs:
        return 0.0
    off = float(np.abs(beliefs["q"].max(-1) - beliefs["value"]).mean())
    return off if math.isfinite(off) else 0.0
