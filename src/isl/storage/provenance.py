"""Where a result comes from: code, versions, flags and machine. Recorded, never hashed."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from isl.version import __version__

_PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "gymnasium", "polars")


@functools.cache
def _git(*arguments: str) -> str | None:
    """Output of git in the folder of this package, or None outside a checkout."""
    command = ["git", "-C", str(Path(__file__).parents[1]), *arguments]
    # No optional locks: asking must not disturb a git command that the user runs meanwhile.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _git_state() -> dict[str, Any]:
    # An installed copy may lie inside somebody else's repository, which does not track it.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return {"git_sha": None, "git_dirty": None}
    changes = _git("status", "--porcelain", "--", ".")
    return {
        "git_sha": _git("rev-parse", "HEAD"),
        "git_dirty": None if changes is None else changes != "",
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def provenance() -> dict[str, Any]:
    """Everything outside the config that could explain a difference between two results."""
    settings = {
        name: value
        for name, value in os.environ.items()
        # Where programs are cached changes no result, and would name the user's home.
        if name.startswith("JAX_") and not name.endswith("_CACHE_DIR")
    }
    return {
        "isl": __version__,
        **_git_state(),
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "xla_flags": os.environ.get("XLA_FLAGS"),
        "jax_environment": settings,
    }
