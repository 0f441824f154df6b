"""What an agent believed over training, in one sealed file beside the results of its run.

    snapshots.safetensors   maps over the states of a table-like task: episode [time],
                            visits [time, state], q, ell, policy [time, state, action];
                            constants of the task, such as `right` [state] of a Deep Sea
    probes.safetensors      the same at a few landmarks: episode, q, ell, policy

Written with --snapshots; like logs, outside the manifest, so each file is sealed by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.errors import DamagedFile
from isl.storage import checkpoint, files

FILE = "snapshots.safetensors"
PROBES = "probes.safetensors"
FILES = (FILE, PROBES)
MAPS = ("visits", "q", "ell", "policy")  # those that an agent lacks are left out

Beliefs = dict[str, NDArray[Any]]


def write(run_dir: Path, maps: Beliefs) -> None:
    checkpoint.save_file(run_dir / FILE, maps, {"kind": "snapshots"})


def write_probes(run_dir: Path, landmarks: list[str], beliefs: Beliefs) -> None:
    checkpoint.save_file(run_dir / PROBES, beliefs, {"kind": "probes", "landmarks": landmarks})


def discard(run_dir: Path) -> None:
    """Delete what a run recorded, so that doing it again records it anew."""
    for name in FILES:
        files.remove(run_dir / name)


def read(run_dir: Path) -> Beliefs:
    """The maps of a run by name, each with a leading axis of time; constants have none."""
    return _read(run_dir / FILE, "snapshots")[0]


def read_probes(run_dir: Path) -> tuple[list[str], Beliefs]:
    """The names of the landmarks, and the beliefs by name."""
    beliefs, meta = _read(run_dir / PROBES, "probes")
    return meta["landmarks"], beliefs


def recorded(run_dir: Path) -> Beliefs | None:
    """What a run recorded over training, by name; None if nothing.

    Of states on a grid, or of landmarks, whose names are then in `landmarks`.
    """
    if (run_dir / FILE).is_file():
        return read(run_dir)
    if not (run_dir / PROBES).is_file():
        return None
    names, beliefs = read_probes(run_dir)
    return beliefs | {"landmarks": np.array([str(name) for name in names])}


def _read(path: Path, kind: str) -> tuple[Beliefs, dict[str, Any]]:
    arrays, meta = checkpoint.unpack(path, files.read_bytes(path, checkpoint.MAX_MODEL_BYTES))
    if meta.get("kind") != kind:
        raise DamagedFile(path, f"holds no {kind}")
    return {name.strip("[]'"): values for name, values in arrays.items()}, meta
