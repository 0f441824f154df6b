"""All that a report is made of, read through the store: runs, their episodes, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from isl.agents import aliases
from isl.envs.registry import TASKS, number_of
from isl.errors import DamagedFile, UsageError
from isl.status import Status
from isl.storage import episodes, evaluations, labels, requests, run_folder, store
from isl.storage.store import Run


@dataclass(frozen=True)
class Group:
    """The runs of one configuration, by seed. `who` is the agent and what sets it apart."""

    task: str
    agent: str  # by today's name
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
    evaluations: dict[Path, pl.DataFrame]  # of those that were evaluated on the way
    counts: Counter[str]  # status → runs; "left": asked for and not begun
    problems: list[str]  # a line for each run that failed, diverged or is damaged, and each note


def budget_of(run: Run) -> int:
    """How many episodes a finished run was given, or had where it was given steps."""
    budget = run.config.get("episodes")
    return budget if isinstance(budget, int) else int((run.summary or {})["episodes"])


def collect_runs(root: Path) -> Collected:
    """Read everything; what is damaged becomes a problem, the rest is shown all the same."""
    everywhere = list(store.scan(root))
    if not everywhere:
        raise UsageError(f"{root} holds no runs: expected the --out of isl train or isl sweep")
    notes = requests.read(root)
    asked = {path for request in notes.requests for path in request.runs}
    left = asked - {str(run.path.relative_to(root)) for run in everywhere}
    runs, again = _once(everywhere)
    counts = Counter(run.status.value for run in runs)
    if left:
        counts["left"] = len(left)
    problems = [f"{run.path}: {run.status}: {why}" for run in runs if (why := _problem(run))]
    ended = [run for run in runs if run.summary is not None]
    played, unread = _tables(
        ended, run_folder.EPISODES, run_folder.episodes_content, episodes.from_parquet
    )
    evaluated, unread_too = _tables(
        ended, run_folder.EVALUATIONS, run_folder.evaluations_content, evaluations.read
    )
    problems += [*map(str, notes.damaged), *unread, *unread_too, *again]
    return Collected(root, _groups(runs), played, evaluated, counts, problems)


def _once(found: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Each run once, and a line for each that lies below the root again, as in `runs/demo`."""
    kept: dict[tuple[str, str, str, int], Run] = {}
    again, others = [], []
    for run in sorted(found, key=lambda run: run.summary is None):  # finished ones first
        key = run.task, run.agent, run.config_hash, run.seed
        if not run.config:
            others.append(run)
        elif (first := kept.setdefault(key, run)) is not run:
            again.append(f"{run.path}: the same run as {first.path}, counted once")
    return [*kept.values(), *others], again


def _problem(run: Run) -> str:
    if run.status is Status.DIVERGED and run.summary is not None:
        return str(run.summary.get("message") or "no longer finite")
    return run.problem


def _groups(runs: list[Run]) -> list[Group]:
    by_config: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.config:
            by_config.setdefault((run.task, run.agent, run.config_hash), []).append(run)
    configs = [_meant(some[0].config) for some in by_config.values()]
    groups = [
        Group(
            task,
            config["agent"],
            _shown(f"{config['agent']} {label}"),
            config_hash,
            sorted(some, key=lambda run: run.seed),
        )
        for ((task, _, config_hash), some), config, label in zip(
            by_config.items(), configs, labels.differences(configs), strict=True
        )
    ]
    taken = Counter((group.task, group.who) for group in groups)
    groups = [  # records of two versions can mean the same
        replace(g, who=f"{g.who} {g.config_hash[:4]}") if taken[g.task, g.who] > 1 else g
        for g in groups
    ]
    return sorted(groups, key=lambda g: (_rank(g.family), g.family, g.number or 0, g.who))


def _meant(config: dict[str, Any]) -> dict[str, Any]:
    """The config under its agent's name of today: `isl_tables` is recorded as options of `isl`."""
    try:
        agent, hyper = aliases.meant(config["agent"], config.get("hyper", {}))
    except UsageError:  # of 0.1, with options that no agent has any more
        return config
    return config | {"agent": agent, "hyper": hyper}


def _shown(name: str) -> str:
    """A name that can be drawn: one line, whole characters."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def _rank(family: str) -> int:
    """The compiled tasks come first."""
    ours = list(TASKS)
    return ours.index(family) if family in ours else len(ours)


Content = Callable[[Path], bytes | None]
Reader = Callable[[list[Path], list[bytes]], list[pl.DataFrame]]


def _tables(
    runs: list[Run], name: str, content_of: Content, read: Reader
) -> tuple[dict[Path, pl.DataFrame], list[str]]:
    """A table of each run that has it, all read in one go; a line for each that cannot be read."""
    contents: dict[Path, bytes] = {}
    problems = []
    for run in runs:
        try:
            content = content_of(run.path)
        except DamagedFile as error:
            problems.append(str(error))
        else:
            if content is not None:
                contents[run.path] = content
    while True:
        try:
            tables = read([path / name for path in contents], list(contents.values()))
        except DamagedFile as error:
            problems.append(str(error))
            del contents[Path(error.path).parent]
        else:
            return dict(zip(contents, tables, strict=True)), problems
