"""Running, storing and scoring experiments. `load(root)` gives the runs of a folder as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isl.storage.store import load, load_episodes, load_evaluations

__all__ = ["load", "load_episodes", "load_evaluations"]


def __getattr__(name: str) -> Any:
    """Imported when first asked for: models need the presets in this folder, but no tables."""
    if name in __all__:
        from isl.storage import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
