"""The training loop for Python environments: one compiled call per step of theirs.

That call stores what the environments gave, makes the updates that are due and picks the next
actions; nothing else crosses between host and device. At the end of an episode a second, small one
begins the next. The streams of random numbers, their counters and the schedule are those of the
compiled loop (isl.training.compiled): on the same task both make the same run, up to rounding.

    loop = HostLoop(agent, PythonEnvs([gymnasium.make("CartPole-v1")], task, seed), task, seed)
    steps = loop.run(1000)      # rewards and ends of episodes, in order
    state = loop.state()        # everything but the learner and the environment: a pytree
    loop.restore(learner, state)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent
from isl.nn.networks import dummy_observation
from isl.training.host.program import State, compile_host, streams
from isl.training.loop import NEVER, Saved, Steps, filled, filled_template, refilled
from isl.training.python_envs.envs import Envs, Outcome

CHUNK_STEPS = 1_000


class HostLoop:
    """One agent learning from E Python environments (see `isl.training.loop.Loop`)."""

    parts = 1

    def __init__(self, agent: Agent, envs: Envs, task: str, seed: int) -> None:
        self.agent = agent
        self._envs = envs
        observation = jax.eval_shape(lambda: dummy_observation(envs.observations.seen))
        self._program = compile_host(
            agent, observation, envs.actions.number, envs.width, envs.skips
        )
        self._task, self._seed = task, seed
        self.seconds = 0.0
        self.restart(None, "")

    def restart(self, learner: Any, salt: str) -> None:
        """Begin anew, with a learner or a fresh one; `salt` gives other random streams."""
        state = self._program.init(streams(self._task + salt, self._seed))
        if learner is not None:
            target = jax.tree.map(jnp.copy, self.agent.target(learner))
            state = state._replace(learner=learner, target=target)
        everywhere = np.ones(self._envs.width, np.bool_)
        self._continue(state, self._envs.reset(), everywhere)
        self.steps = self.updates = self._read_at = 0

    def _continue(self, state: State, obs: NDArray[Any], over: NDArray[np.bool_]) -> None:
        """From `state`, with new episodes where the last one is over."""
        self._packed, action = self._program.begin(self._program.pack(state), obs, over)
        self._action = np.asarray(action)

    @property
    def learner(self) -> Any:
        """What has been learned: a copy."""
        return self._program.learner(self._packed)

    def learner_of(self, seed: int) -> Any:
        """What has been learned: a copy."""
        return self.learner

    def diverged_at(self, seed: int = 0) -> int | None:
        """The first update that gave a value that is not finite, if any."""
        found = int(self._program.diverged_at(self._packed))
        return None if found == NEVER else found

    def read_metrics(self, seed: int = 0) -> dict[str, float]:
        """Means of the agent's metrics over the updates since the last call; empty without one."""
        count, self._read_at = self.updates - self._read_at, self.updates
        if not count:
            return {}
        self._packed, totals = self._program.take_totals(self._packed)
        return {name: float(x) / count for name, x in jax.device_get(totals).items()}

    def stored(self, at: NDArray[np.int64], seed: int = 0) -> Any:
        """Items of the replay by their places; the others are not copied."""
        return _gather(self._program.unpack)(self._packed, at)

    def chunk(self, most: int, fine: bool = False) -> list[Steps]:
        """The next steps, at most `most`."""
        return [self.run(min(CHUNK_STEPS, most))]

    def run(self, steps: int) -> Steps:
        """At least `steps` more transitions, and the updates that they make due."""
        end, started = self.steps + steps, time.perf_counter()
        outcomes: list[Outcome] = []
        begin, advance = self._program.begin, self._program.advance
        while self.steps < end:
            outcome = self._envs.step(self._action)
            outcomes.append(outcome)
            feedback = np.stack([outcome.reward, outcome.discount, outcome.real])
            self.steps += int(outcome.real.sum()) if self._envs.skips else self._envs.width
            due = self._updates_due() - self.updates
            self._packed, action = advance(self._packed, outcome.next_obs, feedback, updates=due)
            if outcome.last.any():
                self._packed, action = begin(self._packed, outcome.obs, outcome.last)
            self._action = np.asarray(action)
            self.updates += due
        self.seconds += time.perf_counter() - started
        return _flat(outcomes)

    def _updates_due(self) -> int:
        schedule = self.agent.schedule
        learning_steps = max(0, self.steps - schedule.learning_starts)
        return learning_steps // schedule.steps * schedule.updates

    def state(self, seed: int = 0) -> Saved:
        """Everything but the learner, for a file; of the replay, the filled part."""
        device = self._program.unpack(self._packed)._asdict()
        del device["learner"], device["totals"]
        storage = filled(device["storage"], self.steps, self.agent.schedule.replay_capacity)
        device = jax.device_get(device | {"storage": ()}) | {"storage": storage}
        return {"device": device, "envs": self._envs.state()}

    def template(self) -> Saved:
        """What `state` looks like."""
        device = jax.eval_shape(self._program.unpack, self._packed)._asdict()
        del device["learner"], device["totals"]
        device["storage"] = filled_template(device["storage"])
        return {"device": device, "envs": self._envs.template()}

    def restore(self, learner: Any, state: Saved) -> None:
        """Continue from `state`.

        Where an environment cannot be brought back to the middle of its episode, that episode is
        left without an end, as if cut off, and a new one begins.
        """
        device = state["device"]
        storage = refilled(device["storage"], self.agent.schedule.replay_capacity)
        self.steps, self.updates = int(device["steps"]), int(device["updates"])
        self._read_at = self.updates
        obs, anew = self._envs.restore(state["envs"], device["obs"], self.steps)
        restored = device | {"learner": learner, "storage": storage}
        self._continue(self._program.unpack(self._packed)._replace(**restored), obs, anew)

    def restore_all(self, saved: Sequence[tuple[Any, Saved]]) -> None:
        """Continue from the learner and state of the one seed."""
        ((learner, state),) = saved
        self.restore(jax.tree.map(jnp.asarray, learner), state)


@lru_cache(maxsize=8)
def _gather(unpack: Any) -> Any:
    traced = unpack.__wrapped__  # compiled together with the look-up, it copies nothing else
    return jax.jit(lambda packed, at: jax.tree.map(lambda x: x[at], traced(packed).storage))


def _flat(outcomes: list[Outcome]) -> Steps:
    real = np.concatenate([outcome.real for outcome in outcomes] or [np.zeros(0, np.bool_)])
    width = len(outcomes[0].real) if outcomes else 0
    env = np.tile(np.arange(width, dtype=np.int32), len(outcomes))
    reward = np.concatenate([o.reward for o in outcomes] or [np.zeros(0, np.float32)])
    last = np.concatenate([o.last for o in outcomes] or [np.zeros(0, np.bool_)])
    return Steps(None, reward[real], last[real], {}, env[real])
