"""An environment and a torso of one's own.

    python docs/examples/custom_environment.py

Expected output:

    greedy return 1 in 6 steps (six digits)
"""

import flax.linen as nn
import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete

from isl import ISL
from isl.model.evaluation import evaluate


class Lock(gymnasium.Env):
    """A combination lock: `digits` right keys in a row open it, a wrong one closes it again."""

    action_space = Discrete(3)

    def __init__(self, digits: int = 6) -> None:
        parts = {"place": Discrete(digits + 1), "tries_left": Discrete(20)}
        self.observation_space = Dict(parts)
        self._code = np.random.default_rng(7).integers(3, size=digits)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._place, self._tries = 0, 19
        return self._observe(), {}

    def step(self, action):
        self._place = self._place + 1 if action == self._code[self._place] else 0
        self._tries -= 1
        opened = self._place == len(self._code)
        return self._observe(), float(opened), opened, self._tries == 0, {}

    def _observe(self):
        return {"place": self._place, "tries_left": self._tries}


class PlaceOnly(nn.Module):
    """Reads the place (the first seven entries of the flattened observation), not the tries."""

    def __call__(self, batch):
        return batch[:, :7]


model = ISL(Lock(), seed=0, torso=PlaceOnly())
model.learn(6_000, progress_bar=False)
result = evaluate(model, Lock(), episodes=1)
print(f"greedy return {result.mean:.0f} in {result.lengths[0]} steps (six digits)")
