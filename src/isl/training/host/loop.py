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

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent
from isl.garbage import uncollected
from isl.nn.networks import dummy_observation
from isl.training.host.packing import Packed, Part
from isl.training.host.program import State, compile_host, streams
from isl.training.loop import (
    NEVER,
    Saved,
    Steps,
    divergence,
    filled,
    filled_template,
    refilled,
    updates_due,
)
from isl.training.python_envs.envs import Envs, Outcome

CHUNK_STEPS = 1_000


class HostLoop:
    """One agent learning from E Python environments (see `isl.training.loop.Loop`)."""

    parts = 1

    def __init__(self, agent: Agent, envs: Envs, task: str, seed: int) -> None:
        self.agent = agent
        self._envs = envs
        self._task, self._seed = task, seed
        self.seconds = 0.0
        first = envs.reset()  # it tells whether there are masks
        self.masked = envs.mask is not None
        observation = jax.eval_shape(lambda: dummy_observation(envs.observations.stored))
        with uncollected():
            self._program = compile_host(
                agent, observation, envs.actions.number, envs.width, envs.skips, self.masked
            )
            self._start(None, "", first)

    def restart(self, learner: Any, salt: str) -> None:
        """Begin anew, with a learner or a fresh one; `salt` gives other random streams."""
        self._start(learner, salt, self._envs.reset())

    def _start(self, learner: Any, salt: str, first: NDArray[Any]) -> None:
        program = self._program
        packed = program.init(streams(self._task + salt, self._seed))
        if learner is not None:
            packed = self._with_learner(packed, learner)
        everywhere = np.ones(self._envs.width, np.bool_)
        self._continue(packed, first, everywhere)
        self.steps = self.updates = self._read_at = 0

    def _continue(self, packed: Packed, obs: NDArray[Any], over: NDArray[np.bool_]) -> None:
        """From a state, with new episodes where the last one is over."""
        self._packed, action = self._program.begin(packed, obs, over, self._envs.mask)
        self._action = np.asarray(action)

    def _read(self, part: Part) -> Any:
        """A part of the state on the host: views."""
        return self._program.packing.read(self._packed, part)

    @property
    def learner(self) -> Any:
        """What has been learned: a copy."""
        return jax.tree.map(lambda x: jax.device_put(np.array(x)), self._read(_learner))

    @property
    def infos(self) -> Any:
        """What the environments told beside the last step."""
        return self._envs.infos

    def learner_of(self, seed: int) -> Any:
        """What has been learned: a copy."""
        return self.learner

    def diverged_at(self, seed: int = 0) -> int | None:
        """The first update that gave a value that is not finite, if any."""
        learner, found = self._read(lambda state: (state.learner, state.diverged_at))
        first = int(divergence(learner, found, self.updates))
        return None if first == NEVER else first

    def read_metrics(self, seed: int = 0) -> dict[str, float]:
        """Means of the agent's metrics over the updates since the last call; empty without one."""
        count, self._read_at = self.updates - self._read_at, self.updates
        if not count:
            return {}
        totals = {name: float(x) for name, x in self._read(_totals).items()}
        zeros = dict.fromkeys(totals, 0.0)
        self._packed = self._program.packing.replace(self._packed, _totals, zeros)
        return {name: total / count for name, total in totals.items()}

    def stored(self, at: NDArray[np.int64], seed: int = 0) -> Any:
        """Items of the replay by their places; the others are not copied."""
        return self._program.stored(self._packed, at)

    def chunk(self, most: int, fine: bool = False) -> list[Steps]:
        """The next steps, at most `most`."""
        return [self.run(min(CHUNK_STEPS, most))]

    def run(self, steps: int) -> Steps:
        """At least `steps` more transitions, and the updates that they make due."""
        with contextlib.nullcontext() if self.updates else uncollected():  # the first ones compile
            return self._run(steps)

    def _run(self, steps: int) -> Steps:
        end, started = self.steps + steps, time.perf_counter()
        outcomes: list[Outcome] = []
        schedule, program = self.agent.schedule, self._program
        while self.steps < end:
            outcome = self._envs.step(self._action)
            outcomes.append(outcome)
            given = [outcome.reward, outcome.discount, outcome.real, outcome.last]
            feedback = np.array(given, np.float32)
            self.steps += int(outcome.real.sum()) if self._envs.skips else self._envs.width
            due, anew = updates_due(schedule, self.steps) - self.updates, bool(outcome.last.any())
            if schedule.steps == 1 and self.steps <= schedule.learning_starts:
                # An `advance` without updates would be compiled for these few steps alone.
                self._packed = program.store(
                    self._packed, outcome.next_obs, feedback, outcome.next_mask
                )
                anew = True
            else:
                self._packed, action = program.advance(
                    self._packed, outcome.next_obs, feedback, outcome.next_mask, updates=due
                )
            if anew:
                self._packed, action = program.begin(
                    self._packed, outcome.obs, outcome.last, self._envs.mask
                )
            self._action = np.asarray(action)
            self.updates += due
        self.seconds += time.perf_counter() - started
        return _flat(outcomes)

    def adopt(self, learner: Any) -> None:
        """Go on with another learner; replay, environments and counters stay."""
        self._packed = self._with_learner(self._packed, learner)

    def _with_learner(self, packed: Packed, learner: Any) -> Packed:
        both = (learner, self.agent.target(learner))
        return self._program.packing.replace(packed, lambda s: (s.learner, s.target), both)

    def state(self, seed: int = 0) -> Saved:
        """Everything but the learner, for a file; of the replay, the filled part."""
        device = self._read(_saved)
        storage = filled(device["storage"], self.steps, self.agent.schedule.replay_capacity)
        device = jax.tree.map(np.array, device | {"storage": ()}) | {"storage": storage}
        return {"device": device, "envs": self._envs.state()}

    def template(self) -> Saved:
        """What `state` looks like."""
        device = _saved(self._program.packing.template())
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
        packing, totals = self._program.packing, self._read(_totals)
        values = (device | {"storage": storage}, learner, dict.fromkeys(totals, 0.0))
        everything = lambda state: (_saved(state), state.learner, state.totals)  # noqa: E731
        self._continue(packing.replace(self._packed, everything, values), obs, anew)

    def restore_all(self, saved: Sequence[tuple[Any, Saved]]) -> None:
        """Continue from the learner and state of the one seed."""
        ((learner, state),) = saved
        self.restore(learner, state)


def _learner(state: State) -> Any:
    return state.learner


def _totals(state: State) -> dict[str, Any]:
    return state.totals


def _saved(state: State) -> dict[str, Any]:
    """What a file holds of the state, besides the learner."""
    fields = state._asdict()
    del fields["learner"], fields["totals"]
    return fields


def _flat(outcomes: list[Outcome]) -> Steps:
    real = np.concatenate([outcome.real for outcome in outcomes] or [np.zeros(0, np.bool_)])
    width = len(outcomes[0].real) if outcomes else 0
    env = np.tile(np.arange(width, dtype=np.int32), len(outcomes))
    reward = np.concatenate([o.reward for o in outcomes] or [np.zeros(0, np.float32)])
    last = np.concatenate([o.last for o in outcomes] or [np.zeros(0, np.bool_)])
    return Steps(None, reward[real], last[real], {}, env[real])
