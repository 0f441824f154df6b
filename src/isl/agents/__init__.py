"""The agents. One file each; a new one is a file here and a line below, or a module of your own.

An agent's module offers `Config` and `make` (see isl.agents.base).
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from types import ModuleType

from isl.errors import UsageError

AGENTS = {
    "isl": "isl.agents.isl",
    "boot_dqn": "isl.agents.boot_dqn",
    "ube": "isl.agents.ube",
    "sbeed": "isl.agents.sbeed",
    "dqn": "isl.agents.dqn",
}


def load(name: str) -> ModuleType:
    """The module of a built-in agent, or of the user's own by its dotted path."""
    path = AGENTS.get(name, name)
    if name not in AGENTS and "." not in name:
        close = difflib.get_close_matches(name, AGENTS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(AGENTS)}"
        raise UsageError(f"unknown agent {name!r}; {hint} (or give the dotted path of your own)")
    if name not in AGENTS and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last: a file of the folder never hides a package
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and (path == error.name or path.startswith(error.name + ".")):
            raise UsageError(
                f"no module named {error.name!r} for agent {name!r}; "
                "is its folder on PYTHONPATH or the package installed?"
            ) from None
        raise
    missing = [part for part in ("Config", "make") if not hasattr(module, part)]
    if missing:
        raise UsageError(
            f"agent module {name!r} has no {' and no '.join(missing)} (see isl.agents.base)"
        )
    return module
