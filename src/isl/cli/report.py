"""`isl report RUNS`: everything the runs have to say, as one HTML file, images and CSV tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from isl.report import write_report
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("runs", type=Path, help="folder of runs")
    parser.add_argument("--out", type=Path, help="where the report goes; default: RUNS/report")


def run(options: argparse.Namespace) -> ExitCode:
    index = write_report(options.runs, options.out or options.runs / "report")
    print(f"report: {index}")
    return ExitCode.OK
