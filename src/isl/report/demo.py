"""One picture of runs of a task with a goal: when it was reached, and what the agent believed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from isl.envs.registry import family_of
from isl.errors import UsageError
from isl.report import canvas
from isl.report.beliefs import Maps, grid_size
from isl.storage import files, run_folder, snapshots, store
from isl.storage.store import Run


def draw_demo(root: Path, picture: Path) -> list[Run]:
    """Draw the finished runs of the first task with a goal; the runs, by seed.

    Beside the visits to the goal, the first run with maps of a grid (`--snapshots`) shows its
    visits, ℓ at a third of training, ℓ and q̂ at its end.
    """
    runs = [run for run in store.scan(root) if run.summary is not None and _goal(run.task)]
    if not runs:
        raise UsageError(f"{root} holds no finished run of a task with a goal, such as deep_sea/20")
    runs = sorted((run for run in runs if run.task == runs[0].task), key=lambda run: run.seed)
    task, size = runs[0].task, grid_size(runs[0].task)
    looked_into = [
        (run.seed, maps) for run in runs if size and (maps := snapshots.recorded(run.path))
    ][:1]
    with canvas.drawing():
        figure = canvas.figure(17 if looked_into else 5, 3.6, layout="constrained")
        first, *others = figure.subplots(1, 5 if looked_into else 1, squeeze=False)[0]
        for run in runs:
            episodes = run_folder.read_episodes(run.path)
            visits = episodes[_goal(task) or "goal_visits"]
            first.step(episodes["episode"], visits, label=f"seed {run.seed}")
        first.axhline(10, color="grey", lw=0.8, ls="--")
        first.set(title=f"{task}: visits to the goal", xlabel="episode", ylabel="visits")
        first.legend(fontsize=8)
        for seed, maps in looked_into:
            _draw_maps(figure, others, maps, seed)
        files.write_bytes(picture, canvas.saved(figure, picture.suffix.removeprefix("."), dpi=120))
    return runs


def _goal(task: str) -> str | None:
    """The column that counts the visits to a task's goal."""
    family = family_of(task)
    return None if family is None else family.column(family.goal)


def _draw_maps(figure: Any, panels: list[Any], maps: Maps, seed: int) -> None:
    size = math.isqrt(maps["q"].shape[1])
    unreachable = np.triu(np.ones((size, size), bool), 1)
    episode, early = maps["episode"], len(maps["episode"]) // 3
    visits = np.log10(1 + maps["visits"][-1])
    drawn = [(f"visits, seed {seed}", visits, "magma", "log₁₀(1 + visits)")]
    for name, symbol, time, colours in (
        ("ell", "ℓ", early, "viridis"),
        ("ell", "ℓ", -1, "viridis"),
        ("q", "q̂", -1, "cividis"),
    ):
        if name in maps:
            title = f"largest {symbol}, episode {episode[time]}"
            drawn.append((title, maps[name][time].max(-1), colours, symbol))
    for axes in panels[len(drawn) :]:
        axes.set_axis_off()
    for axes, (title, values, colours, label) in zip(panels, drawn, strict=False):
        grid = np.ma.masked_array(values.reshape(size, size), unreachable)
        shown = axes.imshow(grid, cmap=colours)
        axes.set(title=title, xticks=[], yticks=[])
        figure.colorbar(shown, ax=axes, fraction=0.046, label=label)
