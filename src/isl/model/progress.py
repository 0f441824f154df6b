"""What `learn` shows and writes while it runs: a progress bar, and TensorBoard scalars."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from isl.errors import UsageError
from isl.training.episodes import Episodes
from isl.training.evaluations import Evaluated

if TYPE_CHECKING:
    from isl.storage.tensorboard import Log


Sink = Callable[[int, Mapping[str, float]], None]  # (environment steps, numbers by name)


class Logger:
    """Values by name, written to TensorBoard at `dump` if there is a folder for it.

    Args:
        folder: of all runs; None: nothing is written.
        run_name: what runs in it are called, before their numbers.
        step: what the x axis begins with. From 0 it is a new run, later an earlier one goes on.
        earlier: the folder of the run that goes on, if it lies in `folder`; default: the latest.
        shown: whether `dump` also prints what it writes.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        run_name: str = "run",
        step: int = 0,
        earlier: Path | None = None,
        shown: bool = False,
    ) -> None:
        self.values: dict[str, float] = {}  # the latest
        self._fresh: dict[str, float] = {}
        self.sinks: list[Sink] = []  # others that are told what is dumped
        self._shown = shown
        self.folder = earlier
        self._log: Log | None = None
        if folder is not None:
            # Only now: where PyTorch is installed, tensorboardX imports it, which takes seconds.
            from isl.storage.tensorboard import Log

            if Path(folder).is_file():
                raise UsageError(f"tensorboard_log={str(folder)!r} is a file; expected a folder")
            if step == 0:
                self.folder = _run(Path(folder), run_name, 1)
            elif earlier is None or earlier.parent != Path(folder):
                self.folder = _run(Path(folder), run_name, 0)
            assert self.folder is not None
            # TensorBoard drops what the run has from the first step of the new file on.
            self._log = Log(self.folder, step + 1 if step else 0)

    @property
    def working(self) -> bool:
        """Whether anything is written."""
        return bool(self.sinks) or (self._log is not None and self._log.working)

    def describe(self, **about: Any) -> None:
        """Say beside the log what is trained."""
        if self._log is not None and self.folder is not None:
            from isl.storage import tensorboard

            tensorboard.describe(self.folder, about)

    def record(self, key: str, value: Any, exclude: Any = None) -> None:
        """A number, to be written at the next `dump`; with `exclude` it is in `values` only."""
        self.values[key] = float(value)
        if not exclude:
            self._fresh[key] = self.values[key]

    def dump(self, step: int) -> None:
        """Write what was recorded, as of `step`."""
        fresh, self._fresh = self._fresh, {}
        if not fresh:
            return
        if self._log is not None:
            self._log.add(step, fresh)
        for sink in self.sinks:
            sink(step, fresh)
        if self._shown:
            print(_table(fresh | {"time/total_timesteps": step}))

    def close(self) -> None:
        if self._log is not None:
            self._log.close()


def checked_verbosity(given: Any) -> int:
    """0, 1 or 2; `UsageError` for anything else."""
    if given not in (0, 1, 2):
        raise UsageError(f"verbose must be 0 (quiet), 1 or 2 (print what is logged), got {given!r}")
    return int(given)


def _table(values: dict[str, float]) -> str:
    """Names and numbers in two columns."""
    rows = [(name, f"{value:.4g}") for name, value in sorted(values.items())]
    left, right = (max(map(len, column)) for column in zip(*rows, strict=True))
    rule = "-" * (left + right + 7)
    lines = [f"| {name:<{left}} | {value:<{right}} |" for name, value in rows]
    return "\n".join([rule, *lines, rule])


def _run(folder: Path, name: str, after: int) -> Path:
    """`folder/name_K`: K is `after` more than the latest that is there, and at least 1."""
    taken = [0]
    if folder.is_dir():
        for path in folder.iterdir():
            if found := re.fullmatch(re.escape(name) + r"_(\d+)", path.name):
                taken.append(int(found[1]))
    return folder / f"{name}_{max(1, max(taken) + after)}"


class Bar:
    """The progress bar, with the recent return beside it."""

    def __init__(self, total: int, shown: bool) -> None:
        self._progress = Progress(
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(table_column=Column(min_width=7, no_wrap=True)),  # never cut
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

    def update(
        self, done: int, episodes: Episodes, evaluated: Sequence[Evaluated] = (), last: bool = False
    ) -> None:
        """Ten times a second are enough."""
        now = time.perf_counter()
        if self._progress.disable or (now - self._drawn < 0.1 and not last):
            return
        self._drawn = now
        note = f"{episodes.finished} episodes"
        if episodes.recent:
            note += f", return {episodes.means()[0]:.4g}"
        if evaluated:
            note += f", greedy {evaluated[-1].return_mean:.4g}"
        speed = f"{done / max(now - self._began, 1e-9):,.0f}/s"
        self._progress.update(self._task, completed=done, speed=speed, note=note)
