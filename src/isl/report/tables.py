"""The report's tables, as plain cells: for the page and for CSV files."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Any

from isl.agents import aliases
from isl.analysis.scores import episodes_to_solve, quantile
from isl.envs.registry import has_goal
from isl.report.collect import Collected, Group
from isl.status import Status

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A heading, column names and rows. Numbers stay numbers, so that they sort as such."""

    id: str
    title: str
    columns: list[str]
    rows: list[list[Cell]]
    note: str = ""

    def csv(self) -> str:
        """With an apostrophe before text that a spreadsheet would take for a formula."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_harmless(cell) for cell in row] for row in self.rows)
        return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell


def configurations(found: Collected) -> Table:
    """A row per configuration: how its seeds stand, and the paper's measures."""
    statuses = [s.value for s in Status if any(_has(group, s) for group in found.groups)]
    columns = ["task", "agent", "seeds", *statuses, "solved", "median episodes"]
    columns += ["quartile 1", "quartile 3", "median best return", "configuration"]
    rows: list[list[Cell]] = []
    for group in found.groups:
        counts = Counter(run.status.value for run in group.runs)
        summaries = _summaries(group)
        took = episodes_to_solve(s["solved_episode"] for s in summaries)
        best = [s["best_return"] for s in summaries if s["best_return"] is not None]
        goal = has_goal(group.task)
        rows.append(
            [
                group.task,
                group.who,
                len(group.runs),
                *(counts[status] for status in statuses),
                sum(map(math.isfinite, took)) if goal and took else None,
                *_quartiles(took if goal else []),
                _digits(quantile(best, 0.5)) if best else None,
                group.config_hash,
            ]
        )
    note = "A run that ended unsolved took longer than its budget: its episodes count as infinite."
    return Table("configurations", "Configurations", columns, rows, note)


def _has(group: Group, status: Status) -> bool:
    return any(run.status is status for run in group.runs)


def _summaries(group: Group) -> list[dict[str, Any]]:
    return [run.summary for run in group.runs if run.summary is not None]


def _quartiles(values: list[float]) -> list[Cell]:
    if not values:
        return [None, None, None]
    return [_digits(quantile(values, q)) for q in (0.5, 0.25, 0.75)]


def _digits(value: float) -> Cell:
    if not math.isfinite(value):
        return "∞"
    return int(value) if value == int(value) else float(f"{value:.5g}")


def runs(found: Collected) -> Table:
    """A row per run."""
    names = ["episodes", "steps", "best_return", "goal_visits", "solved_episode", "wall_seconds"]
    names += ["env_steps_per_second", "updates_per_second"]
    rows: list[list[Cell]] = []
    for group in found.groups:
        for run in group.runs:
            summary = run.summary or {}
            values = [summary.get(name) for name in names]
            cells: list[Cell] = [None if v is None else _digits(float(v)) for v in values]
            where = str(run.path.relative_to(found.root))
            rows.append([group.task, group.who, run.seed, run.status.value, *cells, where])
    shown = [name.replace("_", " ") for name in names]
    return Table("runs", "Runs", ["task", "agent", "seed", "status", *shown, "folder"], rows)


def commands(found: Collected) -> Table:
    """For each configuration a command that makes its runs again, every setting spelled out."""
    rows: list[list[Cell]] = [
        [group.task, group.who, group.config_hash, command(group)] for group in found.groups
    ]
    note = "Every hyper-parameter is given, so that a later change of defaults changes nothing."
    return Table("commands", "Commands", ["task", "agent", "configuration", "command"], rows, note)


def command(group: Group) -> str:
    """`isl train …` for all seeds of a group, from the first to the last."""
    config, seeds = group.runs[0].config, [run.seed for run in group.runs]
    agent, hyper = aliases.meant(config["agent"], config.get("hyper", {}))
    words = ["isl", "train", config["task"], "--agent", agent]
    words += ["--first-seed", str(seeds[0]), "--seeds", str(seeds[-1] - seeds[0] + 1)]
    settings = {name: x for name, x in config.items() if name not in ("task", "agent", "hyper")}
    for name, value in (settings | hyper).items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            negative = [] if name in settings else ["--no" + flag[1:]]
            words += [flag] if value else negative
        elif isinstance(value, list):
            words += [flag, *map(str, value)]
        elif value is not None:
            words += [flag, str(value)]
    return shlex.join(words)


def provenance(found: Collected) -> Table:
    """What the runs were computed with: every value that occurs, and in how many runs."""
    values: Counter[tuple[str, str]] = Counter()
    for group in found.groups:
        for run in group.runs:
            seen = {(name, _text(x)) for here in run.provenance for name, x in here.items()}
            values.update(seen)
    rows: list[list[Cell]] = [[name, value, count] for (name, value), count in values.items()]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return Table("provenance", "Versions and hardware", ["what", "value", "runs"], rows)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{name}={x}" for name, x in sorted(value.items())) or "–"
    return str(value)
