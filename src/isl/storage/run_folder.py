"""The folder of one run: named by config and seed, written in order, checked by its manifest.

    <root>/<task>/<agent>/<config hash>/seed-<k>/
        config.json       the resolved config, and where it ran; sealed
        episodes.parquet  one row per episode; nothing that depends on the clock
        evaluations.parquet  one row per greedy evaluation, if there was one
        summary.json      the result in a few numbers
        checkpoint/       see `isl.storage.checkpoint`
        failure.json      why the last attempt stopped, if something raised; sealed
        DONE.json         written last: the sha256 of the results and checkpoints, and of itself
        snapshots.safetensors, probes.safetensors, tensorboard/     records, each with checksums of
                          its own; like .lock, which the process at work holds, outside the manifest

A folder with a valid `DONE.json` is finished and not written again.
"""

from __future__ import annotations

import contextlib
import logging
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from isl.errors import DamagedFile, UnsupportedFormat, UsageError
from isl.status import Status
from isl.storage import checkpoint, episodes, evaluations, files, snapshots
from isl.storage.provenance import provenance

FORMAT = 1
CONFIG, EPISODES, SUMMARY = "config.json", "episodes.parquet", "summary.json"
EVALUATIONS = "evaluations.parquet"  # of runs that were evaluated
DONE, FAILURE, LOCK = "DONE.json", "failure.json", ".lock"
SUMMARY_FIELDS = {
    *("task", "agent", "seed", "status", "episodes", "steps", "best_return", "goal_visits"),
    *("solved_episode", "wall_seconds", "env_steps_per_second", "updates_per_second"),
}
# The fields of what isl 0.1 wrote without a seal.
UNSEALED_CONFIG = {"format", "task", "agent", "seed", "config_hash", "config", "provenance"}
UNSEALED_FAILURE = {"format", "message"}
MAX_FILE_BYTES = 4 << 30
SEED_FOLDER = re.compile(r"seed-(0|[1-9]\d*)")
_CHECKPOINT = re.compile(rf"{checkpoint.FOLDER}/(?:final|best|step-\d{{12}})\.safetensors")

log = logging.getLogger(__name__)


def config_hash(config: dict[str, Any]) -> str:
    """Twelve digits that stand for everything that can change a bit, but for the seed."""
    return files.sha256_bytes(files.canonical_json(config))[:12]


def run_path(root: Path, config: dict[str, Any], seed: int) -> Path:
    """The folder of a run. The config names its `task` and `agent`; a task's slashes nest."""
    task = [_folder_name("task", config["task"], part) for part in config["task"].split("/")]
    agent = _folder_name("agent", config["agent"], config["agent"])
    return root.joinpath(*task, agent, config_hash(config), f"seed-{seed}")


def _folder_name(kind: str, whole: str, part: str) -> str:
    """`part` as one harmless folder name: everything unusual is percent-encoded."""
    try:
        encoded = urllib.parse.quote(part, safe="").replace("~", "%7E")
    except UnicodeEncodeError:
        encoded = ""
    if part in (".", "..") or not 0 < len(encoded) <= 200:
        raise UsageError(f"{kind} {whole!r} cannot name a folder: expected e.g. deep_sea/20 or isl")
    return "%2E" + encoded[1:] if encoded.startswith(".") else encoded


def seed_of(run_dir: Path) -> int:
    match = SEED_FOLDER.fullmatch(run_dir.name)
    if match is None:
        raise ValueError(f"{run_dir} is not a run folder: expected a name such as seed-0")
    return int(match[1])


def belongs(run_dir: Path, config: dict[str, Any]) -> bool:
    """Whether the folder is where `run_path` puts this config, under whatever root."""
    tail = run_path(Path(), config, seed_of(run_dir)).parts
    return run_dir.absolute().parts[-len(tail) :] == tail


@contextlib.contextmanager
def lock(run_dir: Path) -> Iterator[None]:
    """Be the run's one writer; raises `isl.errors.Locked` at once if another process is."""
    files.make_folder(run_dir)
    with files.lock(run_dir / LOCK):
        yield


