"""What an agent believes, packed for the page: q̂, ℓ, π and visits of every state over training."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.envs.registry import family_of, number_of
from isl.errors import DamagedFile
from isl.report.collect import Collected, Group
from isl.storage import snapshots
from isl.storage.store import Run

MOST_RUNS = 12
MOST_BYTES = 5 << 20  # of all runs together, before they become text
MOST_FRAMES = 80
NAMES = ("q", "ell", "policy", "visits")  # the ones an agent lacks are left out

Maps = Mapping[str, NDArray[Any]]
Item = dict[str, Any]


def items(found: Collected) -> list[Item]:
    """For each task and agent with snapshots the first seed that has them, largest tasks first."""
    shown: list[tuple[Group, Run, Maps]] = []
    for group in sorted(found.groups, key=lambda g: (g.who != "isl", g.family, -(g.number or 0))):
        for run in group.finished:
            try:
                maps = snapshots.recorded(run.path) if len(shown) < MOST_RUNS else None
            except (DamagedFile, OSError) as error:
                found.problems.append(str(error))
                continue
            if maps is not None:
                shown.append((group, run, maps))
                break
    packed = []
    for group, run, own in shown:
        try:
            item = pack(
                f"{group.task}, {group.who}, seed {run.seed}",
                own,
                kappa=run.config["hyper"].get("kappa"),
                size=grid_size(group.task),
                most_bytes=MOST_BYTES // len(shown),
            )
        except (KeyError, ValueError, IndexError) as error:
            found.problems.append(f"{run.path}: its snapshots have strange content: {error!r}")
        else:
            packed.append(item)
    return packed


def grid_size(task: str) -> int | None:
    """N of a task whose states are the cells of an N × N grid, half of which can be reached."""
    family = family_of(task)
    return number_of(task) if family is not None and family.triangle else None


def pack(
    title: str,
    maps: Maps,
    *,
    kappa: float | None,
    size: int | None = None,
    labels: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
) -> Item:
    """Maps [time, state, …] as the page reads them.

    Args:
        title: what is shown, on the page.
        maps: arrays by name; `q` and `episode` are needed.
        kappa: the temperature that the majorant starts with; agents without `ell` have none.
        size: N of an N × N grid (`grid_size`), of which only the reachable cells are kept.
        labels: names of the states of a task without a grid; default: the landmarks' of `maps`.
        most_bytes: moments are left out until the arrays are smaller than this.
    """
    q = np.asarray(maps["q"], np.float32)
    times, states, actions = q.shape
    cells = np.arange(states)
    if size is not None:
        if states != size**2:
            raise ValueError(f"{states} states in a grid of {size} × {size} cells")
        cells = cells[cells % size <= cells // size]
    names = [name for name in NAMES if name in maps]
    bytes_per_frame = 4 * sum(maps[name][0, cells].size for name in names)
    most = max(2, min(MOST_FRAMES, most_bytes // bytes_per_frame))
    frames = np.unique(np.linspace(0, times - 1, min(times, most)).astype(int))
    landmarks = [str(name) for name in maps.get("landmarks", ())]
    item: Item = {
        "title": title,
        "kappa": kappa if "ell" in maps else None,
        "size": size,
        "states": len(cells),
        "actions": actions,
        "cells": cells.tolist(),
        "labels": list(labels) or landmarks or [f"observation {state}" for state in cells.tolist()],
        "episodes": np.asarray(maps["episode"])[frames].tolist(),
        "right": np.asarray(maps["right"])[cells].tolist() if "right" in maps else None,
    }
    for name in names:
        kind = np.int32 if name == "visits" else np.float32
        values = np.asarray(maps[name])[frames][:, cells].astype(kind)
        item[name] = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return item
