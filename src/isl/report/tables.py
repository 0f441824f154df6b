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
from isl.errors import UsageError
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
    greedy = _greedy(found)
    columns = ["task", "agent", "seeds", "not done", "solved", "episodes", "1st quartile"]
    columns += ["3rd quartile", "best return", *greedy.values(), "configuration"]
    rows: list[list[Cell]] = []
    for group in found.groups:
        counts = Counter(run.status.value for run in group.runs)
        took = episodes_to_solve(s["solved_episode"] for s in _summaries(group))
        goal = has_goal(group.task)
        rows.append(
            [
                group.task,
                group.who,
                len(group.runs),
                ", ".join(f"{n} {s}" for s, n in counts.items() if s != Status.DONE.value),
                sum(map(math.isfinite, took)) if goal and took else None,
                *_quartiles(took if goal else []),
                *(_median(_known(group, name)) for name in ("best_return", *greedy)),
                group.config_hash,
            ]
        )
    note = "Returns are medians over seeds."
    if any(has_goal(group.task) for group in found.groups):
        note = (
            "Episodes to the tenth visit to the goal and returns are medians over seeds. A run "
            "that ended unsolved took longer than its budget: it counts as infinite (∞)."
        )
    return Table("configurations", "Configurations", columns, rows, note)


def _greedy(found: Collected) -> dict[str, str]:
    """What evaluations gave, by its name in summaries, with how it is headed; {} without any."""
    return {n: head for n, head in GREEDY.items() if any(_known(g, n) for g in found.groups)}


def _summaries(group: Group) -> list[dict[str, Any]]:
    return [run.summary for run in group.runs if run.summary is not None]


def _known(group: Group, name: str) -> list[float]:
    """What the summaries of a group's runs say, where they do."""
    return [float(s[name]) for s in _summaries(group) if s.get(name) is not None]


def _median(values: list[float]) -> Cell:
    return _digits(quantile(values, 0.5)) if values else None


def _quartiles(values: list[float]) -> list[Cell]:
    if not values:
        return [None, None, None]
    return [_digits(quantile(values, q)) for q in (0.5, 0.25, 0.75)]


def _digits(value: float, digits: int = 4) -> Cell:
    """Rounded to `digits` digits, but all of a whole number; what is not a number is left out."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) or abs(value) >= 10 ** (digits - 1):
        return round(value)
    return float(f"{value:.{digits}g}")


GREEDY = {  # of runs that were evaluated, with how it is headed
    "greedy_return": "greedy return, last",
    "best_greedy_return": "greedy return, best",
}
RUN_COLUMNS = {  # of a summary, with how it is headed
    "episodes": "episodes",
    "steps": "steps",
    "best_return": "best return",
    "goal_visits": "goal visits",
    "solved_episode": "solved at episode",
    "wall_seconds": "seconds",
    "env_steps_per_second": "steps/s",
    "updates_per_second": "updates/s",
}
_MEASURED = ("wall_seconds", "env_steps_per_second", "updates_per_second")  # no two runs agree


def runs(found: Collected) -> Table:
    """A row per run."""
    rows: list[list[Cell]] = []
    shown = RUN_COLUMNS | _greedy(found)
    for group in found.groups:
        for run in group.runs:
            values = {name: (run.summary or {}).get(name) for name in shown}
            cells: list[Cell] = [
                None if v is None else _digits(float(v), 3 if name in _MEASURED else 4)
                for name, v in values.items()
            ]
            who: list[Cell] = [group.task, group.who, run.seed, run.status.value]
            rows.append(who + cells + [group.config_hash])
    columns = ["task", "agent", "seed", "status", *shown.values(), "configuration"]
    note = (
        "An empty cell: not there (yet), such as an unsolved run's episode. The folder of a run is "
        "task/agent/configuration/seed-number."
    )
    return Table("runs", "Runs", columns, rows, note)


def commands(found: Collected) -> Table:
    """For each configuration a command that makes its runs again, every setting spelled out."""
    rows: list[list[Cell]] = [
        [group.task, group.who, group.config_hash, _command_or_why(group)] for group in found.groups
    ]
    note = "Every hyper-parameter is given, so that a later change of defaults changes nothing."
    return Table("commands", "Commands", ["task", "agent", "configuration", "command"], rows, note)


def _command_or_why(group: Group) -> str:
    try:
        return command(group)
    except UsageError as error:  # a run of 0.1 with options that no agent has any more
        return f"no command of this version: {error}"


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
