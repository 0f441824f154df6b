"""Compiled programs are kept between processes: compiling is most of what a first step costs.

JAX keeps them in the user's cache folder. What the user told JAX counts more: another folder
(`JAX_COMPILATION_CACHE_DIR`; an empty name is none), or `JAX_ENABLE_COMPILATION_CACHE=false`. Where
the folder cannot be written to, nothing is kept.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER_VARIABLE = "JAX_COMPILATION_CACHE_DIR"
SECONDS_VARIABLE = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
SHORTEST = 0.05  # seconds of compilation that are worth a file


def variables() -> dict[str, str]:
    """What JAX is to be told in the environment, before it is imported."""
    if FOLDER_VARIABLE in os.environ:
        return {}
    folder = _folder()
    if folder is None:
        return {}
    return {FOLDER_VARIABLE: str(folder), SECONDS_VARIABLE: str(_shortest())}


def keep_programs() -> None:
    """The same for this process, in which JAX may be at work already."""
    import jax

    told = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if FOLDER_VARIABLE in os.environ or told is not None:
        return
    folder = _folder()
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _shortest())


def _shortest() -> float:
    return float(os.environ.get(SECONDS_VARIABLE, SHORTEST))


def _folder() -> Path | None:
    """A folder of the user's that can be written to: nobody else's programs are run from it."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(base) / "isl" / "xla"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a home that is read-only, or none
        return None
    return folder if os.access(folder, os.W_OK) else None
