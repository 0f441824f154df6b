"""What `learn` shows and writes while it runs: a progress bar, and TensorBoard scalars."""

from __future__ import annotations

import re
import time
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from isl.storage.tensorboard import Log
from isl.training.episodes import Episodes


class Logger:
    """Values by name, written to TensorBoard at `dump` if there is a folder for it."""

    def __init__(self, folder: str | Path | None = None, run_name: str = "run") -> None:
        self.values: dict[str, float] = {}  # the latest
        self._fresh: dict[str, float] = {}
        self._log = None if folder is None else Log(_next_run(Path(folder), run_name), 0)

    @property
    def working(self) -> bool:
        """Whether anything is written."""
        return self._log is not None and self._log.working

    def record(self, name: str, value: float) -> None:
        """To be written at the next `dump`."""
        self._fresh[name] = self.values[name] = float(value)

    def dump(self, step: int) -> None:
        """Write what was recorded, as of `step`."""
        if self._log is not None and self._fresh:
            self._log.add(step, self._fresh)
        self._fresh = {}

    def close(self) -> None:
        if self._log is not None:
            self._log.close()


def _next_run(folder: Path, name: str) -> Path:
    """`folder/name_1`, or the first number that is free."""
    taken = [0]
    if folder.is_dir():
        for path in folder.iterdir():
            if found := re.fullmatch(re.escape(name) + r"_(\d+)", path.name):
                taken.append(int(found[1]))
    return folder / f"{name}_{max(taken) + 1}"


class Bar:
    """The progress bar, with the recent return beside it."""

    def __init__(self, total: int, shown: bool) -> None:
        self._progress = Progress(
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            disable=not shown,
        )
        self._task = self._progress.add_task("", total=total, speed="", note="")
        self._began = self._drawn = time.perf_counter()

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, done: int, episodes: Episodes, last: bool = False) -> None:
        """Ten times a second are enough."""
        now = time.perf_counter()
        if self._progress.disable or (now - self._drawn < 0.1 and not last):
            return
        self._drawn = now
        note = f"{episodes.finished} episodes"
        if episodes.recent:
            note += f", mean return {episodes.means()[0]:.4g}"
        speed = f"{done / max(now - self._began, 1e-9):,.0f}/s"
        self._progress.update(self._task, completed=done, speed=speed, note=note)
