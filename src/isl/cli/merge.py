"""`isl merge SOURCE TARGET`: bring the finished runs of several machines together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isl.status import ExitCode
from isl.storage import merge


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("source", type=Path, help="folder whose finished runs are copied")
    parser.add_argument("target", type=Path, help="folder that they are copied to")


def run(options: argparse.Namespace) -> ExitCode:
    report = merge.merge(options.source, options.target)
    print(f"{len(report.copied)} runs copied, {len(report.kept)} were there already")
    for path in report.conflicts:
        print(f"{path}: has another result than the source; kept as it is", file=sys.stderr)
    for path in report.busy:
        print(f"{path}: a process is at work on it; repeat the command later", file=sys.stderr)
    for problem in report.damaged:
        print(problem, file=sys.stderr)
    refused = report.conflicts or report.damaged or report.busy
    return ExitCode.FAILED if refused else ExitCode.OK
