"""`isl status RUNS`: what is done, running, diverged or left in a folder of runs."""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from isl.analysis import scores
from isl.envs.registry import has_goal
from isl.errors import DamagedFile, Locked, UnsupportedFormat
from isl.status import ExitCode, Status
from isl.storage import files, requests, run_folder, snapshots, store
from isl.storage.labels import differences
from isl.storage.requests import Request
from isl.storage.store import Run

_ORDER = (Status.DONE, Status.RUNNING, Status.DIVERGED, Status.FAILED, Status.INTERRUPTED)


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("runs", type=Path, help="folder of runs")
    parser.add_argument("--verify", action="store_true", help="re-read the checksum of every file")
    parser.add_argument(
        "--redo-damaged",
        action="store_true",
        help="delete the results that are damaged, so that their command does them again",
    )


def run(options: argparse.Namespace) -> ExitCode:
    root: Path = options.runs
    runs = list(store.scan(root))
    console = Console(markup=False)
    # A log file has no width of its own: 80 columns would cut the tasks' names.
    console = console if console.is_terminal else Console(width=120, markup=False)
    notes = requests.read(root)
    _show(console, root, runs, notes.requests)
    for found in runs:
        if found.problem and found.status is not Status.DAMAGED:
            console.print(f"{found.path}: {found.status}: {found.problem}", soft_wrap=True)
    damage = {found.path: _damage(found, options.verify) for found in runs}
    damage |= {Path(note.path): [str(note)] for note in notes.damaged}
    for problems in damage.values():
        for problem in problems:
            print(problem, file=sys.stderr)
    broken = [path for path, problems in damage.items() if problems]
    if options.verify and not broken:
        console.print(f"{len(runs)} runs verified: every file is as it was written")
    if broken and options.redo_damaged:
        newer = [Path(e.path) for e in notes.damaged if isinstance(e, UnsupportedFormat)]
        broken = [path for path in broken if path in newer or not _discard(path)]
    elif broken:
        print(
            f"{len(broken)} runs or requests are damaged: --redo-damaged deletes them, then repeat "
            "the command that made them",
            file=sys.stderr,
        )
    return ExitCode.FAILED if broken else ExitCode.OK


def _damage(found: Run, verify: bool) -> list[str]:
    """What is wrong with a run's files, a line each."""
    if verify:
        problems = [str(error) for error in run_folder.verify(found.path)]
        if problems:
            return problems
    return [found.problem] if found.status is Status.DAMAGED else []


def _discard(path: Path) -> bool:
    """Delete a damaged result, unless it is only newer than this version or somebody's work."""
    if path.parent.name == requests.FOLDER:
        files.remove(path)
        print(f"{path}: deleted; its command will write it again")
        return True
    try:
        run_folder.manifest(path)
    except UnsupportedFormat:
        print(f"{path}: kept, it is of another version of isl", file=sys.stderr)
        return False
    except DamagedFile:
        pass
    try:
        with run_folder.lock(path):
            run_folder.discard(path)
            snapshots.discard(path)
    except Locked as error:
        print(error, file=sys.stderr)
        return False
    print(f"{path}: deleted; it will be done again")
    return True


def _show(console: Console, root: Path, runs: list[Run], asked: list[Request]) -> None:
    known = {str(found.path.relative_to(root)) for found in runs}
    pending = Counter(
        str(Path(path).parent) for path in {p for r in asked for p in r.runs} if path not in known
    )
    groups: dict[str, list[Run]] = {folder: [] for folder in sorted(pending)}
    for found in runs:
        groups.setdefault(str(found.path.relative_to(root).parent), []).append(found)
    total = Counter(found.status for found in runs)
    shown = [s for s in _ORDER if total[s] or s is Status.DONE]
    shown += [Status.DAMAGED] * bool(total[Status.DAMAGED])
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("configuration", overflow="fold")  # it is a folder: no letter is left out
    columns = [s.value for s in shown] + ["left"] * bool(pending)
    columns += ["solved", "episodes (quartiles)", "best"]
    greedy = any(_greedy(some) for some in groups.values())
    for name in columns + ["greedy: last, best"] * greedy:
        table.add_column(name, justify="right", no_wrap=" (" not in name and "," not in name)
    labels = _labels(groups)
    for folder in sorted(groups, key=_natural):
        counts = Counter(found.status for found in groups[folder])
        cells = [str(counts[s] or "") for s in shown]
        cells += [str(pending[folder] or "")] if pending else []
        name = f"{folder} {labels.get(folder, '')}".rstrip()
        cells += _measures(groups[folder]) + [_greedy(groups[folder])] * greedy
        table.add_row(name, *cells)
    console.print(table)
    left = sum(pending.values())
    ended = sum(count for status, count in total.items() if status.is_final)
    line = f"{ended} of {len(runs) + left} runs done"
    times = [request.seconds_left for request in asked if request.seconds_left is not None]
    if times:
        line += f", about {_minutes(max(times))} left"
    console.print(line, highlight=False)


def _natural(folder: str) -> list[tuple[int, str]]:
    """A sort key that takes sizes as numbers: deep_sea/8 before deep_sea/10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in Path(folder).parts]


def _labels(groups: dict[str, list[Run]]) -> dict[str, str]:
    """What sets a configuration apart from the others of its task and agent."""
    configs = {
        folder: found.config for folder, runs in groups.items() for found in runs if found.config
    }
    return dict(zip(configs, differences(list(configs.values())), strict=True))


def _measures(runs: list[Run]) -> list[str]:
    """How many runs solved the task, how soon, and the median of their best returns."""
    summaries = [found.summary for found in runs if found.summary is not None]
    if not summaries:
        return ["", "", ""]
    best = [s["best_return"] for s in summaries if s["best_return"] is not None]
    shown = f"{scores.quantile(best, 0.5) + 0.0:.4g}" if best else ""  # not -0
    if not has_goal(summaries[0]["task"]):
        return ["", "", shown]
    took = scores.episodes_to_solve(s["solved_episode"] for s in summaries)
    solved = sum(map(math.isfinite, took))
    return [f"{solved} of {len(took)}", scores.episodes_text(took) if solved else "", shown]


def _greedy(runs: list[Run]) -> str:
    """The greedy return of the median run at its last evaluation, and at its best."""
    summaries = [found.summary for found in runs if found.summary is not None]
    last = [x for s in summaries if (x := s.get("greedy_return")) is not None]
    best = [x for s in summaries if (x := s.get("best_greedy_return")) is not None]
    if not last or not best:
        return ""
    return f"{scores.quantile(last, 0.5):.4g}, {scores.quantile(best, 0.5):.4g}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.0f} minutes"
