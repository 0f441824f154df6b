"""What a user gives `learn` as `callback`: ours, functions, Stable-Baselines3's, lists of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isl.errors import UsageError
from isl.model.callbacks import BaseCallback, CallbackList

if TYPE_CHECKING:
    from isl.model.model import Model


class FunctionCallback(BaseCallback):
    """A function of the model; it may return False to end the training."""

    def __init__(self, function: Callable[[Model], Any]) -> None:
        super().__init__()
        self._function = function

    def _on_step(self) -> bool:
        return self._function(self.model) is not False


class _AsTheirs:
    """A model, with the methods of Stable-Baselines3's that its callbacks need beside ours."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def get_vec_normalize_env(self) -> None:
        """Models normalise by themselves."""

    def dump_logs(self) -> None:
        """Write what was recorded."""
        self._model.logger.dump(self._model.num_timesteps)


class ForeignCallback(BaseCallback):
    """A callback of Stable-Baselines3's own, known by its methods; the package is not needed."""

    def __init__(self, theirs: Any) -> None:
        super().__init__()
        self.theirs = theirs

    def update_locals(self, facts: Mapping[str, Any]) -> None:
        super().update_locals(facts)
        self.theirs.update_locals(self.locals)

    def _init_callback(self) -> None:
        self.theirs.init_callback(_AsTheirs(self.model))

    def _on_training_start(self) -> None:
        self.theirs.on_training_start(self.locals, {})

    def _on_rollout_start(self) -> None:
        self.theirs.on_rollout_start()

    def _on_step(self) -> bool:
        return bool(self.theirs.on_step())

    def _on_rollout_end(self) -> None:
        self.theirs.on_rollout_end()

    def _on_training_end(self) -> None:
        self.theirs.on_training_end()


MaybeCallback = BaseCallback | Callable[["Model"], Any] | Sequence[Any] | None


def as_callback(given: MaybeCallback) -> BaseCallback:
    """Whatever the user gave as `callback`."""
    if given is None:
        return CallbackList([])
    if isinstance(given, BaseCallback):
        return given
    if isinstance(given, type):
        name = given.__name__
        raise UsageError(f"callback {name} is a class; give an object of it, {name}(…)")
    if all(hasattr(given, name) for name in ("init_callback", "on_step", "update_locals")):
        return ForeignCallback(given)
    if callable(given):
        _check_takes_a_model(given)
        return FunctionCallback(given)
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise UsageError(
            f"{given!r} is no callback; expected a BaseCallback, a function of the model, or a "
            "list of these"
        )
    return CallbackList([as_callback(each) for each in given])


def _check_takes_a_model(function: Callable[..., Any]) -> None:
    """Stable-Baselines3 calls functions with its local and global variables."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # of some written in C
        return
    try:
        signature.bind(None)
    except TypeError:
        name = getattr(function, "__name__", repr(function))
        raise UsageError(
            f"callback {name}{signature} cannot be called; expected a function of the model alone, "
            "or a BaseCallback, which has self.locals"
        ) from None
