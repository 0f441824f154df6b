"""`isl report RUNS`: everything the runs have to say, as one HTML file, images and CSV tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from isl.errors import UsageError
from isl.report import write_report
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("runs", type=Path, help="folder of runs")
    parser.add_argument("--out", type=Path, help="where the report goes; default: RUNS/report")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="instead draw one picture of a task with a goal: a .png, .svg or .pdf file",
    )


def run(options: argparse.Namespace) -> ExitCode:
    if options.picture is None:
        index = write_report(options.runs, options.out or options.runs / "report")
        print(f"report: {index}")
        return ExitCode.OK
    if options.out is not None:
        raise UsageError("--out is for the report; --picture FILE says where the picture goes")
    if options.picture.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--picture takes a .png, .svg or .pdf file, got {options.picture}")
    from isl.report.demo import draw_demo

    for each in draw_demo(options.runs, options.picture):
        solved = (each.summary or {})["solved_episode"]
        print(f"seed {each.seed}: " + (f"solved at episode {solved}" if solved else "unsolved"))
    print(f"picture: {options.picture}")
    return ExitCode.OK
