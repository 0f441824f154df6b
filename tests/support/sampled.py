"""Environments that show samples of any observation space, as a Python and as a compiled task."""

from dataclasses import dataclass

import gymnasium
import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete
from gymnasium.vector.utils import batch_space, iterate

from isl.envs.base import TimeStep

LENGTH = 7  # steps of an episode
ACTIONS = 2


def samples(space):
    """One observation for each step of an episode and one for its end: a batch."""
    batched = batch_space(space, LENGTH + 1)
    batched.seed(0)
    return batched, batched.sample()


class Sampled(gymnasium.Env):
    """The samples one after the other; action 1 is rewarded."""

    action_space = Discrete(ACTIONS)

    def __init__(self, space):
        self.observation_space = space
        self._shown = list(iterate(*samples(space)))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._step = 0
        return self._shown[0], {}

    def step(self, action):
        self._step += 1
        return self._shown[self._step], float(action), self._step == LENGTH, False, {}


@dataclass(frozen=True, eq=False)
class CompiledSampled:
    """The same as a compiled task."""

    observation_space: gymnasium.Space
    name: str = "sampled"
    num_actions: int = ACTIONS
    max_episode_steps: int = LENGTH
    default_episodes: int = 10

    def reset(self, key):
        return jnp.int32(0), self._shown(jnp.int32(0))

    def step(self, state, action, key):
        state = state + 1
        last = state == LENGTH
        reward, discount = action.astype(jnp.float32), 1.0 - last.astype(jnp.float32)
        return TimeStep(state, self._shown(state), reward, discount, last, {})

    def _shown(self, state):
        _, batch = samples(self.observation_space)
        return jax.tree.map(lambda x: jnp.asarray(x)[state], batch)
