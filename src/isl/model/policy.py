"""An agent for an environment's spaces, and its choices outside training."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from isl import agents
from isl.agents.base import Agent
from isl.agents.config import Config
from isl.agents.wrappers.normalise_observations import normalised
from isl.envs import spaces
from isl.nn.networks import WithTorso
from isl.training import rng


class Policy:
    """Compiled once per batch size."""

    def __init__(
        self,
        agent: Agent,
        observations: spaces.Observations,
        actions: spaces.Actions,
        task: str,
        seed: int,
    ) -> None:
        self._observations, self._actions = observations, actions
        self._task, self._seed = task, seed
        self._predictions = 0
        self._exploit = jax.jit(jax.vmap(agent.exploit, in_axes=(None, 0)))
        self._act = jax.jit(jax.vmap(agent.act, in_axes=(None, 0, 0, 0)))
        self._begin = jax.jit(jax.vmap(agent.begin_episode, in_axes=(None, 0)))
        self._inspect = jax.jit(jax.vmap(agent.inspect, in_axes=(None, 0)))

    def predict(
        self, learner: Any, observation: Any, state: Any, episode_start: Any, deterministic: bool
    ) -> tuple[Any, Any]:
        """The actions, and what was drawn for the episodes (see `Model.predict`)."""
        obs, batch = self._encoded(observation)
        if deterministic:
            index = np.asarray(self._exploit(learner, obs))
            return self._actions.decode(index if batch else index[0]), state
        stream = rng.stream_key(self._task, self._seed, "predict")
        key = rng.at(jnp.asarray(stream), jnp.uint32(self._predictions))
        self._predictions += 1
        key_begin, key_act = jax.random.split(key)
        fresh = self._begin(learner, jax.random.split(key_begin, len(obs)))
        if state is None:
            state = fresh
        elif episode_start is not None:
            anew = jnp.asarray(episode_start, jnp.bool_).reshape(-1)
            state = jax.tree.map(
                lambda new, old: jnp.where(anew.reshape(-1, *[1] * (new.ndim - 1)), new, old),
                fresh,
                state,
            )
        index = np.asarray(self._act(learner, state, obs, jax.random.split(key_act, len(obs))))
        return self._actions.decode(index if batch else index[0]), state

    def inspect(self, learner: Any, observation: Any) -> dict[str, NDArray[Any]]:
        """What the agent believes of an observation, or of each in a batch."""
        obs, batch = self._encoded(observation)
        beliefs = jax.device_get(self._inspect(learner, obs))
        return {name: x if batch else x[0] for name, x in beliefs.items()}

    def _encoded(self, observation: Any) -> tuple[NDArray[Any], bool]:
        if self._observations.is_batch(observation):
            return self._observations.encode_batch(observation), True
        return self._observations.encode(observation)[None], False


def make_agent(
    name: str,
    config: Config,
    observations: spaces.Observations,
    actions: spaces.Actions,
    normalize: bool,
    torso: Any,
) -> Agent:
    """The agent that reads these observations and chooses among these actions."""
    seen: Space[Any] = observations.seen
    space = seen if torso is None else WithTorso(seen, torso)
    agent: Agent = agents.load(name).make(config, space, actions.number)
    return normalised(agent, seen) if normalize else agent
