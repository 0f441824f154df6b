"""What an agent believes, packed for the page: q̂, ℓ, π and visits of every state over training."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
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


class FirstGoal(NamedTuple):
    """The first visit to the goal of a task."""

    episode: int
    name: str  # what is visited, such as a treasure


def items(found: Collected) -> list[Item]:
    """For each task and agent with snapshots the first seed that has them.

    ISL comes first, then tasks with a map, then large ones.
    """
    shown: list[tuple[Group, Run, Maps]] = []
    for group in sorted(found.groups, key=_rank):
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
            item = of_run(
                run,
                own,
                title=f"{group.task}, {group.who}, seed {run.seed}",
                episodes=found.episodes.get(run.path),
                most_bytes=MOST_BYTES // len(shown),
            )
        except (KeyError, ValueError, IndexError, TypeError) as error:
            found.problems.append(f"{run.path}: its snapshots have strange content: {error!r}")
        else:
            packed.append(item)
    return packed


def _rank(group: Group) -> tuple[Any, ...]:
    return group.who != "isl", grid_size(group.task) is None, group.family, -(group.number or 0)


def of_run(
    run: Run,
    maps: Maps,
    *,
    title: str,
    episodes: pl.DataFrame | None = None,
    most_bytes: int = MOST_BYTES,
) -> Item:
    """What a run recorded, as the page reads it.

    Args:
        run: whose it is.
        maps: what `snapshots.recorded` gave.
        title: what is shown, on the page.
        episodes: its episodes, which say when the goal was first visited; None: nobody knows.
        most_bytes: as for `pack`.
    """
    family, goal = family_of(run.task), None
    column = None if family is None else family.column(family.goal)
    if episodes is not None and column in episodes.columns:
        goal = episodes.filter(pl.col(column) > 0)["episode"].min()
    return pack(
        title,
        maps,
        kappa=run.config.get("hyper", {}).get("kappa"),
        size=grid_size(run.task),
        first_goal=FirstGoal(goal, family.goal_name) if family and isinstance(goal, int) else None,
        most_bytes=most_bytes,
    )


def grid_size(task: str) -> int | None:
    """N of a task whose states are the cells of an N × N grid, half of which can be reached."""
    family = family_of(task)
    return number_of(task) if family is not None and family.triangle else None


# Many parameters: all but the first two are optional facts that the page shows beside the maps.
def pack(
    title: str,
    maps: Maps,
    *,
    kappa: float | None,
    size: int | None = None,
    labels: Sequence[str] = (),
    first_goal: FirstGoal | None = None,
    most_bytes: int = MOST_BYTES,
) -> Item:
    """Maps [time, state, …] as the page reads them.

    Args:
        title: what is shown, on the page.
        maps: arrays by name; `q` and `episode` are needed.
        kappa: the temperature that the majorant starts with; agents without `ell` have none.
        size: N of an N × N grid (`grid_size`), of which only the reachable cells are kept.
        labels: names of the states of a task without a grid; default: the landmarks' of `maps`.
        first_goal: where the page opens; without one it opens at the end.
        most_bytes: moments are left out until the arrays are smaller than this.
    """
    names = [name for name in NAMES if name in maps]
    times, states, actions = _checked_shape(maps, names)
    cells = np.arange(states)
    if size is not None:
        if states != size**2:
            raise ValueError(f"{states} states in a grid of {size} × {size} cells")
        cells = cells[cells % size <= cells // size]
    bytes_per_frame = 4 * sum(maps[name][0, cells].size for name in names)
    most = max(2, min(MOST_FRAMES, most_bytes // bytes_per_frame))
    episodes = np.asarray(maps["episode"])
    frames = np.unique(np.linspace(0, times - 1, min(times, most)).astype(int))
    opens = times - 1
    if first_goal is not None and first_goal.episode <= episodes[-1]:
        opens = int(np.argmax(episodes >= first_goal.episode))
        frames = np.union1d(frames, [opens])
    landmarks = [str(name) for name in maps.get("landmarks", ())]
    item: Item = {
        "title": title,
        "kappa": float(kappa) if "ell" in maps and kappa else None,
        "size": size,
        "states": len(cells),
        "actions": actions,
        "cells": cells.tolist(),
        "labels": [] if size else _labels(list(labels) or landmarks, states),
        "episodes": episodes[frames].tolist(),
        "opens": int(np.searchsorted(frames, opens)),
        "first_goal": None if first_goal is None else first_goal._asdict(),
        "right": _right_actions(maps, actions)[cells].tolist() if "right" in maps else None,
    }
    for name in names:
        kind = np.int32 if name == "visits" else np.float32
        values = np.asarray(maps[name])[frames][:, cells].astype(kind)
        item[name] = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return item


def _checked_shape(maps: Maps, names: Sequence[str]) -> tuple[int, int, int]:
    """[time, state, action], which everything must agree with: the page reads what it is given."""
    times, states, actions = maps["q"].shape
    if not times * states * actions:
        raise ValueError(f"nothing was recorded: q has the shape {maps['q'].shape}")
    for name in (*names, "episode"):
        expected = {"visits": (times, states), "episode": (times,)}.get(name, maps["q"].shape)
        if maps[name].shape != expected:
            raise ValueError(f"{name} has the shape {maps[name].shape}, expected {expected}")
    return times, states, actions


def _labels(given: list[str], states: int) -> list[str]:
    if given and len(given) != states:
        raise ValueError(f"{len(given)} names of {states} observations")
    return given or [f"observation {state}" for state in range(states)]


def _right_actions(maps: Maps, actions: int) -> NDArray[Any]:
    """The action that goes right, in each state."""
    right = np.asarray(maps["right"])
    if right.shape != maps["q"].shape[1:2] or not ((right >= 0) & (right < actions)).all():
        raise ValueError("right names no action of each state")
    return right
