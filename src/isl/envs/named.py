"""Python environments by name: Gymnasium's ids, and `module:Name` for what nobody registered.

`module:Name` is first what Gymnasium reads in it: the id `Name`, which the module registers. If
there is no such id, it is the module's class or function `Name`, which makes an environment.
Modules are also found in the current folder, as a user's own agents are.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import gymnasium

from isl.errors import UsageError, closest


def make(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment of that name.

    Args:
        name: one that `check` accepts.
        options: what Gymnasium's `make`, or the module's class, takes.

    Raises:
        UsageError: if there is none, or if something else is made.
    """
    own = check(name)
    if own is None:
        return gymnasium.make(name, **options)
    try:
        made = own(**options)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # of the environment's own code
        raise UsageError(f"{name} cannot be made: {' '.join(str(error).split())}") from None
    if not isinstance(made, gymnasium.Env):
        raise UsageError(f"{name} makes {type(made).__name__}, expected a Gymnasium environment")
    return made


def check(name: str) -> Callable[..., Any] | None:
    """What a module makes the environment with; None of an id.

    Raises:
        gymnasium.error.Error: if there is no such id.
        UsageError: if there is no such module, or nothing of that name in it.
    """
    path, colon, member = name.rpartition(":")
    if not colon:
        gymnasium.spec(name)
        return None
    module = _module(path, name)
    try:
        gymnasium.spec(member)
        return None
    except gymnasium.error.Error:
        own: Callable[..., Any] | None = getattr(module, member, None)
    if callable(own):
        return own
    makes = [key for key, value in vars(module).items() if _is_environment(value)]
    close = closest(member, makes)
    hint = f"did you mean {path}:{close}?" if close else "expected an id, a class or a function"
    raise UsageError(f"module {path!r} has no environment {member!r}; {hint}")


def _module(path: str, name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last: a file of the folder never hides a package
    importlib.invalidate_caches()  # a file may have been written since the folder was last read
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"no module named {error.name!r} for task {name!r}; is its folder the current one or "
            "on PYTHONPATH, or the package installed?"
        ) from None


def _is_environment(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, gymnasium.Env)
