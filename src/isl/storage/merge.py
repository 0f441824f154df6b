"""Finished runs of one folder copied into another."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from isl.errors import DamagedFile, Locked, UnsupportedFormat
from isl.status import Status
from isl.storage import files
from isl.storage.run_folder import (
    DONE,
    EPISODES,
    EVALUATIONS,
    MAX_FILE_BYTES,
    discard,
    lock,
    manifest,
    read_listed,
)
from isl.storage.store import read_run, run_folders


@dataclass
class MergeReport:
    """What `merge` did with each finished run of the source."""

    copied: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)  # the target had the same result
    conflicts: list[Path] = field(default_factory=list)  # the target has another result: kept
    damaged: list[str] = field(default_factory=list)  # not copied, with the reason
    busy: list[Path] = field(default_factory=list)  # a process is at work in the target's folder


def merge(source: Path, target: Path) -> MergeReport:
    """Copy the finished runs of `source` into `target`.

    Repeating it changes nothing, and several sources give the same target in any order. Two
    results of one run agree if their episodes are equal; then they differ in timings and greedy
    evaluations at most. One that was evaluated stays, else the one whose manifest sorts first. If
    they disagree, the target's stays.
    """
    report = MergeReport()
    for run_dir in run_folders(source):
        run = read_run(run_dir)
        copy = target / run_dir.relative_to(source)
        try:
            if run.status is Status.DAMAGED:
                report.damaged.append(run.problem)
            elif run.summary is not None:
                content = _content(run_dir)
                with lock(copy):
                    _merge_run(copy, content, report)
        except DamagedFile as error:
            report.damaged.append(str(error))
        except Locked:
            report.busy.append(copy)
    return report


def _content(run_dir: Path) -> dict[str, bytes]:
    """The files of a finished run, each checked; the manifest comes last."""
    digests = manifest(run_dir) or {}
    content = {name: read_listed(run_dir, digests, name, MAX_FILE_BYTES) for name in digests}
    return {**content, DONE: files.read_bytes(run_dir / DONE, files.MAX_JSON_BYTES)}


def _merge_run(copy: Path, theirs: dict[str, bytes], report: MergeReport) -> None:
    try:
        ours = _content(copy)
    except UnsupportedFormat:
        raise
    except (FileNotFoundError, DamagedFile):  # unfinished or damaged: no result to keep
        ours = None
    if ours is not None and ours[EPISODES] != theirs[EPISODES]:
        report.conflicts.append(copy)
    elif ours is not None and _rank(ours) <= _rank(theirs):
        report.kept.append(copy)
    else:
        discard(copy)
        for name, data in theirs.items():
            files.make_folder((copy / name).parent)
            files.write_bytes(copy / name, data)
        report.copied.append(copy)


def _rank(content: dict[str, bytes]) -> tuple[bool, bytes]:
    """Of two results that agree the lower one stays."""
    return EVALUATIONS not in content, content[DONE]
