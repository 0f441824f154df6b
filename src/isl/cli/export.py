"""`isl export bsuite RUNS DIR`: runs as the CSV files that bsuite reads, and bsuite's scores.

`isl export policy MODEL|RUN FILE`: a trained policy for places without JAX (docs/export.md).
"""

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
    parser.add_argument(
        "format", choices=["bsuite", "policy"], help="bsuite's files, or a policy without JAX"
    )
    parser.add_argument(
        "source", type=Path, help="folder of runs; of a policy: a model file or a run's folder"
    )
    parser.add_argument(
        "target",
        type=Path,
        help="where the files go: AGENT-VARIANT/seed-K/*.csv; of a policy: a .onnx or .npz file",
    )
    parser.add_argument(
        "--best", action="store_true", help="of a run's policy: that of its best evaluation"
    )
    parser.add_argument(
        "--env", metavar="ID", help="of a run's policy: its environment, if named module:Id"
    )


def run(options: argparse.Namespace) -> ExitCode:
    if options.format == "policy":
        return _policy(options)
    if options.best or options.env:
        raise UsageError("--best and --env are for isl export policy")
    return _bsuite(options.source, options.target)


def _policy(options: argparse.Namespace) -> ExitCode:
    source, target = options.source, options.target
    if source.is_dir():
        from isl.model.from_run import trained

        found = trained(source, options.best, options.env)
        left_out = found.policy.export(found.learner, target, found.run.agent)
    else:
        from isl.model import load

        if options.best or options.env:
            raise UsageError("--best and --env are for runs: a model file holds one policy")
        left_out = load(source).export(target)
    without = f", without {', '.join(left_out)}" if left_out else ""
    print(f"{target}: {target.stat().st_size:,} bytes{without}")
    return ExitCode.OK


def _bsuite(root: Path, target: Path) -> ExitCode:
    groups: dict[tuple[str, str, int, str], dict[str, Run]] = {}
    left_out = damaged = 0
    for found in store.scan(root):
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
            raise UsageError(f"{root} holds two runs for {name}, seed {found.seed}")
        groups[key][found.task] = found
    if not groups:
        raise UsageError(f"{root} holds no finished run of a bsuite task, such as deep_sea/10")
    for (agent, variant, seed, family), runs in sorted(groups.items()):
        folder = target / f"{agent}-{variant}" / f"seed-{seed}"
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
