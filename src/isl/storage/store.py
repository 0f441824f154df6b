"""All the runs under a root: which there are, how they stand, and their results as tables.

Reading needs neither JAX nor the code that wrote a run. Nothing damaged is read in silence: a
scan reports it, and a table that would miss it is refused. `isl.storage.run_folder` says
what one folder holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from isl.errors import DamagedFile, UsageError
from isl.status import Status
from isl.storage import evaluations, files
from isl.storage.episodes import from_parquet
from isl.storage.run_folder import (
    CONFIG,
    EPISODES,
    EVALUATIONS,
    FAILURE,
    FORMAT,
    LOCK,
    SEED_FOLDER,
    SUMMARY,
    SUMMARY_FIELDS,
    UNSEALED_CONFIG,
    UNSEALED_FAILURE,
    belongs,
    config_hash,
    episodes_content,
    evaluations_content,
    manifest,
    read_listed,
    read_own,
    seed_of,
)

_HASH = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class Run:
    """What a run folder says. `problem` explains a run that failed or is damaged."""

    path: Path
    status: Status
    task: str = ""
    agent: str = ""
    seed: int = 0
    config_hash: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    provenance: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    problem: str = ""


def read_run(run_dir: Path) -> Run:
    """What the folder says; a damaged or newer folder is a `Run` with its problem, not an error."""
    try:
        return _read(run_dir)
    except DamagedFile as error:
        return Run(run_dir, Status.DAMAGED, problem=str(error))


def finished(run_dir: Path) -> Run:
    """A finished run, or an error that says why it is none."""
    run = _read(run_dir)
    if run.summary is None:
        raise UsageError(f"{run_dir} is {run.status}: repeat its command to finish it")
    return run


def _read(run_dir: Path) -> Run:
    digests = manifest(run_dir)
    return _unfinished(run_dir) if digests is None else _finished(run_dir, digests)


def _finished(run_dir: Path, digests: dict[str, str]) -> Run:
    path = run_dir / CONFIG
    data = read_listed(run_dir, digests, CONFIG, files.MAX_JSON_BYTES)
    run = _described(run_dir, files.check_format(path, files.parse_json(path, data), FORMAT))
    path = run_dir / SUMMARY
    data = read_listed(run_dir, digests, SUMMARY, files.MAX_JSON_BYTES)
    summary = files.parse_json(path, data)
    identity = {"task": run.task, "agent": run.agent, "seed": run.seed}
    if not isinstance(summary, dict) or not summary.keys() >= SUMMARY_FIELDS:
        raise DamagedFile(path, "lacks fields of a summary")
    if {name: summary[name] for name in identity} != identity:
        raise DamagedFile(path, "belongs to another run")
    try:
        status = Status(summary["status"])
    except ValueError:
        raise DamagedFile(path, f"has the unknown status {summary['status']!r}") from None
    return replace(run, status=status, summary=summary)


def _unfinished(run_dir: Path) -> Run:
    if files.is_locked(run_dir / LOCK):
        status, problem = Status.RUNNING, ""
    elif (run_dir / FAILURE).exists():
        failure = read_own(run_dir / FAILURE, UNSEALED_FAILURE)
        status, problem = Status.FAILED, str(failure.get("message"))
    else:
        status, problem = Status.INTERRUPTED, ""
    try:
        record = read_own(run_dir / CONFIG, UNSEALED_CONFIG)
    except FileNotFoundError:  # stopped before its first write
        return Run(run_dir, status, problem=problem)
    return replace(_described(run_dir, record), status=status, problem=problem)


def _described(run_dir: Path, record: dict[str, Any]) -> Run:
    """Who the run is, from its `config.json`, which must belong to this folder."""
    path = run_dir / CONFIG
    config = record.get("config")
    try:
        if not isinstance(config, dict) or not belongs(run_dir, config):
            raise UsageError("the path and the config disagree")
    except (KeyError, AttributeError, TypeError, UsageError) as error:
        raise DamagedFile(path, "describes another run than its folder") from error
    return Run(
        run_dir,
        Status.PENDING,
        task=config["task"],
        agent=config["agent"],
        seed=seed_of(run_dir),
        config_hash=config_hash(config),
        config=config,
        provenance=record.get("provenance", []),
    )


def run_folders(root: Path) -> Iterator[Path]:
    """Every run folder under `root`, in the order of the names; links are not followed."""
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: expected the one that runs were written to")
    with os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        if SEED_FOLDER.fullmatch(name) and _HASH.fullmatch(root.name):
            yield root / name
        else:
            yield from run_folders(root / name)


def scan(root: Path) -> Iterator[Run]:
    """Every run under `root` as its small files describe it; `verify` checks the large ones."""
    return map(read_run, run_folders(root))


def _finished_runs(root: Path) -> Iterator[Run]:
    for run in scan(root):
        if run.status is Status.DAMAGED:
            raise DamagedFile(run.path, f"cannot be part of a table: {run.problem}")
        if run.summary is not None:
            yield run


def load(root: Path | str) -> pl.DataFrame:
    """One row per finished run: its summary, and its config in columns named `config.*`."""
    rows = [
        {
            **{"task": run.task, "agent": run.agent, "seed": run.seed},
            **(run.summary or {}),
            **{"config_hash": run.config_hash, "path": str(run.path)},
            **_flat("config", run.config),
        }
        for run in _finished_runs(Path(root))
    ]
    # Not strict: runs may give a column as 1 and as 0.5.
    table = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    return table.sort("task", "agent", "config_hash", "seed") if rows else table


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    """Nested tables as one level of dotted names; a list as its JSON text, which groups well."""
    if isinstance(value, list):
        return {prefix: files.canonical_json(value).decode()}
    if not isinstance(value, dict):
        return {prefix: value}
    return {k: v for name in value for k, v in _flat(f"{prefix}.{name}", value[name]).items()}


def load_episodes(root: Path | str) -> pl.DataFrame:
    """The episode records of every finished run, each row with the run it belongs to."""
    runs = list(_finished_runs(Path(root)))
    paths = [run.path / EPISODES for run in runs]
    return _joined(runs, from_parquet(paths, [episodes_content(run.path) for run in runs]))


def load_evaluations(root: Path | str) -> pl.DataFrame:
    """The greedy evaluations of every finished run that has any, likewise."""
    found = [(run, evaluations_content(run.path)) for run in _finished_runs(Path(root))]
    runs = [run for run, content in found if content is not None]
    contents = [content for _, content in found if content is not None]
    return _joined(runs, evaluations.read([run.path / EVALUATIONS for run in runs], contents))


def _joined(runs: list[Run], tables: list[pl.DataFrame]) -> pl.DataFrame:
    named = [
        table.select(
            *(pl.lit(getattr(run, name)).alias(name) for name in ("task", "agent", "config_hash")),
            pl.lit(run.seed, dtype=pl.Int64).alias("seed"),
            pl.all(),
        )
        for run, table in zip(runs, tables, strict=True)
    ]
    return pl.concat(named, how="diagonal_relaxed") if named else pl.DataFrame()
