"""The compiled loop for one seed, driven a chunk at a time through the host loop's interface."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isl.agents.base import Agent
from isl.envs.base import Environment
from isl.storage.checkpoint import AnyLength
from isl.training import rng
from isl.training.compiled import NEVER, Counters, SeedState, TrainState, compile_training
from isl.training.host.loop import Steps, padded


class CompiledLoop:
    """One agent learning on one compiled task."""

    def __init__(self, agent: Agent, env: Environment, seed: int) -> None:
        self.agent = agent
        self._env, self._seed = env, seed
        self._program = compile_training(env, agent)
        self.restart(None, "")

    def restart(self, learner: Any, salt: str) -> None:
        """Begin anew, with a learner (or None: a fresh one); `salt` makes other random streams."""
        self._state = self._program.init([self._seed])
        seeds = self._state.seeds
        if salt:
            task = self._env.name + salt
            keys = {name: rng.stream_key(task, self._seed, name) for name in seeds.streams}
            seeds = seeds._replace(streams={name: jnp.asarray(k[None]) for name, k in keys.items()})
        if learner is not None:
            seeds = seeds._replace(learner=jax.tree.map(lambda x: jnp.array(x)[None], learner))
        self._state = self._state._replace(seeds=seeds)
        self._totals: dict[str, float] = {}
        self.steps = self.updates = 0

    @property
    def learner(self) -> Any:
        """What has been learned: a copy."""
        return jax.tree.map(lambda x: x[0], self._state.seeds.learner)

    @property
    def diverged_at(self) -> int | None:
        """The first update that gave a value that is not finite, if any."""
        found = int(self._state.seeds.diverged_at[0])
        return None if found == NEVER else found

    def read_metrics(self) -> dict[str, float]:
        """Sums of the agent's metrics over the updates since the last call."""
        totals, self._totals = self._totals, {}
        return totals

    def run(self, steps: int) -> Steps:
        """At least `steps` more, in whole chunks."""
        end = self.steps + steps
        rewards, lasts = [np.zeros(0, np.float32)], [np.zeros(0, np.bool_)]
        while self.steps < end:
            if self.steps == 0:
                self._state, records = self._program.warm_up(self._state)
            else:
                self._state, records, means = self._program.chunk(self._state)
                count = self._program.updates_per_chunk
                for name, mean in means.items():
                    self._totals[name] = self._totals.get(name, 0.0) + count * float(mean[0])
                self.updates += count
            rewards.append(np.asarray(records.reward[0]))
            lasts.append(np.asarray(records.last[0]))
            self.steps += len(rewards[-1])
        reward = np.concatenate(rewards)
        return Steps(np.zeros(len(reward), np.int32), reward, np.concatenate(lasts))

    def state(self) -> dict[str, Any]:
        """Everything but the learner: arrays on the host; of the replay, what is filled."""
        seed = _without_learner(jax.tree.map(lambda x: x[0], self._state.seeds))
        held = min(self.steps, self.agent.schedule.replay_capacity)
        seed["storage"] = jax.tree.map(lambda x: x[:held], seed["storage"])
        state: dict[str, Any] = jax.device_get({"seed": seed, "counters": self._state.counters})
        return state

    def template(self) -> dict[str, Any]:
        """What `state` looks like, for reading a file."""
        seeds, counters = self._program.shapes(1)
        drop = lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype)  # noqa: E731
        seed = _without_learner(jax.tree.map(drop, seeds))
        seed["storage"] = jax.tree.map(lambda x: AnyLength(x.dtype, x.shape[1:]), seed["storage"])
        return {"seed": seed, "counters": counters}

    def restore(self, learner: Any, state: dict[str, Any]) -> None:
        """Continue from `state`, environment included."""
        capacity = self.agent.schedule.replay_capacity
        seed = state["seed"] | {
            "storage": jax.tree.map(lambda x: padded(x, capacity), state["seed"]["storage"]),
            "learner": learner,
        }
        seeds = jax.tree.map(lambda x: jnp.array(x)[None], SeedState(**seed))
        self._state = TrainState(seeds, jax.tree.map(jnp.array, Counters(*state["counters"])))
        self.steps, self.updates = (int(x) for x in state["counters"])


def _without_learner(seed: SeedState) -> dict[str, Any]:
    fields = seed._asdict()
    del fields["learner"]
    return fields
