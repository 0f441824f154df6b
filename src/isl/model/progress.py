"""What `learn` shows and writes while it runs: a progress bar, and TensorBoard scalars."""

from __future__ import annotations

import re
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from isl.training.host.loop import Steps

RECENT = 100  # episodes that the means are taken over


class Episodes:
    """Returns and lengths of the episodes so far, cut out of the steps of E environments."""

    def __init__(self, width: int) -> None:
        self.open_returns = np.zeros(width, np.float64)
        self.open_lengths = np.zeros(width, np.int64)
        self.finished = 0
        self.recent: deque[tuple[float, int]] = deque(maxlen=RECENT)

    def add(self, steps: Steps) -> None:
        for env, reward, last in zip(
            steps.env.tolist(), steps.reward.tolist(), steps.last.tolist(), strict=True
        ):
            self.open_returns[env] += reward
            self.open_lengths[env] += 1
            if last:
                self.recent.append((float(self.open_returns[env]), int(self.open_lengths[env])))
                self.finished += 1
                self.open_returns[env] = self.open_lengths[env] = 0

    def means(self) -> tuple[float, float]:
        """Of the recent ones: (return, length)."""
        returns, lengths = zip(*self.recent, strict=True)
        return float(np.mean(returns)), float(np.mean(lengths))

    def state(self) -> dict[str, NDArray[Any]]:
        """For model files: the open episodes and the number of finished ones."""
        return {
            "open_returns": self.open_returns.copy(),
            "open_lengths": self.open_lengths.copy(),
            "finished": np.array(self.finished, np.int64),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue where `state` was taken."""
        self.open_returns = state["open_returns"].copy()
        self.open_lengths = state["open_lengths"].copy()
        self.finished = int(state["finished"])


class Logger:
    """Values by name, written to TensorBoard at `dump` if there is a folder for it."""

    def __init__(self, folder: str | Path | None = None, run_name: str = "run") -> None:
        self.values: dict[str, float] = {}  # the latest
        self._fresh: dict[str, float] = {}
        self._writer: Any = None
        if folder is not None:
            from tensorboardX import SummaryWriter

            self._writer = SummaryWriter(str(_next_run(Path(folder), run_name)))

    def record(self, name: str, value: float) -> None:
        """To be written at the next `dump`."""
        self._fresh[name] = self.values[name] = float(value)

    def dump(self, step: int) -> None:
        """Write what was recorded, as of `step`."""
        if self._writer is not None:
            for name, value in self._fresh.items():
                self._writer.add_scalar(name, value, step)
        self._fresh = {}

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


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
