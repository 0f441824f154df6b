"""Options that several commands share, made from the same definitions the library uses."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isl import envs
from isl.agents.config import Config, types_of
from isl.envs.spaces import CHOICES
from isl.errors import UsageError
from isl.experiments.executing.plan import Job, Settings, Supervision
from isl.nn import rates
from isl.status import ExitCode

EXECUTORS = ("local", "ray")
EVAL_EPISODES = 5


def default_agent(task: str) -> str:
    """ISL on the paper's tasks, Seeker elsewhere."""
    family = envs.family_of(task)
    return "isl" if family is not None and family.preset is not None else "seeker"


def chosen_agent(argv: Sequence[str]) -> str:
    """The agent of a command line: it decides which hyper-parameters are options."""
    for position, word in enumerate(argv):
        if word == "--agent" and position + 1 < len(argv):
            return argv[position + 1]
        if word.startswith("--agent="):
            return word.partition("=")[2]
    task = _task(argv)
    return default_agent(task) if task else "isl"


def _task(argv: Sequence[str]) -> str | None:
    """The task of a command line that is not parsed yet: a name that is no option's value."""
    found = None
    for before, word in zip(["", *argv], argv, strict=False):
        if not word.startswith("-") and not is_number_list(word):
            found = word  # after a flag without a value, as in --until-solved TASK
            if not before.startswith("-"):
                break
    return found


def is_number_list(text: str) -> bool:
    """One number, or several with commas between them."""
    try:
        return bool([float(part) for part in text.split(",")])
    except ValueError:
        return False


def add_hyper_parameters(parser: argparse.ArgumentParser, config: type[Config], of: str) -> None:
    """One option per field of an agent's Config; what is not given stays the preset's."""
    basic = parser.add_argument_group(f"basic options of {of} (default: the task's preset)")
    advanced = parser.add_argument_group(f"advanced options of {of}")
    types = types_of(config)
    for option in dataclasses.fields(config):
        group = basic if option.metadata["basic"] else advanced
        flag = "--" + option.name.replace("_", "-")
        shared: dict[str, Any] = {
            "dest": f"hyper_{option.name}",
            "default": argparse.SUPPRESS,
            "help": option.metadata["help"],
        }
        if types[option.name] is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **shared)
        elif types[option.name] == tuple[int, ...]:
            group.add_argument(flag, nargs="+", type=number, metavar="N", **shared)
        else:
            kind = rate if rates.is_rate(option.name) else number
            group.add_argument(flag, type=kind, metavar="X", **shared)


def hyper_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The hyper-parameters that were given."""
    prefix = "hyper_"
    given = vars(options).items()
    return {name.removeprefix(prefix): value for name, value in given if name.startswith(prefix)}


def number(text: str) -> int | float:
    """A whole number where it is written as one, else a float; bounds are the Config's to check."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None


def rate(text: str) -> int | float | str:
    """A number, or a schedule of a learning rate, which the Config checks."""
    return text if text.partition(":")[1] else number(text)


