"""`isl bench`: speed beside peers and beside the machine's limit, in one run on one core."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from isl.experiments.executing.worker import prepare_process
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("--turns", type=int, default=7, help="how often each contestant is timed")
    parser.add_argument("--core", type=int, default=0, help="the core everything runs on")
    parser.add_argument("--no-peers", action="store_true", help="leave other projects out")
    parser.add_argument("--no-scaling", action="store_true", help="leave the scaling series out")
    parser.add_argument("--out", type=Path, default=Path("bench"), help="folder for JSON and plot")


def run(options: argparse.Namespace) -> ExitCode:
    prepare_process(options.core)  # before JAX is imported
    from isl.bench.report import bench

    bench(options.out, options.turns, peers=not options.no_peers, scaling=not options.no_scaling)
    return ExitCode.OK
