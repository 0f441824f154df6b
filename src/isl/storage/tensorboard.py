"""TensorBoard logs, written and read.

    <run>/tensorboard/events.out.tfevents.<first step>      outside the manifest, like all logs
    <log of learn>/events.out.tfevents.<first step>         with about.json: what was trained

tensorboardX frames the records, but its `SummaryWriter` is not used: it hands events to a thread of
its own, and once that thread has died of a full disk the caller waits for it forever. A log that
cannot be written must not stop a run.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import RecordWriter, masked_crc32c

from isl.errors import DamagedFile
from isl.storage import files

FOLDER = "tensorboard"
EVENTS = "events.out.tfevents."  # how the names of log files begin
ABOUT, FORMAT = "about.json", 1
ROWS = 200  # of a run's log, over its budget: well under a megabyte
MAX_LOG_BYTES = 64 << 20

log = logging.getLogger(__name__)


class Log:
    """A file of events in `folder`, from environment step `step` on."""

    def __init__(self, folder: Path, step: int) -> None:
        self._path = folder / f"{EVENTS}{step:012d}"
        self._file: RecordWriter | None = None
        try:
            files.make_folder(folder)
            self._path.unlink(missing_ok=True)
            self._file = RecordWriter(str(self._path))
        except OSError as error:
            self._give_up(error)
        self._append(Event(wall_time=time.time(), file_version="brain.Event:2"))
        # What an interrupted attempt wrote beyond its checkpoint is void.
        again = SessionLog(status=SessionLog.START)
        self._append(Event(wall_time=time.time(), step=step, session_log=again))

    @property
    def working(self) -> bool:
        """Whether rows are still written."""
        return self._file is not None

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """A row: values by name, as of environment step `step`."""
        row = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._append(Event(wall_time=time.time(), step=step, summary=Summary(value=row)))

    def close(self) -> None:
        """Nothing is written after this."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                self._give_up(error)

    def _append(self, event: Event) -> None:
        if self._file is None:
            return
        try:
            self._file.write(event.SerializeToString())
            self._file.flush()  # to be seen at once
        except OSError as error:
            self.close()
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        log.warning("no more TensorBoard rows in %s: %s", self._path, error)


class RunLog:
    """The log of one run: at most `ROWS` rows over its budget."""

    def __init__(self, run_dir: Path, budget: int, done: int, step: int) -> None:
        """`done` of `budget` is over, in its unit (episodes or steps); `step` counts steps."""
        self._log = Log(run_dir / FOLDER, step)
        self._every = budget / ROWS
        self._next = float(done)

    def due(self, done: int) -> bool:
        """Whether it is time for a row."""
        return self._log.working and done >= self._next

    def add(self, done: int, step: int, values: Mapping[str, float]) -> None:
        """A row: values by name, as of environment step `step`."""
        self._next = (done // self._every + 1) * self._every
        self._log.add(step, values)

    def note(self, step: int, values: Mapping[str, float]) -> None:
        """Values that come when they come: the rows stay where they are."""
        self._log.add(step, values)

    def close(self) -> None:
        self._log.close()


def describe(folder: Path, about: Mapping[str, Any]) -> None:
    """Say what a log outside of a run's folder is of; like the log, it must not stop a training."""
    try:
        files.write_sealed_json(folder / ABOUT, {"format": FORMAT, **about})
    except OSError as error:
        log.warning("%s", error)


def described(folder: Path) -> dict[str, Any]:
    """What `describe` wrote; nothing if it was not called."""
    path = folder / ABOUT
    return files.read_sealed_json(path, FORMAT) if path.exists() else {}


class Row(NamedTuple):
    """One row of a log."""

    step: int
    values: dict[str, float]


def read(folder: Path) -> list[Row]:
    """The rows of a folder's log files, in order; a torn last record is left out."""
    rows: dict[int, dict[str, float]] = {}
    for path in sorted(folder.glob(f"{EVENTS}*")):
        for event in _events(path):
            values = {value.tag: float(value.simple_value) for value in event.summary.value}
            if values:
                rows.setdefault(event.step, {}).update(values)
    return [Row(step, values) for step, values in sorted(rows.items())]


def _events(path: Path) -> Iterator[Event]:
    """The records of a file: length, its checksum, the event, its checksum."""
    data = files.read_bytes(path, MAX_LOG_BYTES)
    at = 0
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        parts = [(at, 8)] if at + 16 + size > len(data) else [(at, 8), (at + 12, size)]
        for begin, length in parts:
            end = begin + length
            if data[end : end + 4] != struct.pack("<I", masked_crc32c(data[begin:end])):
                raise DamagedFile(path, f"its record at byte {at} does not match its checksum")
        if len(parts) == 1:  # whoever wrote it was killed
            return
        try:
            yield Event.FromString(data[at + 12 : at + 12 + size])
        except DecodeError:
            raise DamagedFile(path, f"its record at byte {at} is no event") from None
        at += 16 + size
