"""An environment whose episodes have no end, and no limit of steps."""

import gymnasium
from gymnasium.spaces import Discrete


class Endless(gymnasium.Env):
    """A circle of four places; each step costs 1."""

    observation_space = Discrete(4)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.place, {}

    def step(self, action):
        self.place = (self.place + 2 * int(action) - 1) % 4
        return self.place, -1.0, False, False, {}


if "Endless-v0" not in gymnasium.registry:
    gymnasium.register("Endless-v0", entry_point=Endless)
