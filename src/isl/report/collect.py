"""All that a report is made of, read through the store: runs, their episodes, what is missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from isl.envs.registry import TASKS, number_of
from isl.errors import DamagedFile, UsageError
from isl.status import Status
from isl.storage import episodes, labels, requests, run_folder, store
from isl.storage.store import Run


@dataclass(frozen=True)
class Group:
    """The runs of one configuration, by seed. `who` is the agent and what sets it apart."""

    task: str
    who: str
    config_hash: str
    runs: list[Run]

    @property
    def family(self) -> str:
        return self.task.partition("/")[0] if self.number is not None else self.task

    @property
    def number(self) -> int | None:
        """The size or difficulty at the end of the task's name."""
        return number_of(self.task)

    @property
    def finished(self) -> list[Run]:
        return [run for run in self.runs if run.summary is not None]


@dataclass(frozen=True)
class Collected:
    """Everything under a root."""

    root: Path
    groups: list[Group]  # by task, then by who
    episodes: dict[Path, pl.DataFrame]  # of the finished runs that can be read
    counts: Counter[str]  # status → runs; "left": asked for and not begun
    problems: list[str]  # a line for each run that failed, diverged or is damaged


def collect_runs(root: Path) -> Collected:
    """Read everything; what is damaged becomes a problem, the rest is shown all the same."""
    runs = list(store.scan(root))
    if not runs:
        raise UsageError(f"{root} holds no runs: expected the --out of isl train or isl sweep")
    asked = {path for request in requests.read(root) for path in request.runs}
    left = asked - {str(run.path.relative_to(root)) for run in runs}
    counts = Counter(run.status.value for run in runs)
    if left:
        counts["left"] = len(left)
    problems = [f"{run.path}: {run.status}: {why}" for run in runs if (why := _problem(run))]
    tables, unread = _episodes([run for run in runs if run.summary is not None])
    return Collected(root, _groups(runs), tables, counts, problems + unread)


def _problem(run: Run) -> str:
    if run.status is Status.DIVERGED and run.summary is not None:
        return str(run.summary.get("message") or "no longer finite")
    return run.problem


def _groups(runs: list[Run]) -> list[Group]:
    by_config: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.config:
            by_config.setdefault((run.task, run.agent, run.config_hash), []).append(run)
    apart = labels.differences([some[0].config for some in by_config.values()])
    groups = [
        Group(task, _shown(f"{agent} {label}"), config, sorted(some, key=lambda run: run.seed))
        for ((task, agent, config), some), label in zip(by_config.items(), apart, strict=True)
    ]
    return sorted(groups, key=lambda g: (_rank(g.family), g.family, g.number or 0, g.who))


def _shown(name: str) -> str:
    """A name that can be drawn: one line, whole characters."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def _rank(family: str) -> int:
    """The compiled tasks come first."""
    ours = list(TASKS)
    return ours.index(family) if family in ours else len(ours)


def _episodes(runs: list[Run]) -> tuple[dict[Path, pl.DataFrame], list[str]]:
    """The episodes of each run, all read in one go; and a line for each that cannot be."""
    contents: dict[Path, bytes] = {}
    problems = []
    for run in runs:
        try:
            contents[run.path] = run_folder.episodes_content(run.path)
        except DamagedFile as error:
            problems.append(str(error))
    while True:
        files = [path / run_folder.EPISODES for path in contents]
        try:
            tables = episodes.from_parquet(files, list(contents.values()))
        except DamagedFile as error:
            problems.append(str(error))
            del contents[Path(error.path).parent]
        else:
            return dict(zip(contents, tables, strict=True)), problems
