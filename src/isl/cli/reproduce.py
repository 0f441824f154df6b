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
from isl.paper import comparison_figure, figures, page, table
from isl.paper.calibration import seconds_per_step
from isl.paper.comparisons import COMPARISONS
from isl.paper.cost import described, estimate
from isl.paper.reproductions import REPRODUCTIONS, jobs
from isl.paper.rows import made_here, row_of
from isl.paper.summary import exponent_text, exponents, who
from isl.paper.trial import Trial
from isl.status import ExitCode
from isl.storage import store
from isl.storage.provenance import provenance

CHECKOUT = Path("docs/results")  # where the project's own tables are
EVERYTHING = "all"  # with --check


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    names = [*REPRODUCTIONS, *COMPARISONS, EVERYTHING]
    parser.add_argument(
        "name", choices=names, help="which of the results; all: with --check, rows of any of them"
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--quick", action="store_true", help="a small version, some minutes")
    part.add_argument(
        "--tranche", type=shared.whole_number, metavar="K", help="only this part of it, from 1"
    )
    parser.add_argument(
        "--cases", nargs="+", default=[], metavar="NAME", help="of a comparison: only these"
    )
    parser.add_argument(
        "--agents",
        nargs="+",
        default=[],
        metavar="NAME",
        help="of a comparison: only these, such as seeker, sb3_dqn or seeker:no_averaging",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--cost", action="store_true", help="say what it would cost, and end")
    instead.add_argument("--figures", action="store_true", help="draw what there is, and end")
    instead.add_argument(
        "--check",
        type=shared.whole_number,
        metavar="N",
        help="do N rows at random again, compare every number, and end",
    )
    _add_check_arguments(parser)
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


def _add_check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check-seed", type=shared.whole_number, metavar="S", help="of --check's draw; default: 0"
    )
    parser.add_argument(
        "--here", action="store_true", help="check rows of this JAX on this processor only"
    )
    parser.add_argument(
        "--within",
        type=shared.number,
        metavar="MINUTES",
        help="check rows that took at most so long only",
    )


def run(options: argparse.Namespace) -> ExitCode:
    _refuse(options)
    folder = _tables(options)
    if options.check is not None:
        return _check(options, folder)
    if options.figures:
        _draw(options.name, folder)
        return ExitCode.OK
    if options.name in COMPARISONS:
        return _compare(options, folder)
    wanted = jobs(options.name, options.quick, options.tranche)
    rows = table.read_folder(folder)
    left = missing(wanted, rows)
    print(f"{options.name}: {_standing(wanted, rows, folder)}")
    code = ExitCode.OK
    if left:
        print(_cost(left, rows, options))
    if options.cost:
        return code
    if left:
        options.snapshots = REPRODUCTIONS[options.name].snapshots
        recorder = _Recorder(folder / f"{options.name}.csv")
        supervision = Supervision(recorder, _most_seconds(options), in_order=True)
        code = shared.execute(left, options, supervision)
        if recorder.conflicts:
            code = ExitCode.FAILED
    _draw(options.name, folder)
    return code


def _refuse(options: argparse.Namespace) -> None:
    """What makes no sense, or would have no effect."""
    for name in ("cores", "max_core_hours", "within", "check"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, got {value}")
    if options.check is None:
        if options.name == EVERYTHING:
            raise UsageError("all is for --check N; name one result to reproduce")
        if options.here or options.within is not None or options.check_seed is not None:
            raise UsageError("--here, --within and --check-seed choose the rows of --check N")
    if options.name in COMPARISONS:
        if options.cores or options.executor != "local" or options.ray_address:
            raise UsageError(f"{options.name} is computed here: leave out --cores and the executor")
        if options.check is not None and (options.cases or options.agents):
            raise UsageError("--check draws from all rows: leave out --cases and --agents")
    elif options.cases or options.agents:
        raise UsageError(f"--cases and --agents choose runs of {' and '.join(COMPARISONS)}")


def _most_seconds(options: argparse.Namespace) -> float:
    hours = math.inf if options.max_core_hours is None else options.max_core_hours
    return float(hours * 3600)


def _check(options: argparse.Namespace, folder: Path) -> ExitCode:
    """Do rows again; exit code 1 if one does not hold."""
    from isl.paper.check import check, draw_rows

    everything = options.name == EVERYTHING
    paths = {
        name: folder / f"{name}.csv"
        for name in (*REPRODUCTIONS, *COMPARISONS)
        if everything or name == options.name
    }
    runs = [row for name in paths if name in REPRODUCTIONS for row in table.read(paths[name])]
    trials = [
        row for name in paths if name in COMPARISONS for row in table.read_kind(paths[name], Trial)
    ]
    within = math.inf if options.within is None else options.within
    rows: list[table.Row | Trial] = [*table.merge(runs).rows, *trials]
    picked = draw_rows(rows, options.check, options.check_seed or 0, options.here, within)
    verdicts = [check(row) for row in picked]
    print("\n".join(["", *(verdict.text for verdict in verdicts)]))
    held = sum(verdict.holds for verdict in verdicts)
    print(f"{held} of {len(picked)} rows hold")
    return ExitCode.OK if held == len(picked) else ExitCode.FAILED


def _compare(options: argparse.Namespace, folder: Path) -> ExitCode:
    """Train what has no row yet, each model in a process of its own, and update the pages."""
    from isl.paper import comparing

    comparison = COMPARISONS[options.name]
    chosen = comparison.chosen(options.quick, options.tranche, options.cases, options.agents)
    work = comparing.Work(options.name, chosen, folder)
    print(work.standing())
    if options.cost:
        return ExitCode.OK
    code = work.do(options.out / "logs", options.workers, _most_seconds(options))
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
    try:
        drawn = figures.draw(name, rows, folder) if name in figures.FIGURES else []
        drawn += comparison_figure.draw(name, folder) if name in COMPARISONS else []
        written = [*drawn, *page.update(folder, rows)]
    except UsageError as error:  # the runs are done; the rest can be had later
        print(f"not drawn: {error}")
        return
    if name in figures.FIGURES and has_goal(figures.FIGURES[name][1]):
        for (agent, variant), exponent in exponents(rows, figures.FIGURES[name][1]).items():
            print(f"{who(agent, variant)}: episodes to solve {exponent_text(exponent)}")
    print(f"written: {', '.join(map(str, written))}" if written else "nothing new to draw")
