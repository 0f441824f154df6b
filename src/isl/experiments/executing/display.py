"""How runs go: a live table in a terminal, plain lines in a log file, the results at the end."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from isl.analysis.scores import episodes_text, episodes_to_solve, quantile
from isl.envs.registry import has_goal
from isl.experiments.executing.progress_row import Row, duration
from isl.experiments.executing.progress_table import MOST_ROWS, progress_table
from isl.experiments.spec import RunSpec
from isl.status import Status
from isl.storage.labels import differences
from isl.storage.run_folder import config_hash
from isl.storage.store import Run

LINE_SECONDS = 10.0  # between two lines about a run when there is no terminal
SWEEP_LINE_SECONDS = 30.0  # between two lines about many runs
REFRESH_SECONDS = 0.25  # between two drawings of the live table
_MEASURED = (
    "episodes",
    "steps",
    "best_return",
    "goal_visits",
    "solved_episode",
    "steps_per_second",
    "greedy_return",
    "best_greedy_return",
    "message",
)


class Display:
    """Everything the user sees of a sweep. It only listens."""

    def __init__(self, root: Path) -> None:
        self._root = root
        console = Console(markup=False)
        # A log file has no width of its own: 80 columns would cut the task's names.
        self._console = console if console.is_terminal else Console(width=110, markup=False)
        self._rows: dict[tuple[int, int], Row] = {}
        self._live: Live | None = None
        self._began = self._said = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(self._table(), console=self._console, auto_refresh=False)
            self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
            self._live.__exit__(None, None, None)
            self._live = None

    def plan(self, job: int, spec: RunSpec, seeds: tuple[int, ...]) -> None:
        config = config_hash(spec.to_dict())
        for seed in seeds:
            self._rows[job, seed] = Row(spec, seed, config)

    def announce(self) -> None:
        """How much is asked for, and how much of it is left; once everything is planned."""
        configs = {row.config: row.spec.to_dict() for row in self._rows.values()}
        labels = dict(zip(configs, differences(list(configs.values())), strict=True))
        for row in self._rows.values():
            row.label = labels[row.config]
        ended = Counter(row.status for row in self._rows.values())
        left = ended.pop(Status.PENDING, 0)
        known = ", ".join(f"{count} {status}" for status, count in ended.items()) or "none done"
        self._print(f"{len(self._rows)} runs asked for: {known}, {left} left")

    def finished_before(self, job: int, seed: int, run: Run) -> None:
        """The folder holds the result already, from before or from another process."""
        row = self._rows[job, seed]
        if row.status.is_final:
            return
        row.status, row.message, row.elsewhere = run.status, run.problem, False
        summary = run.summary or {}
        for name in ("episodes", "steps", "best_return", "goal_visits", "solved_episode"):
            setattr(row, name, summary.get(name) or getattr(row, name))
        row.greedy_return = summary.get("greedy_return")
        row.best_greedy_return = summary.get("best_greedy_return")
        row.message = summary.get("message") or row.message
        row.steps_per_second = summary.get("env_steps_per_second", 0.0)
        row.seconds = summary.get("wall_seconds")

    def damaged(self, job: int, seed: int, message: str) -> None:
        row = self._rows[job, seed]
        row.status, row.message = Status.DAMAGED, message

    def held(self, job: int) -> None:
        for row in self._of(job):
            if not row.status.is_final:
                row.status, row.elsewhere = Status.RUNNING, True

    def started(self, job: int, compiled: bool = False) -> None:
        """A process begins with a job; `compiled`: it has the program from an earlier one."""
        for row in self._of(job):
            if not row.status.is_final:
                row.start(compiled)
                self._say(f"{row.name}: started" + ", compiling…" * (not compiled))

    def progress(self, job: int, event: dict[str, Any]) -> None:
        row = self._rows[job, event["seed"]]
        row.status = Status(event["status"])
        news = event["message"] if event["message"] != row.message else ""
        for name in _MEASURED:
            setattr(row, name, event[name])
        # What ends a run otherwise than well is said with the results.
        if news and (row.status is Status.DONE or not row.status.is_final):
            self._print(f"{row.name}: {news}")
        row.measure()
        few = len(self._rows) <= MOST_ROWS
        if row.status.is_final:
            row.seconds = time.monotonic() - row.began
        if row.status.is_final or (few and time.monotonic() - row.said > LINE_SECONDS):
            row.said = time.monotonic()
            self._say(f"{row.name}: {row.facts}")

    def ended(self, job: int, outcome: dict[int, Status]) -> None:
        for seed, status in outcome.items():
            self._rows[job, seed].status = status

    def interrupted(self, job: int) -> None:
        """Its worker left without a word: it goes on from its last checkpoint next time."""
        for row in self._of(job):
            if not row.status.is_final:
                row.status = Status.INTERRUPTED

    def failed(self, job: int, message: str) -> None:
        for row in self._of(job):
            if not row.status.is_final:
                row.status, row.message = Status.FAILED, message
                self._say(f"{row.name}: failed: {message}")

    def statuses(self) -> list[Status]:
        return [row.status for row in self._rows.values()]

    def refresh(self) -> None:
        now = time.monotonic()
        if self._live is not None:
            if now - self._drawn >= REFRESH_SECONDS:
                self._drawn = now
                self._live.update(self._table(), refresh=True)
        elif len(self._rows) > MOST_ROWS and now - self._said >= SWEEP_LINE_SECONDS:
            self._said = now
            self._say(self._headline())

    def seconds_left(self) -> float | None:
        """Of the whole sweep: what a run of its kind takes, for each run that is left.

        A run that ends when solved is judged by those that have ended, not by its budget.
        """
        rows, now = self._rows.values(), time.monotonic()
        known: dict[str, list[float]] = {}
        for row in rows:
            left = None if row.spec.until_solved else row.seconds_left
            took = row.seconds if left is None else now - row.began + left
            if took is not None:
                known.setdefault(row.config, []).append(took)
        typical = {config: fmean(took) for config, took in known.items()}
        total, at_work = 0.0, 0
        for row in rows:
            if row.status not in (Status.RUNNING, Status.PENDING):
                continue
            whole = typical.get(row.config, fmean(typical.values()) if typical else None)
            left = row.seconds_left
            if row.status is Status.RUNNING and not row.elsewhere:
                at_work += 1
                if whole is not None and (row.spec.until_solved or left is None):
                    left = max(0.0, whole - (now - row.began))
            left = whole if left is None else left
            if left is None:
                return None
            total += left
        return total / max(at_work, 1)

    def results(self) -> None:
        """The table at the end, and one line for each run that did not end well."""
        if not self._console.is_terminal and len(self._rows) <= MOST_ROWS:
            self._console.print(self._table(final=True))
        for row in self._rows.values():
            if row.message and row.status is not Status.DONE:
                self._print(f"{row.name}: {row.status}: {row.message}")
        for line in self._summaries():
            self._print(line)
        left = sum(not row.status.is_final for row in self._rows.values())
        if left:
            self._print(f"{left} of {len(self._rows)} runs are left; repeat the command")
        self._print(f"results in {self._root}")

    def _summaries(self) -> list[str]:
        """One line per configuration: how many seeds solved the task, and how soon.

        Seeds that ended unsolved, those that diverged included, count as infinitely long.
        """
        groups: dict[tuple[str, str, str], list[Row]] = {}
        for row in self._rows.values():
            groups.setdefault((row.spec.task, row.who, row.config), []).append(row)
        lines = []
        for (task, who, config), rows in groups.items():
            finished = [row for row in rows if row.status is Status.DONE]
            measured = f"{len(finished)} of {len(rows)} seeds done"
            best = sorted(row.best_return for row in finished if row.best_return is not None)
            if has_goal(task):
                ended = [row for row in rows if row.status in (Status.DONE, Status.DIVERGED)]
                took = episodes_to_solve(row.solved_episode for row in ended)
                solved = sum(map(math.isfinite, took))
                measured = f"{solved} of {len(rows)} seeds solved"
                if solved:
                    measured += f", median episodes (quartiles) {episodes_text(took)}"
            elif best:
                middle = quantile(best, 0.5)
                measured += f", median best return {middle:.4g} ({best[0]:.4g}–{best[-1]:.4g})"
            greedy = _greedy_text(finished)
            lines.append(f"{task} {who} [{config}]: {measured}{greedy}")
        return lines

    def _of(self, job: int) -> list[Row]:
        return [row for (number, _), row in self._rows.items() if number == job]

    def _say(self, line: str) -> None:
        """For log files; a terminal shows the same in its table."""
        if not self._console.is_terminal:
            self._print(line)

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True, markup=False)

    def _headline(self) -> str:
        rows = self._rows.values()
        counts = Counter(row.status for row in rows)
        parts = [f"{sum(status.is_final for status in counts.elements())} of {len(rows)} runs done"]
        for status in (Status.RUNNING, Status.DIVERGED, Status.FAILED, Status.DAMAGED):
            if counts[status]:
                parts.append(f"{counts[status]} {status}")
        parts.append(duration(time.monotonic() - self._began))
        if counts[Status.RUNNING]:
            running = [row for row in rows if row.status is Status.RUNNING]
            compiling = sum(row.compiling for row in running)
            if compiling:
                parts.append(f"{compiling} compiling…")
            if speed := sum(row.pace or 0.0 for row in running):
                parts.append(f"{speed:,.0f} steps/s")
            if (seconds := self.seconds_left()) is not None:
                parts.append(f"about {duration(seconds)} left")
        return ", ".join(parts)

    def _table(self, final: bool = False) -> Table:
        return progress_table(list(self._rows.values()), self._headline(), final)


def _greedy_text(rows: list[Row]) -> str:
    """Medians over seeds of the greedy policy's return; nothing of runs without evaluations."""
    last = [row.greedy_return for row in rows if row.greedy_return is not None]
    best = [row.best_greedy_return for row in rows if row.best_greedy_return is not None]
    if not last:
        return ""
    return f"; greedy return: last {quantile(last, 0.5):.4g}, best {quantile(best, 0.5):.4g}"
