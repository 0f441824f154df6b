"""`isl reproduce NAME`: the paper's experiments, at its scale or small; repeating continues."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from isl.commands import options as shared
from isl.experiments.plan import Job
from isl.experiments.reproductions import REPRODUCTIONS, jobs
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("name", choices=list(REPRODUCTIONS), help="which of the paper's figures")
    parser.add_argument("--quick", action="store_true", help="a small version of the same")
    shared.add_executor_options(parser)
    parser.add_argument(
        "--workers", type=shared.whole_number, metavar="P", help="processes; default: one per core"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder for the results")


def run(options: argparse.Namespace) -> ExitCode:
    wanted = jobs(options.name, options.quick)
    seeds = sum(len(job.seeds) for job in wanted)
    steps = sum(_most_steps(job) for job in wanted)
    print(f"{seeds} runs, at most {steps:,} environment steps; the same command continues them")
    return shared.execute(wanted, options)


def _most_steps(job: Job) -> int:
    longest = job.spec.environment().max_episode_steps
    return len(job.seeds) * (job.spec.episodes or 0) * longest
