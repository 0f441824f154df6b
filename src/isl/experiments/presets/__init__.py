"""Hyper-parameters as data: a TOML file per preset, a section per agent.

The paper's tables are named after their task families; `auto` is for everything else.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from isl.errors import UsageError

ELSEWHERE = "auto"


def names() -> list[str]:
    """The presets there are."""
    found = resources.files(__name__).iterdir()
    return sorted(path.name.removesuffix(".toml") for path in found if path.name.endswith(".toml"))


def load(preset: str) -> dict[str, dict[str, Any]]:
    """The sections of a preset: agent → hyper-parameter → value."""
    text = (resources.files(__name__) / f"{preset}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def values(preset: str | None, task: str, agent: str) -> dict[str, Any]:
    """What a preset sets for an agent; None is the task family's own, or `auto`."""
    family = task.partition("/")[0]
    if preset is None:
        return load(family if family in names() else ELSEWHERE).get(agent, {})
    if preset not in names():
        raise UsageError(f"unknown preset {preset!r}; known: {', '.join(names())}")
    sections = load(preset)
    if agent not in sections:
        has = ", ".join(sections)
        raise UsageError(f"preset {preset!r} has nothing for agent {agent!r}; it has {has}")
    return sections[agent]
