"""How well a model does: greedy episodes on fixed seeds, and what can be said of their mean."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium
from gymnasium.spaces import Space

from isl import envs
from isl.envs import named
from isl.envs.base import Environment
from isl.envs.encoded import encoded
from isl.errors import UsageError
from isl.model.environment import Attachment
from isl.training.evaluations import Evaluations, Wish
from isl.training.greedy import (
    Evaluation,
    Player,
    PythonPlayer,
    Read,
    limit_of,
    play,
    told_of_cut,
)
from isl.training.greedy_compiled import CompiledPlayer

if TYPE_CHECKING:
    from isl.model.model import Model

log = logging.getLogger(__name__)

__all__ = ["Evaluation", "Predictor", "evaluate", "evaluate_compiled", "evaluations_of", "playable"]


class Predictor(Protocol):
    """A model, or a run's policy."""

    @property
    def observation_space(self) -> Space[Any]: ...

    def reads(self, space: Space[Any], /) -> bool: ...

    @property
    def predict(self) -> Callable[..., tuple[Any, Any]]:
        """Takes an observation and, if it knows of them, `state` and `action_masks`."""


def evaluate(model: Predictor, env: Any, episodes: int, max_steps: int | None = None) -> Evaluation:
    """Play greedily; episode k is reset with seed k, so that models meet the same episodes.

    An episode is cut after `max_steps`; without them after the environment's own limit of steps, or
    after 10,000 where it sets none.
    """
    if episodes < 1:
        raise UsageError(f"episodes must be at least 1, got {episodes}")
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps must be at least 1, got {max_steps}")
    env = playable(env)
    _check(model, env.observation_space)

    takes = inspect.signature(model.predict).parameters

    def choose(memory: Any, obs: Any, *mask: Any) -> tuple[Any, Any]:
        masks = {"action_masks": mask[0]} if mask and "action_masks" in takes else {}
        remembered = {"state": memory} if "state" in takes else {}
        return model.predict(obs, **remembered, **masks)

    found = play(env, choose, range(episodes), max_steps or limit_of(env))
    if found.cut and max_steps is None:
        log.warning("%s; max_steps (--max-steps) sets another limit", told_of_cut(found))
    return found


def evaluate_compiled(model: Model, episodes: int) -> Evaluation:
    """Play greedily on the compiled task that the model learns on, all episodes at once.

    The episodes are the same for all models of the task, whatever their seeds.
    """
    if episodes < 1:
        raise UsageError(f"episodes must be at least 1, got {episodes}")
    if model._attached is None or model._attached.kind != "compiled":
        raise UsageError(f"{model.task} is no compiled task")
    player = CompiledPlayer(model._agent, _read_by(model.env, model._read), seed=0)
    return player.play(model.learner, episodes, math.inf)


def evaluations_of(
    model: Model, attached: Attachment, wish: Wish, budget: int, eval_env: Any, watched: bool
) -> Evaluations:
    """The evaluations of a call of `learn`; `watched`: an `EvalCallback` makes its own."""
    for name, value, least in (("eval_freq", wish.every, 1), ("n_eval_episodes", wish.episodes, 0)):
        if value is not None and value < least:
            raise UsageError(f"{name} must be at least {least}, got {value}")
    asked = eval_env is not None or wish.every is not None
    if asked and not wish.episodes:
        raise UsageError("n_eval_episodes=0 leaves eval_env and eval_freq without effect")
    player: Player | None = None
    if wish.episodes and (asked or not watched):
        player = _player(model, attached, eval_env)
        if player is None and asked:
            raise UsageError(
                "eval_freq needs eval_env: the model's environment was given, not named"
            )
        if player is None:
            model.say_once(
                "no greedy evaluations: they need a second environment, and the model was given "
                "one that is made; give another, learn(eval_env=…), or a function to the model"
            )
    return Evaluations(wish, budget, player=player, start=model.num_timesteps)


def _player(model: Model, attached: Attachment, eval_env: Any) -> Player | None:
    """Plays in `eval_env`, or else in the model's environment made again, if that can be done."""
    agent, task, seed, read = model._agent, model.task, model.seed, model._read
    if eval_env is None:
        if attached.kind == "compiled":
            return CompiledPlayer(agent, _read_by(attached.env, read), seed)
        make = attached.again
        if make is not None and attached.factory:
            another = make()
            make = None if another is attached.env else (lambda: another)
        if make is None:
            return None
        return PythonPlayer(agent, make, task, seed, attached.limit, read)
    if any(eval_env is own for own in (model.env, getattr(model.env, "dm_env", None))):
        raise UsageError("eval_env is the environment that the model learns in: give another one")
    if isinstance(eval_env, str) and envs.is_compiled_task(eval_env):
        eval_env = envs.make(eval_env)
    if hasattr(eval_env, "default_episodes"):
        _check(model, eval_env.observation_space)
        return CompiledPlayer(agent, _read_by(eval_env, read), seed)
    env = playable(eval_env)
    _check(model, env.observation_space)
    return PythonPlayer(agent, lambda: env, task, seed, None, read, isinstance(eval_env, str))


def _read_by(env: Environment, read: Read) -> Environment:
    """A compiled task with observations as the model reads them."""
    return encoded(env, read(env.observation_space))


def _check(model: Predictor, space: Space[Any]) -> None:
    if not model.reads(space):
        raise UsageError(
            f"the model reads {model.observation_space}, the environment gives "
            f"{space}; evaluate on the environment it was trained for"
        )


def playable(env: Any, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """A single Gymnasium environment from whatever a model can be trained on."""
    if isinstance(env, str) and not envs.is_compiled_task(env):
        drawn: dict[str, Any] = {} if render_mode is None else {"render_mode": render_mode}
        try:
            return named.make(env, **drawn)  # not all of them take a `render_mode`
        except (gymnasium.error.Error, ModuleNotFoundError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"no environment called {env!r}: {reason}") from None
    if isinstance(env, str):
        env = envs.make(env)
    elif isinstance(env, type) or (callable(env) and not hasattr(env, "step")):
        env = env()
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
