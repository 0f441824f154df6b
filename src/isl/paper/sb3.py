"""Stable-Baselines3's agents, with its defaults unless told otherwise, measured as ours are.

They are trained in one call of `learn`, so that schedules, such as DQN's ε over a tenth of all
steps, are what a user gets; a callback measures the policy after each part.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, Space

from isl.envs import spaces

CLASSES = {"sb3_dqn": "DQN", "sb3_ppo": "PPO"}
# From the steps so far and the policy to whether to go on; None is yes.
Look = Callable[[int, "Peer"], bool | None]


class FlatActions(gymnasium.ActionWrapper[Any, Any, Any]):
    """Combinations of actions numbered from 0, for DQN, which takes nothing else."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._actions = spaces.actions(env.action_space)
        self.action_space = Discrete(self._actions.number)

    def action(self, action: Any) -> Any:
        return self._actions.decode(int(action))


class Peer:
    """A model of Stable-Baselines3, for `isl.model.evaluation.evaluate`."""

    def __init__(self, model: Any, decode: Callable[[Any], Any]) -> None:
        self._model, self._decode = model, decode

    @property
    def observation_space(self) -> Space[Any]:
        space: Space[Any] = self._model.observation_space
        return space

    def reads(self, space: Space[Any], /) -> bool:
        return bool(space == self.observation_space)

    def predict(self, observation: Any, /) -> tuple[Any, Any]:
        action, state = self._model.predict(observation, deterministic=True)
        return self._decode(action), state


def train(
    agent: str,
    env: gymnasium.Env[Any, Any],
    seed: int,
    steps: int,
    parts: int,
    look: Look,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Train an agent and call `look` after each of the `parts`, until it returns False.

    `options` are other hyper-parameters than its defaults.
    """
    import stable_baselines3 as sb3
    import torch

    torch.set_num_threads(1)
    # Its numbers are arrays without axes, which not every environment takes.
    decode: Callable[[Any], Any] = int if isinstance(env.action_space, Discrete) else np.asarray
    if agent == "sb3_dqn" and not isinstance(env.action_space, Discrete):
        env = FlatActions(env)
        decode = env.action
    model = getattr(sb3, CLASSES[agent])(
        "MlpPolicy", env, seed=seed, device="cpu", verbose=0, **(options or {})
    )
    peer, done, going_on = Peer(model, decode), 0, True

    def at_step(*_: Any) -> bool:
        nonlocal done, going_on
        while going_on and done + 1 < parts and model.num_timesteps >= steps * (done + 1) // parts:
            done += 1
            going_on = look(model.num_timesteps, peer) is not False
        return going_on

    model.learn(steps, callback=at_step)
    if going_on:
        look(model.num_timesteps, peer)


def version() -> str:
    """The package and its version, for the row."""
    return f"stable-baselines3 {importlib.metadata.version('stable-baselines3')}"
