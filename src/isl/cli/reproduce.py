"""`isl reproduce NAME`: the paper's experiments. Results accumulate; repeating continues."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from isl.cli import options as shared
from isl.envs.registry import has_goal
from isl.errors import UsageError
from isl.experiments.executing import cores
from isl.experiments.executing.plan import Job, Supervision
from isl.experiments.spec import RunSpec
from isl.paper import figures, page, table
from isl.paper.calibration import seconds_per_step
from isl.paper.cost import described, estimate
from isl.paper.reproductions import REPRODUCTIONS, jobs
from isl.paper.rows import made_here, row_of
from isl.paper.summary import exponent_text, exponents, who
from isl.status import ExitCode
from isl.storage import store
from isl.storage.provenance import provenance

CHECKOUT = Path("docs/results")  # where the project's own tables are


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("name", choices=list(REPRODUCTIONS), help="which of the paper's figures")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--quick", action="store_true", help="a small version, some minutes")
    part.add_argument(
        "--tranche", type=shared.whole_number, metavar="K", help="only this part of it, from 1"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--cost", action="store_true", help="say what it would cost, and end")
    instead.add_argument("--figures", action="store_true", help="draw what there is, and end")
    parser.add_argument(
        "--cores", type=shared.whole_number, metavar="K", help="tell the cost on K cores too"
    )
    parser.add_argument(
        "--max-core-hours",
        type=shared.number,
        metavar="H",
        help="start no run once runs have taken so much",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="DIR",
        help="the tables of results: rows are taken from there and added there; "
        "default: docs/results in a checkout, else OUT/results, which --quick always uses",
    )
    shared.add_executor_options(parser)
    parser.add_argument(
        "--workers", type=shared.whole_number, metavar="P", help="processes; default: one per core"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder for the runs")


def run(options: argparse.Namespace) -> ExitCode:
    for name in ("cores", "max_core_hours"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, got {value}")
    folder = _tables(options)
    if options.figures:
        _draw(options.name, folder)
        return ExitCode.OK
    wanted = jobs(options.name, options.quick, options.tranche)
    rows = table.read_folder(folder)
    left = missing(wanted, rows)
    print(f"{options.name}: {_standing(wanted, rows, folder)}")
    if left:
        print(_cost(left, rows, options))
        if options.cost:
            return ExitCode.OK
        # What Cartpole's agents believe at a few states costs nothing; a sea's maps are large.
        options.snapshots = options.name == "cartpole_swingup"
        hours = math.inf if options.max_core_hours is None else options.max_core_hours
        recorder = _Recorder(folder / f"{options.name}.csv")
        code = shared.execute(left, options, Supervision(recorder, hours * 3600, in_order=True))
        if recorder.conflicts:
            code = ExitCode.FAILED
    else:
        code = ExitCode.OK
    if not options.cost:
        _draw(options.name, folder)
    return code


def missing(wanted: Sequence[Job], rows: Sequence[table.Row]) -> list[Job]:
    """The jobs whose runs have no row yet; a row needs no folder of its run."""
    done = {row.key for row in rows}
    left = []
    for job in wanted:
        seeds = tuple(seed for seed in job.seeds if (job.program, seed) not in done)
        if seeds:
            left.append(Job(job.spec, seeds))
    return left


def _standing(wanted: Sequence[Job], rows: Sequence[table.Row], folder: Path) -> str:
    """How many runs have a row already, and how many of those rows come from elsewhere."""
    keys = {(job.program, seed) for job in wanted for seed in job.seeds}
    done = [row for row in rows if row.key in keys]
    foreign = len(done) - len(made_here(done))
    text = f"{len(keys)} runs, {len(done)} of them in {folder}"
    if foreign:
        text += f" ({foreign} with another JAX or processor: the last bits may differ here)"
    return text


class _Recorder:
    """Adds a row for each finished run at once, so that an interruption loses none."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self.conflicts = 0

    def __call__(self, run: store.Run) -> None:
        for kept, refused in table.add(self._table, [row_of(run)]):
            self.conflicts += 1
            print(
                f"{self._table} has another result of {kept.task} {kept.agent} seed {kept.seed} "
                f"[{kept.config_hash}] by {kept.commit}, which stays; {run.path} is of "
                f"{refused.commit}: delete one of them"
            )


def _tables(options: argparse.Namespace) -> Path:
    if options.record is not None:
        return Path(options.record)
    in_checkout = CHECKOUT.is_dir() and not options.quick
    return CHECKOUT if in_checkout else Path(options.out) / "results"


def _cost(left: Sequence[Job], rows: Sequence[table.Row], options: argparse.Namespace) -> str:
    def measure(specs: Sequence[RunSpec]) -> list[float]:
        print(f"measuring the speed of {len(specs)} configurations …", flush=True)
        return seconds_per_step(specs)

    here = options.workers or max(len(cores.available()), 1)
    told = [here, *([options.cores] if options.cores else [])]
    return described(estimate(left, rows, provenance()["cpu"], measure), told)


def _draw(name: str, folder: Path) -> None:
    """The figure, the exponents and the pages, from the tables alone."""
    rows = table.read_folder(folder)
    _, family = figures.FIGURES[name]
    try:
        written = [*figures.draw(name, rows, folder), *page.update(folder, rows)]
    except UsageError as error:  # the runs are done; the rest can be had later
        print(f"not drawn: {error}")
        return
    if has_goal(family):
        for (agent, variant), exponent in exponents(rows, family).items():
            print(f"{who(agent, variant)}: episodes to solve {exponent_text(exponent)}")
    print(f"written: {', '.join(map(str, written))}" if written else "no rows to draw yet")
