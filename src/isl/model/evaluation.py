"""How well a model does: greedy episodes on fixed seeds, and what can be said of their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np

from isl import envs
from isl.envs import spaces
from isl.envs.base import Environment
from isl.errors import UsageError

if TYPE_CHECKING:
    from isl.model.model import Model

RESAMPLES = 10_000


class Evaluation(NamedTuple):
    """What the episodes gave, in the order of their seeds."""

    returns: list[float]
    lengths: list[int]
    cut: int  # episodes ended by `max_steps`, not by the environment

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mean: the percentile bootstrap, with fixed resamples."""
        returns = np.asarray(self.returns)
        picks = np.random.default_rng(0).integers(len(returns), size=(RESAMPLES, len(returns)))
        low, high = np.quantile(returns[picks].mean(axis=1), [0.025, 0.975])
        return float(low), float(high)


def evaluate(model: Model, env: Any, episodes: int, max_steps: int | None = None) -> Evaluation:
    """Play greedily; episode k is reset with seed k, so that models meet the same episodes."""
    if episodes < 1:
        raise UsageError(f"episodes must be at least 1, got {episodes}")
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps must be at least 1, got {max_steps}")
    env = playable(env)
    ours, theirs = spaces.describe(model.observation_space), spaces.describe(env.observation_space)
    if ours != theirs:
        raise UsageError(
            f"the model reads {model.observation_space}, the environment gives "
            f"{env.observation_space}; evaluate on the environment it was trained for"
        )
    returns, lengths, cut = [], [], 0
    for seed in range(episodes):
        obs, _ = env.reset(seed=seed)
        total, length, over = 0.0, 0, False
        while not over and (max_steps is None or length < max_steps):
            action, _ = model.predict(obs, deterministic=True)
            obs, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            length += 1
            over = bool(terminated or truncated)
        returns.append(total)
        lengths.append(length)
        cut += not over
    return Evaluation(returns, lengths, cut)


def playable(env: Any, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """A single Gymnasium environment from whatever a model can be trained on."""
    if isinstance(env, str) and not envs.is_compiled_task(env):
        try:
            return gymnasium.make(env, render_mode=render_mode)
        except (gymnasium.error.Error, ModuleNotFoundError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"no environment called {env!r}: {reason}") from None
    if isinstance(env, str):
        env = envs.make(env)
    if isinstance(env, gymnasium.Env):
        return env
    if hasattr(env, "observation_spec"):
        from isl.envs.adapters import DmEnvAdapter

        return DmEnvAdapter(env)
    if hasattr(env, "default_episodes"):
        return _twin(env, render_mode)
    raise UsageError(
        f"cannot play on {type(env).__name__}; expected a Gymnasium id or environment, or a task"
    )


def _twin(task: Environment, render_mode: str | None) -> gymnasium.Env[Any, Any]:
    """A compiled task's Gymnasium version: drawn and fast for ours, compiled calls for others."""
    family, number = envs.family_of(task.name), envs.number_of(task.name)
    if family is not None and family.twin is not None:
        arguments = dict(family.twin_arguments)
        if number is not None:
            arguments[family.twin_number] = number
        arguments |= {name: getattr(task, name) for name in family.parameters}
        return gymnasium.make(family.twin, render_mode=render_mode, **arguments)
    from isl.envs.task_env import TaskEnv

    return TaskEnv(task)
