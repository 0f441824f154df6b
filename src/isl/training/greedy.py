"""Playing greedily: what the policy that a user takes away is worth.

Players have environments and random streams of their own, so that a training with evaluations has
the bits of one without. Their episodes are the same at each evaluation.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.agents.base import Agent, Learner, follow_of
from isl.envs import action_masks, spaces
from isl.errors import EnvironmentFault
from isl.training.python_envs.envs import episode_seed
from isl.training.python_envs.guard import EnvGuard
from isl.training.python_envs.step_limit import StepLimit

LONGEST = 10_000  # steps of an episode, where the environment sets no limit itself
UNCUT = 1_000  # steps of an episode that is never cut
RESAMPLES = 10_000
STREAM = "evaluation"
Read = Callable[[gymnasium.Space[Any]], spaces.Observations]


class Evaluation(NamedTuple):
    """What the episodes gave, in the order of their seeds."""

    returns: list[float]
    lengths: list[int]
    cut: int  # episodes ended by a limit of steps, not by the environment

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


def limit_of(env: gymnasium.Env[Any, Any]) -> int:
    """The steps after which an episode is cut: the environment's own limit, or else `LONGEST`.

    Where the environment sets none, a greedy policy that walks in circles would do so for ever.
    """
    own = None if env.spec is None else env.spec.max_episode_steps
    return own if own is not None and own > 0 else LONGEST


def told_of_cut(found: Evaluation) -> str:
    """A line about episodes that were cut; "" if none was."""
    if not found.cut:
        return ""
    return (
        f"{found.cut} of {len(found.lengths)} greedy episodes had not ended after "
        f"{max(found.lengths):,} steps and were cut there"
    )


class Player(Protocol):
    """Plays a learner's policy greedily, in an environment of its own."""

    def play(self, learner: Learner, episodes: int, steps: float) -> Evaluation:
        """Up to `episodes` episodes, and at least one: as many as seem to fit into `steps`."""

    def close(self) -> None:
        """Let go of the environment."""


def play(
    env: Any,
    choose: Callable[..., Any],
    seeds: Sequence[int],
    longest: float | None = None,
    steps: float = np.inf,
) -> Evaluation:
    """Episodes of a Python environment, one for each seed.

    Args:
        env: has Gymnasium's `reset` and `step`.
        choose: from a memory of the episode, at first None, and an observation to the action and
            the memory; also takes the observation's mask, if the environment gives any.
        seeds: of the episodes.
        longest: steps after which an episode is cut; None: never.
        steps: another episode is begun only if one as long as the longest so far fits into them.
    """
    returns: list[float] = []
    lengths: list[int] = []
    cut, method = 0, action_masks.method_of(env)
    for seed in seeds:
        if lengths and sum(lengths) + max(lengths) > steps:
            break
        obs, info = env.reset(seed=seed)
        total, length, over, memory = 0.0, 0, False, None
        while not over and (longest is None or length < longest):
            mask = action_masks.given(info, method)
            action, memory = choose(memory, obs, *(() if mask is None else (mask,)))
            obs, reward, terminated, truncated, info = env.step(action)
            total += float(reward)
            length += 1
            over = bool(terminated or truncated)
        returns.append(total)
        lengths.append(length)
        cut += not over
    return Evaluation(returns, lengths, cut)


class Follower(NamedTuple):
    """The greedy policy of an agent for a batch of episodes, compiled: what `predict` takes."""

    begin: Callable[[int], Any]  # how many episodes → their memories
    act: Callable[
        ..., tuple[jax.Array, Any]
    ]  # (learner, memories, obs, masks?) → actions, memories


@lru_cache(maxsize=8)
def follower(agent: Agent) -> Follower:
    """The follower of an agent."""
    follow = follow_of(agent)

    def begin(number: int) -> Any:
        return jax.tree.map(lambda x: jnp.stack([x] * number), follow.begin())

    @jax.jit
    def act(learner: Learner, memory: Any, obs: Any, *mask: jax.Array) -> tuple[jax.Array, Any]:
        found: tuple[jax.Array, Any] = jax.vmap(partial(follow.act, learner))(memory, obs, *mask)
        return found

    return Follower(begin, act)


class PythonPlayer:
    """In a Gymnasium environment that is made when it is first needed.

    Args:
        agent: whose policy it is.
        make: makes the environment.
        task: the name that seeds of episodes derive from.
        seed: that of the training.
        limit: of the time of a step.
        read: how its observations are read.
        ours: whether the environment is closed at the end.
    """

    def __init__(
        self,
        agent: Agent,
        make: Callable[[], gymnasium.Env[Any, Any]],
        task: str,
        seed: int,
        limit: StepLimit | None = None,
        read: Read = spaces.observations,
        ours: bool = True,
    ) -> None:
        self._follower = follower(agent)
        self._make, self._task, self._seed = make, task, seed
        self._limit, self._read, self._ours = limit, read, ours
        self._env: gymnasium.Env[Any, Any] | None = None

    def play(self, learner: Learner, episodes: int, steps: float) -> Evaluation:
        """Up to `episodes` episodes, and at least one; one that outlasts `steps` is cut."""

        def choose(memory: Any, obs: NDArray[Any], *mask: Any) -> tuple[int, Any]:
            masks = (action_masks.read(own.action_space, each)[None] for each in mask)
            memory = begin(1) if memory is None else memory
            action, memory = act(learner, memory, obs[None], *masks)
            return int(np.asarray(action)[0]), memory

        begin, act = self._follower

        names = (f"{STREAM}/{i}" for i in range(episodes))
        seeds = [episode_seed(self._task, self._seed, name) for name in names]
        with _global_randomness_kept():
            if self._env is None:
                self._env = self._made()
            own = self._env
            guard = EnvGuard(
                f"an evaluation of {self._task}", self._read(own.observation_space), 1, self._limit
            )
            env = _Guarded(own, guard)
            return play(env, choose, seeds, min(max(steps, UNCUT), limit_of(own)), steps)

    def _made(self) -> gymnasium.Env[Any, Any]:
        try:
            return self._make()
        except Exception as error:  # whatever the environment's own code raises
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise EnvironmentFault(
                f"{self._task} cannot be made a second time, to evaluate in: {reason}; "
                "train without evaluations"
            ) from error

    def close(self) -> None:
        """Let go of the environment."""
        env, self._env = self._env, None
        if env is not None and self._ours:
            env.close()


class _Guarded:
    """An environment seen as the host loop sees it: indices in, checked arrays out."""

    def __init__(self, env: gymnasium.Env[Any, Any], guard: EnvGuard) -> None:
        self._env, self._guard = env, guard
        self._actions = spaces.actions(env.action_space)
        self._mask_method = action_masks.method_of(env)
        self.action_masks = None if self._mask_method is None else self._asked

    def _asked(self) -> Any:
        assert self._mask_method is not None
        with self._guard.watching():
            return self._mask_method()

    def reset(self, seed: int) -> tuple[NDArray[Any], dict[str, Any]]:
        with self._guard.watching():
            obs, info = self._env.reset(seed=seed)
            return self._guard.observed(obs), info

    def step(self, action: int) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        guard = self._guard
        guard.step += 1
        with guard.watching():
            obs, reward, terminated, truncated, info = self._env.step(self._actions.decode(action))
            return guard.observed(obs), guard.rewarded(reward), terminated, truncated, info


@contextlib.contextmanager
def _global_randomness_kept() -> Iterator[None]:
    """Environments that draw from generators of the whole process must not notice an evaluation."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
