"""What an agent believes, packed for the page: q̂, ℓ, π and visits of every state over training."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.errors import DamagedFile
from isl.experiments import snapshots
from isl.experiments.scores import has_goal
from isl.report.collect import Collected, Group

MOST_RUNS = 12
MOST_BYTES = 5 << 20  # of all runs together, before they become text
MOST_FRAMES = 80

Maps = Mapping[str, NDArray[Any]]
Item = dict[str, Any]


def items(found: Collected) -> list[Item]:
    """For each task and agent with snapshots the first seed that has them, largest tasks first."""
    shown: list[tuple[Group, int, Maps]] = []
    for group in sorted(found.groups, key=lambda g: (g.who != "isl", g.family, -(g.number or 0))):
        for run in group.finished:
            if len(shown) < MOST_RUNS and (run.path / snapshots.FILE).is_file():
                try:
                    shown.append((group, run.seed, snapshots.read(run.path)))
                except (DamagedFile, OSError) as error:
                    found.problems.append(str(error))
                    continue
                break
    packed = []
    for group, seed, maps in shown:
        run = next(run for run in group.runs if run.seed == seed)
        try:
            item = pack(
                f"{group.task}, {group.who}, seed {seed}",
                maps,
                kappa=run.config["hyper"].get("kappa"),
                size=group.number if has_goal(group.task) else None,
                most_bytes=MOST_BYTES // len(shown),
            )
        except (KeyError, ValueError, IndexError) as error:
            found.problems.append(f"{run.path / snapshots.FILE}: has strange content: {error!r}")
        else:
            packed.append(item)
    return packed


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
