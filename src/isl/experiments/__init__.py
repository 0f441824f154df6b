"""Running, storing and scoring experiments. `load(root)` gives the runs of a folder as a table."""

from isl.storage.store import load, load_episodes

__all__ = ["load", "load_episodes"]
