"""Environments that break a promise at their 30th step: `tests.faults.bad_envs:NanReward-v0`.

They do so in the runs of seed 1 alone, so that a test can see whether other seeds are disturbed.
"""

import ctypes
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from isl.training.python_envs.envs import episode_seed

BAD_STEP = 30


class Walk(gymnasium.Env):
    """Ten random numbers long; `break_promise` is what the ones below override."""

    observation_space = Box(-1, 1, (3,), np.float32)
    action_space = Discrete(2)
    length = 10  # of an episode

    def __init__(self):
        self.steps = 0
        self.bad = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        first = episode_seed(self.spec.id if self.spec else "", 1, "env/0/0")
        full = f"{__name__}:{self.spec.id}" if self.spec else ""
        self.bad = self.bad or seed in (first, episode_seed(full, 1, "env/0/0"))
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        answer = (self.seen(), float(action), self.steps % self.length == 0, False, {})
        return self.break_promise(answer) if self.bad and self.steps == BAD_STEP else answer

    def seen(self):
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def break_promise(self, answer):
        return answer


class NanReward(Walk):
    def break_promise(self, answer):
        return (answer[0], float("nan"), *answer[2:])


class InfReward(Walk):
    def break_promise(self, answer):
        return (answer[0], -np.inf, *answer[2:])


class HugeReward(Walk):
    """Finite, but its square is not: the loss is what breaks."""

    def break_promise(self, answer):
        return (answer[0], 1e30, *answer[2:])


class NanObservation(Walk):
    def break_promise(self, answer):
        return (np.array([0, np.nan, 0], np.float32), *answer[1:])


class WrongShape(Walk):
    def break_promise(self, answer):
        return (np.zeros(4, np.float32), *answer[1:])


class WrongType(Walk):
    def break_promise(self, answer):
        return (np.array(["a", "b", "c"]), *answer[1:])


class OutOfRange(Walk):
    observation_space = Discrete(5)

    def seen(self):
        return int(self.np_random.integers(5))

    def break_promise(self, answer):
        return (5, *answer[1:])


class HalfIndex(OutOfRange):
    def break_promise(self, answer):
        return (2.5, *answer[1:])


class FewValues(Walk):
    def break_promise(self, answer):
        return answer[:4]


class Raises(Walk):
    def break_promise(self, answer):
        raise ConnectionError("the simulator\nis gone")


class Sleeps(Walk):
    def break_promise(self, answer):
        time.sleep(3600)
        return answer


class Stubborn(Walk):
    """Catches whatever is thrown at it."""

    def break_promise(self, answer):
        while True:
            try:
                time.sleep(3600)
            except Exception:
                continue


class HangsInC(Walk):
    """Never returns from compiled code and keeps Python's lock: no Python code runs any more."""

    def break_promise(self, answer):
        mutex = ctypes.create_string_buffer(64)
        for _ in range(2):  # the second time it waits for itself; no signal ends that
            ctypes.PyDLL(None).pthread_mutex_lock(mutex)
        return answer


class Prints(Walk):
    """Says a kilobyte at every step."""

    def step(self, action):
        print("x" * 1000)
        return super().step(action)


BAD = [
    *(NanReward, InfReward, HugeReward, NanObservation, WrongShape, WrongType, OutOfRange),
    *(HalfIndex, FewValues, Raises, Sleeps, Stubborn, HangsInC),
]
for env in (Walk, Prints, *BAD):
    gymnasium.register(f"{env.__name__}-v0", env, disable_env_checker=True)
