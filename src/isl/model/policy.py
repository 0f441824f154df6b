"""An agent for an environment's spaces, and its choices outside training."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete, Space, Tuple
from numpy.typing import NDArray

from isl import agents
from isl.agents.base import Agent
from isl.agents.config import Config
from isl.agents.wrappers.expand_observations import expanded
from isl.agents.wrappers.normalise_observations import normalised
from isl.envs import action_masks, spaces
from isl.envs.action_masks import Mask
from isl.errors import UsageError
from isl.model.torsos import read_by
from isl.training import rng
from isl.training.greedy import follower


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
        self._agent = agent
        self._follower = follower(agent)
        self._act = jax.jit(lambda learner, *each: jax.vmap(partial(agent.act, learner))(*each))
        self._begin = jax.jit(jax.vmap(agent.begin_episode, in_axes=(None, 0)))
        self._inspect = jax.jit(jax.vmap(agent.inspect, in_axes=(None, 0)))

    def predict(
        self,
        learner: Any,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        masks: Any = None,
    ) -> tuple[Any, Any]:
        """The actions, and what is remembered of the episodes (see `Model.predict`)."""
        obs, batch = self._encoded(observation)
        given = () if masks is None else (self._allowed(masks, len(obs)),)
        if deterministic:
            memory = self._continued(state, episode_start, self._follower.begin(len(obs)))
            chosen, memory = self._follower.act(learner, memory, obs, *given)
            index = np.asarray(chosen)
            state = state if self._agent.follow is None else memory
            return self._actions.decode(index if batch else index[0]), state
        stream = rng.stream_key(self._task, self._seed, "predict")
        key = rng.at(jnp.asarray(stream), jnp.uint32(self._predictions))
        self._predictions += 1
        key_begin, key_act = jax.random.split(key)
        fresh = self._begin(learner, jax.random.split(key_begin, len(obs)))
        state = self._continued(state, episode_start, fresh)
        keys = jax.random.split(key_act, len(obs))
        index = np.asarray(self._act(learner, state, obs, keys, *given))
        return self._actions.decode(index if batch else index[0]), state

    @staticmethod
    def _continued(state: Any, episode_start: Any, fresh: Any) -> Any:
        """The state that was handed back, and a fresh one for episodes that begin."""
        if jax.tree.map(jnp.shape, state) != jax.tree.map(jnp.shape, fresh):  # also of another mode
            return fresh
        if episode_start is None:
            return state
        anew = jnp.asarray(episode_start, jnp.bool_).reshape(-1)
        return jax.tree.map(
            lambda new, old: jnp.where(anew.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            fresh,
            state,
        )

    def _allowed(self, masks: Any, number: int) -> Mask:
        """Which actions are allowed at each of `number` observations, [number, A]."""
        found = action_masks.read(self._actions.space, masks)
        found = found[None] if found.ndim == 1 else found
        if found.shape[0] not in (1, number) or found.ndim != 2:
            shape = np.shape(masks)
            raise UsageError(f"action_masks has shape {shape}, expected a row for each observation")
        if not found.any(axis=-1).all():
            raise UsageError("action_masks allows no action; expected at least one")
        return np.broadcast_to(found, (number, found.shape[1]))

    def inspect(self, learner: Any, observation: Any) -> dict[str, NDArray[Any]]:
        """What the agent believes of an observation, or of each in a batch."""
        obs, batch = self._encoded(observation)
        beliefs = jax.device_get(self._inspect(learner, obs))
        return {name: x if batch else x[0] for name, x in beliefs.items()}

    def export(self, learner: Any, path: Path, agent: str) -> list[str]:
        """Write the greedy policy to a file (isl.export); see `Model.export`."""
        from isl.export import export_policy  # nothing that training needs

        about = {"agent": agent, "task": self._task}
        return export_policy(path, self._agent, learner, self._observations, self._actions, about)

    def _encoded(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """A batch of what networks see, and whether a batch was given."""
        read = self._observations
        try:
            _check_type(observation, read)
            batch = read.is_batch(observation)
            encoded = read.encode(observation)
            obs = encoded if batch else encoded[None]
        except (ValueError, TypeError, LookupError, OverflowError):
            raise _unfit(observation, read.space) from None
        if isinstance(read.stored, Discrete):
            fits = obs.ndim == 1 and ((obs >= 0) & (obs < read.stored.n)).all()
        else:
            fits = obs.shape[1:] == read.stored.shape and np.isfinite(obs).all()
        if not fits:
            raise _unfit(observation, read.space)
        return obs, batch


def _check_type(observation: Any, read: spaces.Observations) -> None:
    """Raise if numbers would lose their meaning; a Dict or Tuple is Gymnasium's to read."""
    if isinstance(read.space, Box | Discrete):
        given, stored = np.asarray(observation), np.dtype(read.stored.dtype)
        if given.dtype.kind not in ("biuf" if stored.kind == "f" else "biu"):
            raise TypeError
        if stored == np.uint8 != given.dtype and ((given < 0) | (given > 255)).any():
            raise OverflowError


def _unfit(observation: Any, space: Space[Any]) -> UsageError:
    """What was given and what was expected, in one line."""
    if isinstance(space, Discrete):
        expected = f"a whole number from {space.start} to {space.start + space.n - 1}"
    elif isinstance(space, Box):
        expected = f"finite {space.dtype} numbers of shape {space.shape}"
    else:
        expected = str(space)
    given = " ".join(repr(observation).split())[:60]
    pair = isinstance(observation, tuple) and len(observation) == 2
    if pair and isinstance(observation[1], dict) and not isinstance(space, Tuple):
        given = "a tuple with the info that env.reset() returns: give its first part"
    elif hasattr(observation, "dtype") and np.ndim(observation):
        given = f"{observation.dtype} numbers of shape {observation.shape}: {given}"
    return UsageError(f"expected the observation to be {expected}, or a batch of such; got {given}")


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
    agent: Agent = agents.load(name).make(config, read_by(torso, seen), actions.number)
    return expanded(normalised(agent, seen) if normalize else agent, observations.expand)
