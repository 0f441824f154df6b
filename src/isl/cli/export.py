"""`isl export bsuite RUNS DIR`: runs as the CSV files that bsuite reads, and bsuite's scores."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from isl.analysis import bsuite
from isl.errors import UsageError
from isl.status import ExitCode, Status
from isl.storage import files, run_folder, store
from isl.storage.store import Run

PREFIX = "bsuite_id_-_"  # what bsuite's loader looks for


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("format", choices=["bsuite"], help="whose files")
    parser.add_argument("runs", type=Path, help="folder of runs")
    parser.add_argument("folder", type=Path, help="where the files go: AGENT-VARIANT/seed-K/*.csv")


def run(options: argparse.Namespace) -> ExitCode:
    groups: dict[tuple[str, str, int, str], dict[str, Run]] = {}
    left_out = damaged = 0
    for found in store.scan(options.runs):
        if found.status is Status.DAMAGED:
            damaged += 1
            print(f"left out: {found.problem}", file=sys.stderr)
            continue
        name = bsuite.bsuite_id(found) if found.status is Status.DONE else None
        if name is None:
            left_out += 1
            continue
        key = (found.agent, bsuite.variant(found.config), found.seed, name.partition("/")[0])
        if found.task in groups.setdefault(key, {}):
            raise UsageError(f"{options.runs} holds two runs for {name}, seed {found.seed}")
        groups[key][found.task] = found
    if not groups:
        raise UsageError(
            f"{options.runs} holds no finished run of a bsuite task, such as deep_sea/10"
        )
    for (agent, variant, seed, family), runs in sorted(groups.items()):
        folder = options.folder / f"{agent}-{variant}" / f"seed-{seed}"
        logged = {}
        for task, found in runs.items():
            logged[task] = bsuite.rows(task, run_folder.read_episodes(found.path))
            _write(folder, str(bsuite.bsuite_id(found)), logged[task])
        _, known = bsuite.fixed(family)
        budget = known.episodes
        whole = sum(table["episode"].max() == budget for table in logged.values())
        tasks = len(known.numbers)
        print(
            f"{folder}: {family} score {bsuite.score(logged):.3f} "
            f"({len(runs)} of its {tasks} tasks, {whole} of them over all {budget:,} episodes)"
        )
    if left_out:
        print(f"{left_out} runs are unfinished or of tasks that bsuite does not have: left out")
    return ExitCode.FAILED if damaged else ExitCode.OK


def _write(folder: Path, bsuite_id: str, logged: pl.DataFrame) -> None:
    files.make_folder(folder)
    path = folder / f"{PREFIX}{bsuite_id.replace('/', '-')}.csv"
    files.write_bytes(path, logged.write_csv().encode())
