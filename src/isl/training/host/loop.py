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

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent, Schedule
from isl.nn.networks import dummy_observation
from isl.storage.checkpoint import AnyLength
from isl.training.compiled import NEVER
from isl.training.host.program import State, compile_host, streams
from isl.training.python_envs.envs import Envs, Outcome


class Steps(NamedTuple):
    """What happened, transition by transition."""

    env: NDArray[np.int32]  # which environment took it
    reward: NDArray[np.float32]
    last: NDArray[np.bool_]


class HostLoop:
    """One agent learning from E Python environments."""

    def __init__(self, agent: Agent, envs: Envs, task: str, seed: int) -> None:
        self.agent = agent
        self._envs = envs
        observation = jax.eval_shape(lambda: dummy_observation(envs.observations.seen))
        self._program = compile_host(
            agent, observation, envs.actions.number, envs.width, envs.skips
        )
        self._task, self._seed = task, seed
        self.restart(None, "")

    def restart(self, learner: Any, salt: str) -> None:
        """Begin anew, with a learner (or None: a fresh one); `salt` makes other random streams."""
        state = self._program.init(streams(self._task + salt, self._seed))
        if learner is not None:
            target = jax.tree.map(jnp.copy, self.agent.target(learner))
            state = state._replace(learner=learner, target=target)
        everywhere = np.ones(self._envs.width, np.bool_)
        self._continue(state, self._envs.reset(), everywhere)
        self.steps = self.updates = 0

    def _continue(self, state: State, obs: NDArray[Any], over: NDArray[np.bool_]) -> None:
        """From `state`, with new episodes where the last one is over."""
        self._packed, action = self._program.begin(self._program.pack(state), obs, over)
        self._action = np.asarray(action)

    @property
    def learner(self) -> Any:
        """What has been learned: a copy."""
        return self._program.learner(self._packed)

    @property
    def diverged_at(self) -> int | None:
        """The first update that gave a value that is not finite, if any."""
        found = int(self._program.diverged_at(self._packed))
        return None if found == NEVER else found

    def read_metrics(self) -> dict[str, float]:
        """Sums of the agent's metrics over the updates since the last call."""
        self._packed, totals = self._program.take_totals(self._packed)
        return {name: float(x) for name, x in jax.device_get(totals).items()}

    def stored(self, at: NDArray[np.int64]) -> Any:
        """Items of the replay by their places; the others are not copied."""
        return _gather(self._program.unpack)(self._packed, at)

    def run(self, steps: int) -> Steps:
        """At least `steps` more transitions, and the updates that they make due."""
        end = self.steps + steps
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
        return _flat(outcomes)

    def _updates_due(self) -> int:
        schedule = self.agent.schedule
        learning_steps = max(0, self.steps - schedule.learning_starts)
        return learning_steps // schedule.steps * schedule.updates

    def state(self) -> dict[str, Any]:
        """Everything but the learner: arrays on the host; of the replay, what is filled."""
        device = self._program.unpack(self._packed)._asdict()
        del device["learner"], device["totals"]
        held = min(self.steps, self.agent.schedule.replay_capacity)
        device["storage"] = jax.tree.map(lambda x: x[:held], device["storage"])
        return {"device": jax.device_get(device), "envs": self._envs.state()}

    def template(self) -> dict[str, Any]:
        """What `state` looks like, for reading a file."""
        device = jax.eval_shape(self._program.unpack, self._packed)._asdict()
        del device["learner"], device["totals"]
        device["storage"] = jax.tree.map(
            lambda x: AnyLength(x.dtype, x.shape[1:]), device["storage"]
        )
        return {"device": device, "envs": self._envs.template()}

    def restore(self, learner: Any, state: dict[str, Any]) -> None:
        """Continue from `state`.

        Where an environment cannot be brought back to the middle of its episode, that episode is
        left without an end, as if cut off, and a new one begins.
        """
        device = state["device"]
        capacity = self.agent.schedule.replay_capacity
        storage = jax.tree.map(lambda x: padded(x, capacity), device["storage"])
        self.steps, self.updates = int(device["steps"]), int(device["updates"])
        obs, anew = self._envs.restore(state["envs"], device["obs"], self.steps)
        restored = device | {"learner": learner, "storage": storage}
        self._continue(self._program.unpack(self._packed)._replace(**restored), obs, anew)


def not_finite(update: int, schedule: Schedule, task: str) -> str:
    """What is said of a run whose loss or values stopped being finite at this update."""
    step = schedule.learning_starts + (update // schedule.updates + 1) * schedule.steps
    return f"update {update}, at step {step} of {task}, gave a value that is not finite"


@lru_cache(maxsize=8)
def _gather(unpack: Any) -> Any:
    traced = unpack.__wrapped__  # compiled together with the look-up, it copies nothing else
    return jax.jit(lambda packed, at: jax.tree.map(lambda x: x[at], traced(packed).storage))


def padded(x: NDArray[Any], capacity: int) -> NDArray[Any]:
    """A replay buffer of full size from its filled part."""
    full = np.zeros((capacity, *x.shape[1:]), x.dtype)
    full[: len(x)] = x
    return full


def _flat(outcomes: list[Outcome]) -> Steps:
    real = np.concatenate([outcome.real for outcome in outcomes] or [np.zeros(0, np.bool_)])
    width = len(outcomes[0].real) if outcomes else 0
    env = np.tile(np.arange(width, dtype=np.int32), len(outcomes))
    reward = np.concatenate([o.reward for o in outcomes] or [np.zeros(0, np.float32)])
    last = np.concatenate([o.last for o in outcomes] or [np.zeros(0, np.bool_)])
    return Steps(env[real], reward[real], last[real])
