"""What a search found: a page, and the best setting as a preset for `--preset FILE`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isl.storage import files
from isl.tuning.search import WORST, Search
from isl.tuning.study import Trial, best, importances

PRESET, REPORT = "best.toml", "report.md"
SHOWN = 10  # trials of the table
FEWEST = 8  # trials from which on importances say something


def write_results(
    search: Search, trials: Sequence[Trial], folder: Path, agent: str, command: str
) -> Trial | None:
    """Both files; the best trial, or None if no trial has got a value for the whole budget."""
    found = best(trials)
    if found is None or found.values[max(found.values)] <= WORST:
        return None
    preset = toml(search, found, agent, command)
    files.write_bytes(folder / PRESET, preset.encode())
    files.write_bytes(folder / REPORT, page(search, trials, command, preset).encode())
    return found


def toml(search: Search, trial: Trial, agent: str, command: str) -> str:
    """The setting as a preset file."""
    hyper = search.hyper(trial.drawn)
    value = trial.values[max(trial.values)]
    lines = [
        f"# {command}",
        f"# trial {trial.number}: mean greedy return {value:.6g} on seeds "
        f"{search.seeds[0]} to {search.seeds[-1]}, which it was chosen on",
        f"[{agent if _is_bare(agent) else json.dumps(agent)}]",
        *(f"{name} = {_toml(value)}" for name, value in hyper.items()),
    ]
    return "\n".join(lines) + "\n"


def _is_bare(name: str) -> bool:
    return name.replace("_", "").replace("-", "").isalnum()


def _toml(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def page(search: Search, trials: Sequence[Trial], command: str, preset: str) -> str:
    """The report in Markdown."""
    names = [each.name for each in search.ranges]
    whole = [trial for trial in trials if trial.complete]
    ranked = sorted(whole, key=lambda t: (-t.values[max(t.values)], t.number))[:SHOWN]
    usual = next((trial for trial in trials if trial.number == 0), None)
    lines = [
        f"# {command}",
        "",
        f"{len(trials)} trials, of which {len(whole)} got the whole budget of {search.budget:,}; "
        f"budgets {', '.join(f'{n:,}' for n in search.budgets())}; seeds {search.seeds[0]} to "
        f"{search.seeds[-1]}. A value is the mean greedy return over the second half of training. "
        "The best of many trials is better on the seeds it was chosen on than elsewhere: compare "
        "settings on other seeds.",
        "",
        "| trial | value | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
        *(_row(search, trial) for trial in ranked),
        "",
    ]
    if usual is not None:
        told = ", ".join(f"{value:.6g} at {n:,}" for n, value in usual.values.items())
        lines += [f"Trial 0 is the agent's own setting: {told}.", ""]
    lines += ["## What matters", "", *_importances(search, trials), ""]
    return "\n".join([*lines, "## The best setting", "", "```toml", preset.rstrip(), "```", ""])


def _row(search: Search, trial: Trial) -> str:
    cells = [_cell(value) for value in search.hyper(trial.drawn).values()]
    return f"| {trial.number} | {trial.values[max(trial.values)]:.6g} | {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "×".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _importances(search: Search, trials: Sequence[Trial]) -> list[str]:
    if len(trials) < FEWEST:
        return [f"Fewer than {FEWEST} trials say nothing about it."]
    found = importances(search.ranges, trials)
    if not sum(found.values()) > 0:
        return ["All trials gave the same return at the first budget."]
    return [
        "Shares of what makes a trial good at the first budget, which all trials were given "
        "(Optuna's PED-ANOVA):",
        "",
        "| option | importance |",
        "|---|---|",
        *(f"| {name} | {share:.2f} |" for name, share in found.items()),
    ]
