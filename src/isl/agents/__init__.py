"""The agents by name. A new one is a file here and a line of `AGENTS`, or a module of your own.

An agent's module offers `Config` and `make` (isl.agents.base). What the rest of the project knows
of an agent is written here and needs no JAX.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import NamedTuple

from isl.errors import UsageError, closest


class Entry(NamedTuple):
    """A built-in agent."""

    module: str
    label: str  # in figures, tables and prose
    about: str  # one line for `isl list`
    style: int  # its place in the palette (isl.report.palette): alike in every figure
    variant_of: str = ""  # the agent whose presets it takes where it has none


AGENTS = {
    "isl": Entry("isl.agents.isl", "ISL", "the paper's Information Seeking Learner", 0),
    "seeker": Entry("isl.agents.seeker", "Seeker", "ISL for environments that nobody tuned", 5),
    "isl_tables": Entry("isl.agents.isl_tables", "ISL, tables", "ISL without networks", 6, "isl"),
    "isl_authors": Entry(
        "isl.agents.isl_authors", "ISL, authors' code", "ISL as the authors' code has it", 7, "isl"
    ),
    "boot_dqn": Entry(
        "isl.agents.boot_dqn", "BSP", "bootstrapped DQN with randomised prior functions", 1
    ),
    "ube": Entry("isl.agents.ube", "UBE", "the Uncertainty Bellman Equation", 2),
    "sbeed": Entry("isl.agents.sbeed", "SBEED", "the smoothed Bellman equation", 3),
    "dqn": Entry("isl.agents.dqn", "DQN (control)", "ε-greedy: no deep exploration", 4),
    "stable_dqn": Entry(
        "isl.agents.stable_dqn", "Stable DQN", "ε-greedy, with the value learning of Seeker", 8
    ),
}


def label(agent: str) -> str:
    """What an agent is called in figures and tables; a user's own by its dotted path."""
    return AGENTS[agent].label if agent in AGENTS else agent


def _is_module(name: str) -> bool:
    importlib.invalidate_caches()  # a file may have been written since the folder was last read
    return name.isidentifier() and importlib.util.find_spec(name) is not None


def load(name: str) -> ModuleType:
    """The module of a built-in agent, or of the user's own: `my_agent`, `my_pkg.my_agent`."""
    path = AGENTS[name].module if name in AGENTS else name
    if name not in AGENTS and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last: a file of the folder never hides a package
    if name not in AGENTS and "." not in name and not _is_module(name):
        close = closest(name, AGENTS)
        hint = f"did you mean {close}?" if close else f"known: {', '.join(AGENTS)}"
        raise UsageError(f"unknown agent {name!r}; {hint} (or a module of your own: {name}.py)")
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
        lacks = " and no ".join(missing)
        raise UsageError(f"agent module {name!r} has no {lacks} (see isl.agents.base)")
    return module
