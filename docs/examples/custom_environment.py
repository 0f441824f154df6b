"""An environment of your own: ten right keys in a row open a lock, a wrong one closes it again.

    python docs/examples/custom_environment.py

Expected output:

    before training: return 0 in 200 steps
    after: return 1 in 10 steps (ten digits)
"""

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit

from isl import Seeker
from isl.model.evaluation import evaluate


class Lock(gymnasium.Env):
    """A combination lock. It shows how many digits are right so far."""

    action_space = Discrete(3)

    def __init__(self, digits: int = 10) -> None:
        self.observation_space = Discrete(digits + 1)
        self._code = np.random.default_rng(7).integers(3, size=digits)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._right = 0
        return self._right, {}

    def step(self, action):
        self._right = self._right + 1 if action == self._code[self._right] else 0
        opened = self._right == len(self._code)
        return self._right, float(opened), opened, False, {}


env = TimeLimit(Lock(), 200)  # without a limit an episode ends only when the lock opens
model = Seeker(env, seed=0)
untrained = evaluate(model, env, episodes=1)
model.learn(6_000, progress_bar=False, eval_env=TimeLimit(Lock(), 200))
result = evaluate(model, env, episodes=1)
print(f"before training: return {untrained.mean:.0f} in {untrained.lengths[0]} steps")
print(f"after: return {result.mean:.0f} in {result.lengths[0]} steps (ten digits)")
