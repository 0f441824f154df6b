"""What Ray runs on a node: a cohort, in the results' folder if it is there, else shipped back.

This module is imported in Ray's processes before JAX is, so that the number of XLA threads is
settled first: nothing here may import JAX at the top.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from isl.errors import DamagedFile
from isl.experiments.executing.worker import Message, perform, prepare_process
from isl.storage import files, run_folder

REPORT_SECONDS = 1.0  # between two words to the one who asked for the runs
Content = dict[str, bytes]  # the files of a run's folder by their names
# Everything that a run writes, whatever it is called, but for its lock and unfinished files.
_SHIPPED = re.compile(
    r"(?:checkpoint/)?[A-Za-z][\w-]*\.(?:json|parquet|safetensors)"
    r"|tensorboard/events\.out\.tfevents\.\d{12}"
)


class Hub:
    """An actor beside the driver: takes in what tasks report, tells them when to stop."""

    def __init__(self) -> None:
        self._events: list[Message] = []
        self._stopping = False

    def report(self, events: list[Message]) -> bool:
        """Whether to stop."""
        self._events += events
        return self._stopping

    def drain(self) -> list[Message]:
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        self._stopping = True


class Reporter:
    """A task's side of the hub: progress goes out now and then, the answer says when to stop."""

    def __init__(self, hub: Any) -> None:
        self._hub = hub
        self._latest: dict[int, Message] = {}
        self._at = time.monotonic()
        self._stopping = False

    def send(self, event: Message) -> None:
        self._latest[event["seed"]] = event

    def should_stop(self) -> bool:
        if time.monotonic() - self._at >= REPORT_SECONDS:
            self._report()
        return self._stopping

    def flush(self) -> None:
        self._report()

    def _report(self) -> None:
        import ray

        self._at = time.monotonic()
        events, self._latest = list(self._latest.values()), {}
        try:
            self._stopping = ray.get(self._hub.report.remote(events), timeout=30)
        except ray.exceptions.RayError:  # whoever wanted the runs is gone
            self._stopping = True


def run_task(job: Message, token: str, carried: list[Any], hub: Any) -> Message:
    """A job, done on whatever node this is; `carried` refers to what its runs have so far."""
    prepare_process(None)
    if Path(job["folder"]).is_dir():
        os.chdir(job["folder"])  # where agents of the user's own are looked for
    reporter = Reporter(hub)
    root = Path(job["root"])
    if (root / marker(token)).exists():  # the very folder, on this machine or on shared storage
        ended = perform(job, reporter.send, reporter.should_stop)
        reporter.flush()
        return ended
    # The same name for every try, so that a task repeated on this node goes on where it was.
    scratch = Path(tempfile.gettempdir()) / f"isl-{token}"
    folders = {seed: run_folder.run_path(scratch, job["spec"], seed) for seed in job["seeds"]}
    for seed, content in _fetch(carried).items():
        with run_folder.lock(folders[seed]):
            if not (folders[seed] / run_folder.CONFIG).exists():
                unpack(folders[seed], content)
    ended = perform(job | {"root": str(scratch)}, reporter.send, reporter.should_stop)
    reporter.flush()
    shipped = {seed: pack(folder) for seed, folder in folders.items()}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    return ended | {"shipped": shipped}


def _fetch(carried: list[Any]) -> dict[int, Content]:
    import ray

    found: dict[int, Content] = {}
    for part in ray.get(carried) if carried else []:
        found |= part
    return found


def marker(token: str) -> str:
    """A file in the results' folder by which a task knows it."""
    return f".ray-{token}"


def pack(folder: Path) -> Content:
    """The files of a run, finished or not."""
    names = (str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        name: files.read_bytes(folder / name, run_folder.MAX_FILE_BYTES)
        for name in names
        if _SHIPPED.fullmatch(name)
    }


def unpack(folder: Path, content: Content) -> None:
    """Write a run's files, its manifest last. For the holder of the lock."""
    for name in content:
        if not _SHIPPED.fullmatch(name):
            raise DamagedFile(folder / name, "came from a Ray task but is no file of a run")
    for name in sorted(content, key=lambda name: name == run_folder.DONE):
        files.make_folder((folder / name).parent)
        files.write_bytes(folder / name, content[name])
