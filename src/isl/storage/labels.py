"""Short names that tell configurations apart: only what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isl.storage import files


def differences(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each config what sets it apart from the others of its task and agent: `kappa=13`."""
    flat = [_settings(config) for config in configs]
    kinds = [(config["task"], config["agent"]) for config in configs]
    labels = []
    for kind, settings in zip(kinds, flat, strict=True):
        alike = [other for other_kind, other in zip(kinds, flat, strict=True) if other_kind == kind]
        varied = [name for name in settings if any(o.get(name) != settings[name] for o in alike)]
        labels.append(" ".join(f"{name}={settings[name]}" for name in varied))
    return labels


def _settings(config: Mapping[str, Any]) -> dict[str, str]:
    rest = {name: value for name, value in config.items() if name not in ("task", "agent", "hyper")}
    everything = {**config.get("hyper", {}), **rest}
    return {name: files.canonical_json(value).decode() for name, value in everything.items()}
