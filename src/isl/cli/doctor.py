"""`isl doctor RUN`: what looks wrong in a run, in plain words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from isl.analysis import doctor
from isl.errors import UsageError
from isl.status import ExitCode
from isl.storage import run_folder


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("run", type=Path, help="the folder of a run, or one with runs in it")


def run(options: argparse.Namespace) -> ExitCode:
    folders = sorted(path.parent for path in options.run.rglob(run_folder.DONE))
    if not folders:
        raise UsageError(f"no finished run in {options.run}; see isl status")
    for folder in folders:
        found = doctor.diagnose(doctor.read(folder))
        print(f"{folder}: {'nothing looks wrong' if not found else ''}".rstrip())
        for finding in found:
            print(f"  {finding.name}: {finding.told}\n    try: {finding.advice}")
    return ExitCode.OK
