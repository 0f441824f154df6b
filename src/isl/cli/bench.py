"""`isl bench`: speed beside peers and beside the machine's limit, in one run on one core."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from isl.errors import UsageError
from isl.experiments.executing.worker import prepare_process
from isl.status import ExitCode

WHAT = {
    "training": "updates and steps per second of our agents, of peers, and the machine's limit",
    "exploration": "the uncertainty constrained policy beside softmax",
    "host": "Seeker and DQN on Python environments beside the DQNs of Stable-Baselines3 and SBX",
    "solve": "seconds until Seeker and Stable-Baselines3's tuned DQN solve two environments",
    "tasks": "steps of the grid tasks beside MiniGrid, navix and xminigrid, where installed",
    "envs": "Seeker with 1, 4, 8 and 16 environments at once: speed, return, steps to a solution",
    "images": "Seeker and DQN on pictures beside the convolutional DQN of Stable-Baselines3",
    "startup": "to the command's first episode, and the first steps beside Stable-Baselines3",
}
TURNS = 7
WITHOUT_TURNS = ("exploration", "solve")
_SB3 = ("stable_baselines3",)
NEEDS = {"host": (*_SB3, "sbx"), "solve": _SB3, "images": _SB3}


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    about = "; ".join(f"{name}: {text}" for name, text in WHAT.items())
    parser.add_argument(
        "--what",
        choices=list(WHAT),
        default="training",
        help=f"{about}. host, solve and images need the extra peers",
    )
    parser.add_argument(
        "--turns", type=int, help=f"how often each contestant is timed; default: {TURNS}"
    )
    parser.add_argument("--core", type=int, default=0, help="the core everything runs on")
    parser.add_argument(
        "--no-peers", action="store_true", help="leave other projects out of training"
    )
    parser.add_argument(
        "--no-scaling", action="store_true", help="leave the scaling series out of training"
    )
    parser.add_argument(
        "--out", type=Path, help="folder for training's JSON and plot; default: bench"
    )


def run(options: argparse.Namespace) -> ExitCode:
    if options.turns is not None and options.what in WITHOUT_TURNS:
        raise UsageError(f"--turns has no effect on --what {options.what}")
    turns = TURNS if options.turns is None else options.turns
    if turns < 1:
        raise UsageError(f"--turns must be at least 1, got {turns}")
    if options.what != "training" and (options.no_peers or options.no_scaling or options.out):
        raise UsageError("--no-peers, --no-scaling and --out are for --what training")
    missing = [each for each in NEEDS.get(options.what, ()) if find_spec(each) is None]
    if missing:
        raise UsageError(f"this needs {' and '.join(missing)}: pip install 'isl[peers]'")
    if options.what == "startup":  # the command that is started prepares itself
        from isl.bench import startup

        startup.measure(turns, options.core)
        return ExitCode.OK
    if options.what == "solve":  # likewise
        from isl.bench import solving

        solving.compare(options.core)
        return ExitCode.OK
    prepare_process(options.core)  # before JAX is imported
    if options.what == "exploration":
        from isl.bench import exploration

        exploration.compare()
    elif options.what == "tasks":
        from isl.bench import tasks

        tasks.bench_tasks(turns)
    elif options.what == "envs":
        from isl.bench import many_envs

        many_envs.compare(turns)
    elif options.what == "images":
        from isl.bench import images

        images.compare(turns)
    elif options.what == "host":
        from isl.bench import host_loop

        host_loop.compare(turns)
    else:
        from isl.bench.report import bench

        out = options.out or Path("bench")
        bench(out, turns, peers=not options.no_peers, scaling=not options.no_scaling)
    return ExitCode.OK
