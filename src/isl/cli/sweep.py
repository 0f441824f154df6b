"""`isl sweep TASK…`: agents × tasks × sizes × hyper-parameters × seeds, on one machine or many."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isl import agents
from isl.cli import options as shared
from isl.errors import UsageError
from isl.experiments import sweep
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument(
        "tasks", nargs="+", metavar="TASK", help="deep_sea, cartpole_swingup/10 … or a file.toml"
    )
    parser.add_argument(
        "--agents",
        nargs="+",
        metavar="AGENT",
        default=[_default_agent(argv)],
        help="who learns; default: isl on the paper's tasks, seeker elsewhere",
    )
    parser.add_argument(
        "--sizes", nargs="+", type=shared.whole_number, metavar="N", help="sizes or difficulties"
    )
    parser.add_argument(
        "--grid",
        nargs="+",
        metavar="NAME=X,Y",
        help="values of hyper-parameters; every combination is run, kappa=1,13 eta1=0,0.5 for four",
    )
    shared.add_run_options(parser)
    parser.add_argument(
        "--checkpoint-seconds",
        type=shared.number,
        metavar="S",
        help="time between the checkpoints of a run; default: 30",
    )
    shared.add_executor_options(parser)
    parser.set_defaults(file_grid={})
    file = _file(argv)
    if file is not None:
        content = sweep.read_file(file)
        named = {"file_grid": content.pop("grid"), "file_tasks": content.pop("tasks")}
        parser.set_defaults(**named, **content)  # options that are given count more
    chosen = _chosen(argv, parser.get_default("agents"))
    _check_values(argv, chosen)
    if len(chosen) == 1:
        shared.add_hyper_parameters(parser, agents.load(chosen[0]).Config, chosen[0])


def _check_values(argv: Sequence[str], chosen: Sequence[str]) -> None:
    """An option gives one agent one value; whoever gives more is told of --grid."""
    numbers = {
        option.name
        for agent in chosen
        for option in dataclasses.fields(agents.load(agent).Config)
        if not isinstance(option.default, tuple | bool)
    }
    for position, word in enumerate(argv):
        flag, _, first = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not flag.startswith("--") or name not in numbers:
            continue
        after = itertools.takewhile(shared.is_number_list, argv[position + 1 :])
        values = ",".join(filter(None, [first, *after]))
        if len(chosen) > 1:
            given = f"--grid {name}={values or 'X'}"
            raise UsageError(f"{flag} is for a single agent; with several give {given}")
        if "," in values:
            raise UsageError(f"{flag} takes one value; several are given as --grid {name}={values}")


def _default_agent(argv: Sequence[str]) -> str:
    words = list(itertools.takewhile(lambda word: not word.startswith("-"), argv))
    tasks = sweep.read_file(Path(words[0]))["tasks"] if _file(argv) else words
    return "isl" if all(shared.default_agent(task) == "isl" for task in tasks) else "seeker"


def _file(argv: Sequence[str]) -> Path | None:
    """The sweep's file, if its first word is one: it gives the other options their defaults."""
    return Path(argv[0]) if argv and argv[0].endswith(".toml") else None


def _chosen(argv: Sequence[str], default: list[str]) -> list[str]:
    """The agents named on the command line: a single one makes its hyper-parameters options."""
    given = [position for position, word in enumerate(argv) if word.startswith("--agents")]
    if not given:
        return default
    _, equals, first = argv[given[-1]].partition("=")
    if equals:
        return [first]
    after = list(argv[given[-1] + 1 :])
    ends = [i for i, word in enumerate(after) if word.startswith("-")]
    return after[: ends[0] if ends else None]


def run(options: argparse.Namespace) -> ExitCode:
    seconds = options.checkpoint_seconds
    if seconds is not None and not seconds >= 0:
        raise UsageError(f"--checkpoint-seconds must be at least 0, got {seconds}")
    tasks = options.tasks
    if any(task.endswith(".toml") for task in tasks):
        if len(tasks) > 1:
            raise UsageError("a sweep's file is given alone: it names its tasks itself")
        tasks = options.file_tasks
    jobs = sweep.jobs_of(
        sweep.tasks_of(tasks, options.sizes or []),
        list(dict.fromkeys(options.agents)),
        _grid(options),
        shared.seeds(options),
        episodes=options.episodes,
        until_solved=options.until_solved,
        mapping_seed=options.mapping_seed,
        cohort_width=options.cohort_width,
        timesteps=options.timesteps,
        preset=options.preset,
        observations=options.observations,
    )
    return shared.execute(jobs, options)


def _grid(options: argparse.Namespace) -> dict[str, list[Any]]:
    """The file's grid, then --grid, then single options; a name in the last two is a mistake."""
    grid = sweep.parse_grid(options.grid or [])
    single = {name: [value] for name, value in shared.hyper_parameters(options).items()}
    for name in grid.keys() & single.keys():
        raise UsageError(f"{name} is given both in --grid and as --{name.replace('_', '-')}")
    file_grid: dict[str, list[Any]] = options.file_grid
    return file_grid | grid | single
