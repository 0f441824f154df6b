"""`isl doctor RUN`: what looks wrong in a run, in plain words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from isl.analysis import doctor
from isl.errors import UsageError
from isl.status import ExitCode
from isl.storage import run_folder, tensorboard


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument(
        "run", type=Path, help="the folder of a run or of a log of learn, or one with such in it"
    )


def run(options: argparse.Namespace) -> ExitCode:
    folders = sorted(path.parent for path in options.run.rglob(run_folder.DONE))
    logs = _logs_of_learn(options.run)
    if not folders and not logs:
        raise UsageError(
            f"no finished run in {options.run}, and no log of learn(tensorboard_log=…); "
            "see isl status"
        )
    for folder in folders:
        _tell(folder, doctor.read(folder))
    for folder in logs:
        _tell(folder, doctor.read_log(folder))
    return ExitCode.OK


def _logs_of_learn(root: Path) -> list[Path]:
    """The folders with a log, but for those that belong to a run of `isl train`."""
    found = {path.parent for path in root.rglob(f"{tensorboard.EVENTS}*")}
    return sorted(path for path in found if not (path.parent / run_folder.CONFIG).is_file())


def _tell(folder: Path, evidence: doctor.Evidence) -> None:
    found = doctor.diagnose(evidence)
    print(f"{folder}: {'nothing looks wrong' if not found else ''}".rstrip())
    for finding in found:
        print(f"  {finding.name}: {finding.told}\n    try: {finding.advice}")
    for thing in evidence.unknown:
        print(f"  not known: {thing}")
