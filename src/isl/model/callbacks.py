"""Callbacks of `learn`, with the events that Stable-Baselines3's have.

    on_training_start, then (on_rollout_start, on_step, on_rollout_end) again and again,
    then on_training_end

A step is a step of the environments; on compiled tasks it is a whole chunk of them, since nothing
can interrupt a compiled program. `_on_step` ends the training by returning False.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isl.errors import UsageError
from isl.storage import files

if TYPE_CHECKING:
    from isl.model.model import Model
    from isl.model.progress import Logger


class BaseCallback:
    """Derive from this and override the methods that begin with an underscore."""

    model: Model

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose
        self.n_calls = 0
        self.locals: dict[str, Any] = {}  # of the last step: "rewards", "dones", "infos" …

    @property
    def num_timesteps(self) -> int:
        """Environment steps so far."""
        return self.model.num_timesteps

    @property
    def logger(self) -> Logger:
        """What `learn` writes: `self.logger.record("my/number", 3.0)` goes into its next row."""
        return self.model.logger

    @property
    def training_env(self) -> Any:
        """The environment that the model learns in; the first one of several that it made."""
        return self.model.env

    def update_locals(self, facts: Mapping[str, Any]) -> None:
        """Called after each step, before `on_step`."""
        self.locals.update(facts)

    def init_callback(self, model: Model) -> None:
        self.model = model
        self._init_callback()

    def on_training_start(self) -> None:
        self._on_training_start()

    def on_rollout_start(self) -> None:
        self._on_rollout_start()

    def on_step(self) -> bool:
        self.n_calls += 1
        return self._on_step()

    def on_rollout_end(self) -> None:
        self._on_rollout_end()

    def on_training_end(self) -> None:
        self._on_training_end()

    def _init_callback(self) -> None: ...
    def _on_training_start(self) -> None: ...
    def _on_rollout_start(self) -> None: ...
    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None: ...
    def _on_training_end(self) -> None: ...


class CallbackList(BaseCallback):
    """Several callbacks as one; training goes on only while all agree."""

    def __init__(self, callbacks: Sequence[BaseCallback]) -> None:
        super().__init__()
        self.callbacks = list(callbacks)

    def _init_callback(self) -> None:
        for callback in self.callbacks:
            callback.init_callback(self.model)

    def update_locals(self, facts: Mapping[str, Any]) -> None:
        super().update_locals(facts)
        for callback in self.callbacks:
            callback.update_locals(facts)

    def _on_training_start(self) -> None:
        for callback in self.callbacks:
            callback.on_training_start()

    def _on_rollout_start(self) -> None:
        for callback in self.callbacks:
            callback.on_rollout_start()

    def _on_step(self) -> bool:
        answers = [callback.on_step() for callback in self.callbacks]  # all of them are asked
        return all(answers)

    def _on_rollout_end(self) -> None:
        for callback in self.callbacks:
            callback.on_rollout_end()

    def _on_training_end(self) -> None:
        for callback in self.callbacks:
            callback.on_training_end()


class _EveryCallback(BaseCallback):
    """Does something every `every` environment steps, however many an `on_step` stands for."""

    def __init__(self, every: int, name: str) -> None:
        super().__init__()
        if every < 1:
            raise UsageError(f"{name} must be at least 1, got {every}")
        self._every = every
        self._done_at = 0

    def _on_training_start(self) -> None:
        self._done_at = self.num_timesteps

    def _on_step(self) -> bool:
        if self.num_timesteps - self._done_at >= self._every:
            self._done_at += (self.num_timesteps - self._done_at) // self._every * self._every
            self._do()
        return True

    def _do(self) -> None: ...


class EvalCallback(_EveryCallback):
    """Greedy evaluation at an interval of environment steps, on the same seeds each time.

    `evaluations` holds (num_timesteps, returns).

    Args:
        eval_env: an environment, or its name.
        eval_freq: environment steps between two evaluations.
        n_eval_episodes: episodes of each evaluation.
        best_model_save_path: a folder where the model with the best mean is kept, as
            `best_model.isl`; None keeps none.
        max_steps: where to end the episodes of an environment that does not end them itself.
    """

    def __init__(
        self,
        eval_env: Any,
        eval_freq: int = 10_000,
        n_eval_episodes: int = 5,
        best_model_save_path: str | Path | None = None,
        max_steps: int | None = None,
    ) -> None:
        super().__init__(eval_freq, "eval_freq")
        self.eval_env = eval_env
        self.n_eval_episodes = n_eval_episodes
        self.best_mean_reward = -float("inf")
        self.evaluations: list[tuple[int, list[float]]] = []
        self._folder = None if best_model_save_path is None else Path(best_model_save_path)
        self._max_steps = max_steps

    def _do(self) -> None:
        from isl.model.evaluation import evaluate

        result = evaluate(self.model, self.eval_env, self.n_eval_episodes, self._max_steps)
        self.evaluations.append((self.num_timesteps, result.returns))
        logger = self.model.logger
        logger.record("eval/mean_reward", result.mean)
        logger.record("eval/mean_ep_length", sum(result.lengths) / len(result.lengths))
        logger.dump(self.num_timesteps)  # several evaluations may fall between two rows of `learn`
        if result.mean > self.best_mean_reward:
            self.best_mean_reward = result.mean
            if self._folder is not None:
                files.make_folder(self._folder)
                self.model.save(self._folder / "best_model.isl", replay=False)


class CheckpointCallback(_EveryCallback):
    """Saves the model at an interval of environment steps, as `<name_prefix>_<steps>_steps.isl`.

    Args:
        save_freq: environment steps between two files.
        save_path: the folder that they are written to.
        name_prefix: what their names begin with.
        save_replay_buffer: whether a file holds the replay, so that training can go on from it.
    """

    def __init__(
        self,
        save_freq: int,
        save_path: str | Path,
        name_prefix: str = "model",
        save_replay_buffer: bool = False,
    ) -> None:
        super().__init__(save_freq, "save_freq")
        self._folder = Path(save_path)
        self._prefix = name_prefix
        self._replay = save_replay_buffer

    def _do(self) -> None:
        files.make_folder(self._folder)
        name = f"{self._prefix}_{self.num_timesteps}_steps.isl"
        self.model.save(self._folder / name, replay=self._replay)


def evaluates(callback: BaseCallback) -> bool:
    """Whether an `EvalCallback` is among them."""
    parts = callback.callbacks if isinstance(callback, CallbackList) else []
    return isinstance(callback, EvalCallback) or any(map(evaluates, parts))
