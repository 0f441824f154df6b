"""One picture of runs of a task with a goal: when it was reached, and what the agent believed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from isl.agents import label
from isl.envs.registry import family_of, number_of
from isl.errors import UsageError
from isl.report import canvas
from isl.report.beliefs import Maps, grid_size
from isl.report.palette import COLOURS
from isl.storage import files, run_folder, snapshots, store
from isl.storage.store import Run

SOLVED = 10  # visits to the goal


def draw_demo(root: Path, picture: Path) -> list[Run]:
    """Draw the finished runs of the first task with a goal; the runs, by seed.

    Beside the visits to the goal, the first run with maps of a grid (`--snapshots`) shows its
    uncertainty ℓ early, halfway to the goal and when it was first reached, on one scale; and q̂ at
    its end. Of an agent without ℓ there are the visits instead.
    """
    runs = [run for run in store.scan(root) if run.summary is not None and _goal(run.task)]
    if not runs:
        raise UsageError(f"{root} holds no finished run of a task with a goal, such as deep_sea/20")
    runs = sorted((run for run in runs if run.task == runs[0].task), key=lambda run: run.seed)
    task, size = runs[0].task, grid_size(runs[0].task)
    looked_into = [(run, maps) for run in runs if size and (maps := snapshots.recorded(run.path))][
        :1
    ]
    with canvas.drawing(**{"axes.titlelocation": "left", "axes.titlesize": 11}):
        figure = canvas.figure(17 if looked_into else 5.4, 4.4, layout="constrained")
        widths = [1.25, 1, 1, 1, 1] if looked_into else [1]
        panels = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
        reached = _draw_visits(panels[0], runs)
        for run, maps in looked_into:
            _draw_maps(figure, panels[1:], run, maps, reached[run.seed])
        agent = label(runs[0].agent).partition(" (")[0]
        figure.suptitle(
            f"{agent} on {_title(task)}", fontsize=14, fontweight="bold", x=0.01, ha="left"
        )
        files.write_bytes(picture, canvas.saved(figure, picture.suffix.removeprefix("."), dpi=120))
    return runs


def _title(task: str) -> str:
    """`Deep Sea 20`"""
    family, number = family_of(task), number_of(task)
    return task if family is None else f"{family.title} {number or ''}".strip()


def _goal(task: str) -> str | None:
    """The column that counts the visits to a task's goal."""
    family = family_of(task)
    return None if family is None else family.column(family.goal)


def _goal_name(task: str) -> str:
    family = family_of(task)
    return "goal" if family is None else family.goal_name


def _draw_visits(axes: Any, runs: list[Run]) -> dict[int, int | None]:
    """The visits to the goal of each seed, which is named at its line; when it was first there."""
    first: dict[int, int | None] = {}
    solved = sum((run.summary or {})["solved_episode"] is not None for run in runs)
    for place, run in enumerate(runs):
        episodes = run_folder.read_episodes(run.path)
        number, visits = episodes["episode"], episodes[_goal(run.task) or "goal_visits"]
        colour = COLOURS[place % len(COLOURS)]
        axes.step(number, visits, color=colour, where="post", label=f"seed {run.seed}")
        there = number.filter(visits > 0)
        first[run.seed] = int(there[0]) if len(there) else None
    axes.axhline(SOLVED, color="grey", lw=0.8, ls="--")
    axes.legend(fontsize=8, loc="center left")
    found = f"{solved} of {len(runs)} seeds" if solved < len(runs) else f"All {len(runs)} seeds"
    axes.set_title(f"{found} found the {_goal_name(runs[0].task)}\n{SOLVED} times")
    axes.set(xlabel="episode", ylabel=f"visits to the {_goal_name(runs[0].task)}")
    return first


def _draw_maps(figure: Any, panels: Any, run: Run, maps: Maps, reached: int | None) -> None:
    """Three moments of what drives the agent, on one scale, and what it learned."""
    episodes = np.asarray(maps["episode"])
    last = len(episodes) - 1
    found = last if reached is None else min(int(np.searchsorted(episodes, reached)), last)
    goal = _goal_name(run.task)
    end = f"It reaches the {goal}" if reached is not None else f"It has not reached the {goal}"
    if "ell" in maps:
        values, scale = maps["ell"].max(-1), "largest ℓ of the cell"
        stories = (f"Seed {run.seed} is unsure at first", "It goes where it is unsure", end)
    else:
        values, scale = np.log10(1 + maps["visits"]), "log₁₀(1 + visits)"
        stories = (f"Where seed {run.seed} begins", "Where it goes", end)
    times = (0, found // 2, found)
    shown = [_grid(values[time]) for time in times]
    low, high = min(grid.min() for grid in shown), max(grid.max() for grid in shown)
    for axes, story, time, grid in zip(panels, stories, times, shown, strict=False):
        drawn = axes.imshow(grid, cmap="viridis", vmin=low, vmax=high)
        axes.set_title(f"{story}\nepisode {episodes[time]}")
    figure.colorbar(drawn, ax=list(panels[:3]), location="bottom", aspect=80, pad=0.02, label=scale)
    drawn = panels[3].imshow(_grid(maps["q"][-1].max(-1)), cmap="cividis")
    panels[3].set_title(f"It learns what the way is worth\nepisode {episodes[-1]}")
    figure.colorbar(drawn, ax=panels[3], location="bottom", aspect=26, pad=0.02, label="largest q̂")
    for axes in panels:
        axes.set(xticks=[], yticks=[])
        axes.spines[["left", "bottom"]].set_visible(False)


def _grid(values: Any) -> Any:
    """The cells of a square grid, those above the diagonal hidden."""
    size = math.isqrt(len(values))
    hidden = np.triu(np.ones((size, size), bool), 1)
    return np.ma.masked_array(np.asarray(values).reshape(size, size), hidden)