def start(run_dir: Path, config: dict[str, Any]) -> None:
    """Record what is about to run here. For the holder of the lock; also when it continues."""
    if not belongs(run_dir, config):
        raise ValueError(f"{run_dir} is not the folder of this config: expected run_path(...)")
    earlier = _earlier_provenance(run_dir / CONFIG)
    here = provenance()
    record = {
        "format": FORMAT,
        "task": config["task"],
        "agent": config["agent"],
        "seed": seed_of(run_dir),
        "config_hash": config_hash(config),
        "config": config,
        # A run may continue elsewhere or under other versions: each of them is listed.
        "provenance": earlier if here in earlier else [*earlier, here],
    }
    files.write_sealed_json(run_dir / CONFIG, record)
    files.remove(run_dir / FAILURE)
    files.remove_stale_tmp(run_dir)


def _earlier_provenance(path: Path) -> list[Any]:
    try:
        found = read_own(path, UNSEALED_CONFIG).get("provenance")
    except FileNotFoundError:
        return []
    except UnsupportedFormat:
        raise
    except DamagedFile as error:
        log.warning("written anew: %s", error)
        return []
    return found if isinstance(found, list) else []


def read_own(path: Path, unsealed: set[str]) -> dict[str, Any]:
    """A sealed file of an unfinished run, or one with just the fields that 0.1 did not seal."""
    found = files.check_format(path, files.read_json(path), FORMAT)
    return found if found.keys() == unsealed else files.read_sealed_json(path, FORMAT)


def write_episodes(run_dir: Path, table: pl.DataFrame) -> None:
    """Write the episode records; equal tables give equal bytes."""
    files.write_bytes(run_dir / EPISODES, episodes.to_parquet(table))


def write_evaluations(
    run_dir: Path, rows: Sequence[Mapping[str, Any]], best: Mapping[str, Any], learner: Any
) -> None:
    """Write the greedy evaluations, and what the run had learned at the best of them.

    Without an evaluation there is no file, not even one of an earlier attempt.
    """
    if rows:
        files.write_bytes(run_dir / EVALUATIONS, episodes.to_parquet(evaluations.table(rows)))
        checkpoint.save_best(run_dir, learner, best)
    else:
        files.remove(run_dir / EVALUATIONS)
        files.remove(run_dir / checkpoint.FOLDER / checkpoint.BEST)


def fail(run_dir: Path, message: str) -> None:
    """Record why the run stopped; repeating its command tries again."""
    files.write_sealed_json(run_dir / FAILURE, {"format": FORMAT, "message": message})


def finish(run_dir: Path, summary: dict[str, Any]) -> None:
    """Write the summary, then the manifest that makes the run finished."""
    if missing := SUMMARY_FIELDS - summary.keys():
        raise ValueError(f"the summary lacks {', '.join(sorted(missing))}")
    if not Status(summary["status"]).is_final:
        raise ValueError(f"a run that is {summary['status']} is not finished")
    files.write_json(run_dir / SUMMARY, summary)
    listed = [CONFIG, EPISODES, SUMMARY]
    listed += [EVALUATIONS] if (run_dir / EVALUATIONS).is_file() else []
    final, best = (run_dir / checkpoint.FOLDER / x for x in (checkpoint.FINAL, checkpoint.BEST))
    kept = [final] if final.is_file() else checkpoint.generations(run_dir)
    kept += [best] if best.is_file() else []
    listed += [f"{checkpoint.FOLDER}/{path.name}" for path in kept]
    digests = {name: files.sha256_file(run_dir / name, MAX_FILE_BYTES) for name in listed}
    files.write_sealed_json(run_dir / DONE, {"format": FORMAT, "files": digests})
    if final in kept:
        checkpoint.prune(run_dir)


def discard(run_dir: Path) -> None:
    """Delete a run's results, so that its command does it again. For the holder of the lock."""
    files.remove(run_dir / DONE)  # first: from here on nobody takes the rest for a result
    checkpoint.prune(run_dir)
    for name in (checkpoint.FINAL, checkpoint.BEST):
        files.remove(run_dir / checkpoint.FOLDER / name)
    for name in (SUMMARY, EPISODES, EVALUATIONS, FAILURE, CONFIG):
        files.remove(run_dir / name)