def whole_number(text: str) -> int:
    """An int."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """What `train` and `sweep` have in common."""
    parser.add_argument("--seeds", type=whole_number, default=1, metavar="K", help="how many seeds")
    parser.add_argument(
        "--first-seed", type=whole_number, default=0, metavar="S", help="the first of them"
    )
    parser.add_argument(
        "--episodes", type=whole_number, metavar="E", help="episodes per run; default: the task's"
    )
    parser.add_argument(
        "--timesteps",
        type=whole_number,
        metavar="T",
        help="environment steps per run of a Gymnasium environment; default: 100,000",
    )
    parser.add_argument(
        "--preset",
        metavar="NAME|FILE",
        help="set of hyper-parameters, by its name or in a .toml file; default: the task's own",
    )
    parser.add_argument(
        "--observations",
        choices=CHOICES,
        default="auto",
        help="how they are read (docs/environments.md)",
    )
    parser.add_argument(
        "--step-timeout",
        type=number,
        metavar="S",
        help="seconds that one step of a Gymnasium environment may take; default: no limit",
    )
    parser.add_argument(
        "--until-solved", action="store_true", help="end a run at its tenth visit to the goal"
    )
    parser.add_argument(
        "--mapping-seed",
        type=whole_number,
        metavar="M",
        help="which Deep Sea; default: bsuite's 42",
    )
    parser.add_argument(
        "--cohort-width", type=whole_number, default=1, metavar="W", help="seeds per program"
    )
    parser.add_argument(
        "--snapshots", action="store_true", help="record maps of what the agent believes"
    )
    parser.add_argument(
        "--eval-every",
        type=whole_number,
        metavar="STEPS",
        help="steps of training between greedy evaluations; default: a tenth of the budget, within "
        "a tenth of the time",
    )
    parser.add_argument(
        "--eval-episodes",
        type=whole_number,
        default=EVAL_EPISODES,
        metavar="K",
        help=f"episodes of a greedy evaluation, at most; default: {EVAL_EPISODES}",
    )
    parser.add_argument("--no-eval", action="store_true", help="train without greedy evaluations")
    parser.add_argument(
        "--workers", type=whole_number, metavar="P", help="processes; default: one per core"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder for the results")


def seeds(options: argparse.Namespace) -> list[int]:
    """The seeds asked for."""
    if options.seeds < 1:
        raise UsageError(f"--seeds must be at least 1, got {options.seeds}")
    if options.first_seed < 0:
        raise UsageError(f"--first-seed must be at least 0, got {options.first_seed}")
    return list(range(options.first_seed, options.first_seed + options.seeds))


def settings(options: argparse.Namespace) -> Settings:
    """How the runs are to be conducted, of the options that the command has."""
    named = {name: getattr(options, name) for name in Settings._fields if hasattr(options, name)}
    if not hasattr(options, "no_eval"):
        return Settings(**named)
    every, episodes = options.eval_every, options.eval_episodes
    if every is not None and every < 1:
        raise UsageError(f"--eval-every must be at least 1, got {every}")
    if episodes < 1:
        raise UsageError(f"--eval-episodes must be at least 1, got {episodes}; or give --no-eval")
    if options.no_eval and (every is not None or episodes != EVAL_EPISODES):
        raise UsageError("--no-eval leaves --eval-every and --eval-episodes without effect")
    return Settings(**named)._replace(eval_episodes=0 if options.no_eval else episodes)


def check_step_timeout(options: argparse.Namespace, jobs: list[Job]) -> None:
    """A limit is for environments that can hang."""
    seconds = getattr(options, "step_timeout", None)
    if seconds is None:
        return
    if not 0 < seconds < math.inf:
        raise UsageError(f"--step-timeout must be a number of seconds above 0, got {seconds}")
    if all(job.spec.timesteps is None for job in jobs):
        raise UsageError("--step-timeout is for Gymnasium environments; compiled tasks cannot hang")


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Who computes."""
    parser.add_argument("--executor", choices=EXECUTORS, default="local", help="who computes")
    parser.add_argument(
        "--ray-address", metavar="HOST:PORT", help="a Ray cluster to join; default: start one here"
    )
    parser.add_argument(
        "--ray-no-authentication",
        action="store_true",
        help="do without Ray's token: only on a machine or network that nobody else can reach",
    )


def execute(
    jobs: list[Job], options: argparse.Namespace, supervision: Supervision | None = None
) -> ExitCode:
    """Run the jobs with the executor that was asked for."""
    if options.executor != "ray" and (options.ray_address or options.ray_no_authentication):
        raise UsageError("--ray-address and --ray-no-authentication need --executor ray")
    check_step_timeout(options, jobs)
    wanted: dict[str, Any] = {
        "workers": options.workers,
        "settings": settings(options),
        "supervision": supervision,
    }
    if options.executor == "local":
        from isl.experiments.executing.local import run_locally

        return run_locally(jobs, options.out, **wanted)
    from isl.experiments.executing.ray import run_on_ray

    authenticate = not options.ray_no_authentication
    return run_on_ray(
        jobs, options.out, address=options.ray_address, authenticate=authenticate, **wanted
    )
