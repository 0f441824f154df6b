"""Hyper-parameters as data: a TOML file per preset, a section per agent.

A preset is one of ours, by its name, or a file of the user's own, such as `isl tune` writes.

The paper's tables are named after their task families. Elsewhere an agent of the paper takes the
table of the same kind of observation; `seeker` has no presets, its defaults serve everywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from gymnasium.spaces import Discrete, Space

from isl import agents, envs
from isl.errors import UsageError

FILE = ".toml"


def names() -> list[str]:
    """The presets there are."""
    found = resources.files(__name__).iterdir()
    return sorted(path.name.removesuffix(".toml") for path in found if path.name.endswith(".toml"))


def load(preset: str) -> dict[str, dict[str, Any]]:
    """The sections of a preset: agent → hyper-parameter → value."""
    text = (resources.files(__name__) / f"{preset}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def section(preset: str, agent: str) -> dict[str, Any] | None:
    """What a preset sets for an agent; a variant of ISL without a section takes ISL's."""
    return _of(load(preset), agent)


def _of(sections: Mapping[str, dict[str, Any]], agent: str) -> dict[str, Any] | None:
    entry = agents.AGENTS.get(agent)
    return sections.get(agent, sections.get(entry.variant_of) if entry else None)


def read_file(path: Path) -> dict[str, dict[str, Any]]:
    """The sections of a preset that is a file of the user's own."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UsageError(f"cannot read the preset {path}: {reason}") from None
    for name, value in content.items():
        if not isinstance(value, dict):
            raise UsageError(
                f"{path}: expected sections named after agents, such as [seeker]; got {name!r}"
            )
    return content


def default(task: str, space: Space[Any]) -> str:
    """The preset of a task: its own, or that of the paper's task with such observations."""
    family = envs.family_of(task)
    if family is not None and family.preset is not None:
        return family.preset
    return "deep_sea" if isinstance(space, Discrete) else "cartpole_swingup"


def values(preset: str | Path | None, task: str, agent: str, space: Space[Any]) -> dict[str, Any]:
    """What a preset sets for an agent; None is the task's default."""
    if preset is None:
        return section(default(task, space), agent) or {}
    preset = str(preset)
    if preset.endswith(FILE):
        sections = read_file(Path(preset))
        found = _of(sections, agent)
    elif preset in names():
        sections, found = load(preset), section(preset, agent)
    else:
        known = ", ".join(names())
        raise UsageError(f"unknown preset {preset!r}; known: {known}, or a file that ends in .toml")
    if found is None:
        has = ", ".join(sections)
        raise UsageError(f"preset {preset!r} has nothing for agent {agent!r}; it has {has}")
    return found


def note(task: str, agent: str, space: Space[Any]) -> str:
    """A line for who takes ISL beyond the paper's tasks; "" otherwise."""
    family = envs.family_of(task)
    if agent != "isl" or (family is not None and family.preset is not None):
        return ""
    return (
        f"ISL takes the paper's preset {default(task, space)} here; "
        "Seeker is the agent for environments that nobody tuned"
    )
