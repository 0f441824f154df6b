"""Environments that raise when a forbidden action is taken, and a small VecEnv."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

LEFT, RIGHT, OPEN = range(3)


class Corridor(gymnasium.Env):
    """Walk right to the door and open it: no walls are walked into, no other place is opened."""

    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, says="info", length=4, table=False, limit=12):
        self._says, self.length, self._limit = says, length, limit
        self.observation_space = MultiDiscrete([10, 10]) if table else Box(0.0, 9.0, (2,))
        self.touched = 0  # steps
        if says == "method":
            self.action_masks = lambda: self.allowed(self._at, self.length)

    @staticmethod
    def allowed(at, length):
        return np.array([at > 0, at < length - 1, at == length - 1])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._at = self._steps = 0
        return self._seen(), self._info()

    def step(self, action):
        if not self.allowed(self._at, self.length)[action]:
            raise ValueError(f"action {action} at {self._at} is forbidden")
        self.touched += 1
        self._steps += 1
        self._at += {LEFT: -1, RIGHT: 1, OPEN: 0}[int(action)]
        opened, late = bool(action == OPEN), self._steps >= self._limit
        return self._seen(), float(opened), opened, late and not opened, self._info()

    def _seen(self):
        return np.array([self._at, self.length], self.observation_space.dtype)

    def _info(self):
        return {"action_mask": self.allowed(self._at, self.length)} if self._says == "info" else {}


class VecEnv:
    """What Stable-Baselines3's `DummyVecEnv` does, as far as others see."""

    def __init__(self, envs):
        self.envs, self.num_envs = envs, len(envs)
        self.observation_space, self.action_space = envs[0].observation_space, envs[0].action_space
        self.reset_infos = [{} for _ in envs]
        self._seeds = [None] * self.num_envs

    def seed(self, seed=None):
        self._seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        return self._seeds

    def reset(self):
        found = [env.reset(seed=s) for env, s in zip(self.envs, self._seeds, strict=True)]
        self._seeds = [None] * self.num_envs
        self.reset_infos = [info for _, info in found]
        return np.stack([obs for obs, _ in found])

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        seen, rewards, dones, infos = [], [], [], []
        for i, (env, action) in enumerate(zip(self.envs, self._actions, strict=True)):
            obs, reward, terminated, truncated, info = env.step(action)
            info = dict(info) | {"TimeLimit.truncated": truncated and not terminated}
            if terminated or truncated:
                info["terminal_observation"] = obs
                obs, self.reset_infos[i] = env.reset()
            seen.append(obs)
            rewards.append(reward)
            dones.append(terminated or truncated)
            infos.append(info)
        return np.stack(seen), np.array(rewards, np.float32), np.array(dones), infos

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    def has_attr(self, name):
        return all(hasattr(env, name) for env in self.envs)

    def env_method(self, name, *given, indices=None, **named):
        return [getattr(env, name)(*given, **named) for env in self.envs]

    def get_attr(self, name, indices=None):
        return [getattr(env, name) for env in self.envs]

    def close(self):
        for env in self.envs:
            env.close()


def as_vec_env(makers):
    return VecEnv([make() for make in makers])
