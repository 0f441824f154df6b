"""`isl list`: agents, tasks, presets and their hyper-parameters."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from isl import agents, envs
from isl.agents.config import Config
from isl.envs.registry import PACKAGES
from isl.experiments import presets
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("agent", nargs="*", help="agents to show the options of")


def run(options: argparse.Namespace) -> ExitCode:
    console = Console(markup=False, highlight=False)
    for name in options.agent:
        _show_options(console, name, agents.load(name).Config)
    if not options.agent:
        _show_everything(console)
    return ExitCode.OK


def _show_everything(console: Console) -> None:
    tasks = _table("task", "what it is")
    for family in envs.TASKS.values():
        numbers = f" ({family.number} {family.numbers})" if family.number else ""
        tasks.add_row(family.example, family.about + numbers)
    for package, family in PACKAGES.items():
        tasks.add_row(family.example, f"{family.about} (extra {package})")
    tasks.add_row("CartPole-v1 …", "any Gymnasium environment with countable actions")
    console.print(tasks)
    known = _table("agent", "what it is")
    for name, entry in agents.AGENTS.items():
        known.add_row(name, f"{entry.label}: {entry.about}")
    console.print(known)
    console.print(f"presets: {', '.join(presets.names())}")
    console.print("isl list AGENT shows the options of an agent")


def _show_options(console: Console, agent: str, config: type[Config]) -> None:
    """Basic options, then the others: each with its default and what the presets change."""
    sections = {preset: presets.section(preset, agent) or {} for preset in presets.names()}
    for basic in (True, False):
        kind = "basic" if basic else "advanced"
        table = _table("option", "default", "what it is")
        table.title, table.title_justify = f"{kind} options of {agent}", "left"
        for option in dataclasses.fields(config):
            if option.metadata["basic"] is basic:
                flag = "--" + option.name.replace("_", "-")
                table.add_row(flag, _plain(option.default), option.metadata["help"])
        console.print(table)
    for preset, section in sections.items():
        changed = {
            option.name: section[option.name]
            for option in dataclasses.fields(config)
            if option.name in section and section[option.name] != _listed(option.default)
        }
        if section:
            told = ", ".join(f"{name} {_plain(value)}" for name, value in changed.items())
            console.print(f"preset {preset}: {told or 'the defaults'}")


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
