"""`isl list`: tasks and agents; of an agent its options and what its presets change."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from isl import agents, envs
from isl.agents.config import Config
from isl.envs.registry import PACKAGES, TaskFamily
from isl.experiments import presets
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("agent", nargs="*", help="agents to show the options of, or tasks")


def run(options: argparse.Namespace) -> ExitCode:
    console = Console(markup=False, highlight=False)
    for name in options.agent:
        if (family := envs.TASKS.get(name.partition("/")[0])) is not None:
            _show_task(console, family)
        else:
            _show_options(console, name, agents.load(name).Config)
    if not options.agent:
        _show_everything(console)
    return ExitCode.OK


def _show_everything(console: Console) -> None:
    tasks = _table("task", "what it is")
    for family in envs.TASKS.values():
        tasks.add_row(family.example, family.about)
    tasks.add_row("CartPole-v1", "any Gymnasium environment with discrete actions, by its id")
    tasks.add_row(PACKAGES["gymnax"].example, f"and of {', '.join(PACKAGES)}, an extra each")
    console.print(tasks)
    known = _table("agent", "label", "what it is")
    for name, entry in agents.AGENTS.items():
        known.add_row(name, entry.label, entry.about)
    console.print(known)
    console.print("isl list TASK shows the range of a task's number")
    console.print("isl list AGENT shows the options of an agent, and what its presets change")


def _show_task(console: Console, family: TaskFamily) -> None:
    console.print(f"{family.example}: {family.about}")
    console.print(f"{family.number}: {family.numbers}" if family.number else "it has no number")


def _show_options(console: Console, agent: str, config: type[Config]) -> None:
    """Basic options, then the others: each with its default; then what the presets change."""
    for basic in (True, False):
        kind = "basic" if basic else "advanced"
        table = _table("option", "default", "what it is")
        table.title, table.title_justify = f"{kind} options of {agent}", "left"
        for option in dataclasses.fields(config):
            if option.metadata["basic"] is basic:
                table.add_row(_flag(option.name), _plain(option.default), option.metadata["help"])
        console.print(table)
    sections = {name: found for name in presets.names() if (found := presets.section(name, agent))}
    if not sections:
        console.print(f"{agent} has no presets: its defaults are used everywhere", style="italic")
        return
    changes = _table("preset", "what it changes")
    for preset, section in sections.items():
        changed = [
            f"{_flag(option.name)} {_plain(section[option.name])}"
            for option in dataclasses.fields(config)
            if option.name in section and section[option.name] != _listed(option.default)
        ]
        changes.add_row(preset, ", ".join(changed) or "nothing: it is the defaults")
    console.print(changes)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _table(*columns: str) -> Table:
    """A table whose last column alone is folded: names stay whole in 80 columns."""
    table = Table(box=SIMPLE)
    for column in columns:
        last = column == columns[-1]
        table.add_column(column, no_wrap=not last, overflow="fold")
    return table


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
