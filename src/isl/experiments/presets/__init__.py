"""The paper's hyper-parameter tables as data: a TOML file per task family, a section per agent."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def names() -> list[str]:
    """The presets there are; each is named after the task family it is for."""
    found = resources.files(__name__).iterdir()
    return sorted(path.name.removesuffix(".toml") for path in found if path.name.endswith(".toml"))


def load(preset: str) -> dict[str, dict[str, Any]]:
    """The sections of a preset: agent → hyper-parameter → value."""
    text = (resources.files(__name__) / f"{preset}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
