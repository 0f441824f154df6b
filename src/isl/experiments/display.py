"""How runs go: a live table in a terminal, plain lines in a log file, the results at the end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from isl.experiments.run_folder import config_hash
from isl.experiments.spec import RunSpec
from isl.experiments.store import Run
from isl.status import Status

LINE_SECONDS = 10.0  # between two lines about a run when there is no terminal
MOST_ROWS = 24  # of the live table
_MEASURED = (
    "episodes",
    "steps",
    "best_return",
    "goal_visits",
    "solved_episode",
    "steps_per_second",
    "message",
)


@dataclass
class _Row:
    spec: RunSpec
    seed: int
    status: Status = Status.PENDING
    episodes: int = 0
    steps: int = 0
    best_return: float | None = None
    goal_visits: int = 0
    solved_episode: int | None = None
    steps_per_second: float = 0.0
    message: str = ""
    said: float = 0.0  # when a line about it was last printed
    began: float = 0.0
    began_episodes: int = 0

    @property
    def name(self) -> str:
        return f"{self.spec.task} {self.spec.agent} seed {self.seed}"

    @property
    def eta(self) -> str:
        """Time left at the present pace; a run that ends when solved may be much sooner."""
        done = self.episodes - self.began_episodes
        if self.status is not Status.RUNNING or done <= 0:
            return ""
        seconds = (time.monotonic() - self.began) / done * (self.spec.episodes - self.episodes)
        return ("≤ " if self.spec.until_solved else "") + duration(max(seconds, 0))


def duration(seconds: float) -> str:
    """`95` → `1m 35s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


class Display:
    """Everything the user sees of a sweep. It only listens."""

    def __init__(self, root: Path) -> None:
        self._root = root
        console = Console()
        # A log file has no width of its own: 80 columns would cut the task's names.
        self._console = console if console.is_terminal else Console(width=110)
        self._rows: dict[tuple[int, int], _Row] = {}
        self._live: Live | None = None
        self._began = time.monotonic()

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(self._table(), console=self._console, auto_refresh=False)
            self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self.refresh()
            self._live.__exit__(None, None, None)
            self._live = None

    def plan(self, job: int, spec: RunSpec, seeds: tuple[int, ...]) -> None:
        for seed in seeds:
            self._rows[job, seed] = _Row(spec, seed)

    def finished_before(self, job: int, seed: int, run: Run) -> None:
        row = self._rows[job, seed]
        row.status = run.status
        row.message = run.problem
        summary = run.summary or {}
        for name in ("episodes", "steps", "best_return", "goal_visits", "solved_episode"):
            setattr(row, name, summary.get(name) or getattr(row, name))
        row.steps_per_second = summary.get("env_steps_per_second", 0.0)

    def damaged(self, job: int, seed: int, message: str) -> None:
        row = self._rows[job, seed]
        row.status, row.message = Status.DAMAGED, message

    def started(self, job: int) -> None:
        for row in self._of(job):
            if not row.status.is_final:
                row.status = Status.RUNNING
                row.began = row.said = time.monotonic()
                self._say(f"{row.name}: started")
        self.refresh()

    def progress(self, job: int, event: dict[str, Any]) -> None:
        row = self._rows[job, event["seed"]]
        if row.episodes == 0:
            row.began, row.began_episodes = time.monotonic(), event["episodes"]
        row.status = Status(event["status"])
        for name in _MEASURED:
            setattr(row, name, event[name])
        if row.status.is_final or time.monotonic() - row.said > LINE_SECONDS:
            row.said = time.monotonic()
            self._say(f"{row.name}: {_facts(row)}")
        self.refresh()

    def ended(self, job: int, outcome: dict[int, Status]) -> None:
        for seed, status in outcome.items():
            row = self._rows[job, seed]
            row.status = status
            if status is Status.RUNNING:
                row.message = "another process is at work on it"
        self.refresh()

    def failed(self, job: int, message: str) -> None:
        for row in self._of(job):
            if not row.status.is_final:
                row.status, row.message = Status.FAILED, message
                self._say(f"{row.name}: failed: {message}")
        self.refresh()

    def statuses(self) -> list[Status]:
        return [row.status for row in self._rows.values()]

    def refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._table(), refresh=True)

    def results(self) -> None:
        """The table at the end, and one line for each run that did not end well."""
        console = self._console
        if self._live is None:
            console.print(self._table(final=True))
        for row in self._rows.values():
            if row.message and row.status is not Status.DONE:
                console.print(f"{row.name}: {row.status}: {row.message}", highlight=False)
        for line in self._summaries():
            console.print(line, highlight=False, soft_wrap=True)
        left = [row for row in self._rows.values() if not row.status.is_final]
        if left:
            console.print(f"{len(left)} of {len(self._rows)} runs are left; repeat the command")
        console.print(f"results in {self._root}", highlight=False)

    def _summaries(self) -> list[str]:
        """One line per configuration: how many seeds solved the task, and how soon."""
        groups: dict[tuple[str, str, str], list[_Row]] = {}
        for row in self._rows.values():
            key = (row.spec.task, row.spec.agent, config_hash(row.spec.to_dict()))
            groups.setdefault(key, []).append(row)
        lines = []
        for (task, agent, config), rows in groups.items():
            finished = [row for row in rows if row.status is Status.DONE]
            measured = f"{len(finished)} of {len(rows)} seeds done"
            if task.startswith("deep_sea"):
                solved = sorted(row.solved_episode for row in finished if row.solved_episode)
                measured = f"{len(solved)} of {len(rows)} seeds solved"
                if solved:
                    measured += f", median {median(solved):g} episodes ({solved[0]}–{solved[-1]})"
            elif best := sorted(row.best_return for row in finished if row.best_return is not None):
                measured += (
                    f", median best return {median(best):.4g} ({best[0]:.4g}–{best[-1]:.4g})"
                )
            lines.append(f"{task} {agent} [{config}]: {measured}")
        return lines

    def _of(self, job: int) -> list[_Row]:
        return [row for (number, _), row in self._rows.items() if number == job]

    def _say(self, line: str) -> None:
        if self._live is None:
            self._console.print(line, highlight=False, soft_wrap=True)

    def _table(self, final: bool = False) -> Table:
        rows = list(self._rows.values())
        done = sum(row.status.is_final for row in rows)
        speed = sum(row.steps_per_second for row in rows if row.status is Status.RUNNING)
        elapsed = duration(time.monotonic() - self._began)
        title = f"{done} of {len(rows)} runs done, {elapsed}"
        table = Table(title=title if final else f"{title}, {speed:,.0f} steps/s")
        for name in ["task", "agent", "seed", "status", "episodes", "steps/s", "best"]:
            table.add_column(
                name, justify="left" if name in ("task", "agent", "status") else "right"
            )
        goals = any(row.spec.task.startswith("deep_sea") for row in rows)
        if goals:
            table.add_column("goal visits", justify="right")
            table.add_column("solved", justify="right")
        if not final:
            table.add_column("left", justify="right")
        active = [row for row in rows if row.status is Status.RUNNING]
        others = [row for row in rows if row.status is not Status.RUNNING]
        shown = rows if final or len(rows) <= MOST_ROWS else (active + others)[:MOST_ROWS]
        for row in shown:
            cells = [row.spec.task, row.spec.agent, str(row.seed), row.status.value]
            cells += [f"{row.episodes:,}", f"{row.steps_per_second:,.0f}", _best(row)]
            if goals:
                cells += [str(row.goal_visits), str(row.solved_episode or "")]
            table.add_row(*cells, *([] if final else [row.eta]))
        if len(shown) < len(rows):
            table.caption = f"and {len(rows) - len(shown)} more"
        return table


def _best(row: _Row) -> str:
    return "" if row.best_return is None else f"{row.best_return:.4g}"


def _facts(row: _Row) -> str:
    parts = [row.status.value, f"{row.episodes} episodes", f"best return {_best(row)}"]
    if row.spec.task.startswith("deep_sea"):
        solved = f", solved at episode {row.solved_episode}" if row.solved_episode else ""
        parts.append(f"{row.goal_visits} goal visits{solved}")
    parts.append(f"{row.steps_per_second:,.0f} steps/s")
    if row.eta:
        parts.append(f"{row.eta} left")
    return ", ".join(parts)
