"""`isl list`: agents, tasks, presets and their hyper-parameters."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from isl import agents, envs
from isl.agents.config import Config
from isl.experiments import presets
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("agent", nargs="*", help="agents to show the hyper-parameters of")


def run(options: argparse.Namespace) -> ExitCode:
    console = Console(markup=False)
    wanted = options.agent or list(agents.AGENTS)
    modules = {name: agents.load(name) for name in wanted}
    if not options.agent:
        table = Table("task", "what it is", title="tasks", title_justify="left")
        for family in envs.TASKS.values():
            numbers = f" ({family.number} {family.numbers})" if family.number else ""
            table.add_row(family.example, family.about + numbers)
        console.print(table)
        table = Table("agent", "what it is", title="agents", title_justify="left")
        for name, entry in agents.AGENTS.items():
            table.add_row(name, f"{entry.label}: {entry.about}")
        console.print(table)
        # In full: a narrow terminal cuts the heads of the columns below.
        console.print(f"presets: {', '.join(presets.names())}")
    for name, module in modules.items():
        console.print(_hyper_parameters(name, module.Config))
    return ExitCode.OK


def _hyper_parameters(agent: str, config: type[Config]) -> Table:
    """One row per hyper-parameter: its default, and its value in every preset."""
    sections = {preset: presets.load(preset).get(agent) for preset in presets.names()}
    shown = {preset: section for preset, section in sections.items() if section is not None}
    title = f"hyper-parameters of {agent}"
    table = Table("option", "default", *shown, "meaning", title=title, title_justify="left")
    for option in dataclasses.fields(config):
        values = [section.get(option.name) for section in shown.values()]
        flag = "--" + option.name.replace("_", "-")
        cells = ["" if value is None else _plain(value) for value in values]
        table.add_row(flag, _plain(option.default), *cells, option.metadata["help"])
    return table


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
