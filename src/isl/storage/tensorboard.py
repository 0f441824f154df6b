"""TensorBoard logs, written and read.

    <run>/tensorboard/events.out.tfevents.<first step>      outside the manifest, like all logs

tensorboardX frames the records, but its `SummaryWriter` is not used: it hands events to a thread of
its own, and once that thread has died of a full disk the caller waits for it forever. A log that
cannot be written must not stop a run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import RecordWriter

from isl.storage import files

FOLDER = "tensorboard"
ROWS = 200  # of a run's log, over its budget: well under a megabyte
MAX_LOG_BYTES = 64 << 20

log = logging.getLogger(__name__)


class Log:
    """A file of events in `folder`, from environment step `step` on."""

    def __init__(self, folder: Path, step: int) -> None:
        self._path = folder / f"events.out.tfevents.{step:012d}"
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

    def close(self) -> None:
        self._log.close()


class Row(NamedTuple):
    """One row of a log."""

    step: int
    values: dict[str, float]


def read(folder: Path) -> list[Row]:
    """The rows of a folder's log files, in order; a torn last record is left out."""
    rows: dict[int, dict[str, float]] = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data = files.read_bytes(path, MAX_LOG_BYTES)
        at = 0
        while at + 12 <= len(data):  # length, its checksum, the event, its checksum
            size = int.from_bytes(data[at : at + 8], "little")
            if at + 16 + size > len(data):
                break
            event = Event.FromString(data[at + 12 : at + 12 + size])
            at += 16 + size
            values = {value.tag: float(value.simple_value) for value in event.summary.value}
            if values:
                rows.setdefault(event.step, {}).update(values)
    return [Row(step, values) for step, values in sorted(rows.items())]