def manifest(run_dir: Path) -> dict[str, str] | None:
    """The sha256 of each file of a finished run; None if the run is not finished."""
    path = run_dir / DONE
    try:
        digests = files.read_sealed_json(path, FORMAT).get("files")
    except FileNotFoundError:
        return None
    results = {CONFIG, EPISODES, SUMMARY}
    if not isinstance(digests, dict) or not results <= digests.keys():
        raise DamagedFile(path, "does not list the results")
    for name in digests.keys() - results - {EVALUATIONS}:
        # The names become paths: nothing outside the folder, whoever wrote the manifest.
        if not _CHECKPOINT.fullmatch(name):
            raise DamagedFile(path, f"lists {name!r}, which is no file of a run")
    return digests


def is_done(run_dir: Path) -> bool:
    """Whether the run is finished. A damaged manifest raises: it is neither trusted nor redone."""
    return manifest(run_dir) is not None


def read_listed(run_dir: Path, digests: dict[str, str], name: str, max_bytes: int) -> bytes:
    """A file of a finished run, exactly as it was when the run ended."""
    with _present(run_dir / name) as path:
        data = files.read_bytes(path, max_bytes)
    _compare(path, files.sha256_bytes(data), digests[name])
    return data


def _check_listed(run_dir: Path, digests: dict[str, str], name: str) -> None:
    with _present(run_dir / name) as path:
        limit = files.MAX_JSON_BYTES if name.endswith(".json") else MAX_FILE_BYTES
        digest = files.sha256_file(path, limit)
    _compare(path, digest, digests[name])


@contextlib.contextmanager
def _present(path: Path) -> Iterator[Path]:
    try:
        yield path
    except FileNotFoundError:
        raise DamagedFile(path, "is missing") from None


def _compare(path: Path, found: str, listed: str) -> None:
    if found != listed:
        raise DamagedFile(path, f"does not match its checksum in {DONE}")


def verify(run_dir: Path) -> list[DamagedFile]:
    """Re-read every checksum of the run; what is damaged or missing, each with its reason."""
    try:
        digests = manifest(run_dir)
        if digests is None:  # not finished: the checkpoints are what it continues from
            present = checkpoint.generations(run_dir)
            checks = [partial(checkpoint.verify_file, path, MAX_FILE_BYTES) for path in present]
        else:
            checks = [partial(_check_listed, run_dir, digests, name) for name in digests]
        recorded = [run_dir / name for name in snapshots.FILES if (run_dir / name).exists()]
        checks += [partial(checkpoint.verify_file, path) for path in recorded]
    except DamagedFile as error:
        return [error]
    found = []
    for check in checks:
        try:
            check()
        except DamagedFile as error:
            found.append(error)
    return found


def episodes_content(run_dir: Path) -> bytes:
    """The file of episode records of a finished run, checked against its manifest."""
    digests = manifest(run_dir)
    if digests is None:
        raise UsageError(f"{run_dir} is not finished: repeat its command to continue it")
    return read_listed(run_dir, digests, EPISODES, episodes.MAX_BYTES)


def read_episodes(run_dir: Path) -> pl.DataFrame:
    """The episode records of a finished run."""
    return episodes.from_parquet([run_dir / EPISODES], [episodes_content(run_dir)])[0]


def evaluations_content(run_dir: Path) -> bytes | None:
    """The file of greedy evaluations of a finished run, checked; None if it has none."""
    digests = manifest(run_dir) or {}
    if EVALUATIONS not in digests:
        return None
    return read_listed(run_dir, digests, EVALUATIONS, episodes.MAX_BYTES)


def read_evaluations(run_dir: Path) -> pl.DataFrame | None:
    """The greedy evaluations of a finished run (isl.storage.evaluations); None if it has none."""
    content = evaluations_content(run_dir)
    return None if content is None else evaluations.read([run_dir / EVALUATIONS], [content])[0]
