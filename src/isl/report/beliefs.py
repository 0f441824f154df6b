"""What an agent believes, packed for the page: q̂, ℓ, π and visits of every state over training."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.envs import has_goal
from isl.errors import DamagedFile
from isl.report.collect import Collected, Group
from isl.storage import checkpoint, files, snapshots
from isl.storage.store import Run

MOST_RUNS = 12
MOST_BYTES = 5 << 20  # of all runs together, before they become text
MOST_FRAMES = 80
LANDMARKS = "probes.safetensors"  # as the recorder writes it, which needs JAX

Maps = Mapping[str, NDArray[Any]]
Item = dict[str, Any]


def items(found: Collected) -> list[Item]:
    """For each task and agent with snapshots the first seed that has them, largest tasks first."""
    shown: list[tuple[Group, Run, Maps, list[str]]] = []
    for group in sorted(found.groups, key=lambda g: (g.who != "isl", g.family, -(g.number or 0))):
        for run in group.finished:
            try:
                recorded = _recorded(run.path) if len(shown) < MOST_RUNS else None
            except (DamagedFile, OSError) as error:
                found.problems.append(str(error))
                continue
            if recorded is not None:
                shown.append((group, run, *recorded))
                break
    packed = []
    for group, run, maps, labels in shown:
        try:
            item = pack(
                f"{group.task}, {group.who}, seed {run.seed}",
                maps,
                kappa=run.config["hyper"].get("kappa"),
                size=group.number if has_goal(group.task) else None,
                labels=labels,
                most_bytes=MOST_BYTES // len(shown),
            )
        except (KeyError, ValueError, IndexError) as error:
            found.problems.append(f"{run.path}: its snapshots have strange content: {error!r}")
        else:
            packed.append(item)
    return packed


def _recorded(run_dir: Path) -> tuple[Maps, list[str]] | None:
    """What a run recorded over training, on its grid or at its landmarks; names of the latter."""
    if (run_dir / snapshots.FILE).is_file():
        return snapshots.read(run_dir), []
    path = run_dir / LANDMARKS
    if not path.is_file():
        return None
    arrays, meta = checkpoint.unpack(path, files.read_bytes(path, checkpoint.MAX_MODEL_BYTES))
    names = [str(name) for name in meta.get("landmarks", [])]
    return {name.strip("[]'"): values for name, values in arrays.items()}, names


def pack(
    title: str,
    maps: Maps,
    *,
    kappa: float | None,
    size: int | None = None,
    labels: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
) -> Item:
    """Maps [time, state, …] as the page reads them; of a Deep Sea of `size` the reachable cells.

    Without a size the states are named by `labels`. Agents without `ell` have no majorant.
    """
    q = np.asarray(maps["q"], np.float32)
    times, states, actions = q.shape
    cells = np.arange(states)
    if size is not None:
        if states != size**2:
            raise ValueError(f"{states} states in a Deep Sea of size {size}")
        cells = cells[cells % size <= cells // size]
    names = [name for name in ("q", "ell", "policy", "visits") if name in maps]
    bytes_per_frame = 4 * sum(maps[name][0, cells].size for name in names)
    most = max(2, min(MOST_FRAMES, most_bytes // bytes_per_frame))
    frames = np.unique(np.linspace(0, times - 1, min(times, most)).astype(int))
    item: Item = {
        "title": title,
        "kappa": kappa if "ell" in maps else None,
        "size": size,
        "states": len(cells),
        "actions": actions,
        "cells": cells.tolist(),
        "labels": list(labels) or [f"observation {state}" for state in cells.tolist()],
        "episodes": np.asarray(maps["episode"])[frames].tolist(),
        "right": np.asarray(maps["right"])[cells].tolist() if "right" in maps else None,
    }
    for name in names:
        kind = np.int32 if name == "visits" else np.float32
        values = np.asarray(maps[name])[frames][:, cells].astype(kind)
        item[name] = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return item
