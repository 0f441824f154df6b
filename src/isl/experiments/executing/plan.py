"""What is left of a sweep, whoever computes it: jobs that wait, and jobs that other processes hold.

Several processes may run the same sweep in one folder. Each run has one writer, the holder of its
lock; everybody else waits for it, and takes over if its process dies.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from isl.errors import CannotWrite, DamagedFile, Locked, UsageError
from isl.experiments.executing.display import Display
from isl.experiments.executing.interruption import on_request
from isl.experiments.spec import RunSpec
from isl.status import ExitCode, Status, exit_code
from isl.storage import files, requests, run_folder, store

TRIES = 3  # of a job whose worker dies under it
LOOK_AGAIN_SECONDS = 1.0  # between two looks at what other processes hold
SAVE_SECONDS = 15.0  # between two notes of the time left, for `isl status`


class Settings(NamedTuple):
    """How runs are conducted, without a change to any bit of their results."""

    snapshots: bool = False
    checkpoint_seconds: float | None = None  # between checkpoints; None: the runner's
    step_timeout: float | None = None  # of one step of a Python environment
    eval_every: int | None = None  # steps of training between evaluations; None: the usual
    eval_episodes: int = 0  # of a greedy evaluation; 0: none are made


@dataclass(frozen=True)
class Supervision:
    """What a command wants of its plan besides the jobs done; nothing that changes a result."""

    on_finished: Callable[[store.Run], None] = lambda run: None  # once per run, found or made
    core_seconds: float = math.inf  # no job is started once jobs have taken so much
    in_order: bool = False  # first things first, even if workers then compile more often


@dataclass(frozen=True)
class Job:
    """A cohort of seeds of one configuration."""

    spec: RunSpec
    seeds: tuple[int, ...]

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.spec.to_dict()

    @cached_property
    def program(self) -> str:
        """Jobs of the same program need one compilation in a process."""
        return run_folder.config_hash(self.config)

    def paths(self, root: Path) -> dict[int, Path]:
        return {seed: run_folder.run_path(root, self.config, seed) for seed in self.seeds}


class Plan:
    """The jobs of a command and how they stand. Executors take jobs and report their ends."""

    def __init__(self, jobs: list[Job], root: Path, supervision: Supervision | None = None) -> None:
        _check_writable(root)
        self.jobs = jobs
        self.root = root
        self._wish = supervision or Supervision()
        self.display = Display(root)
        self._waiting: list[int] = []
        self._held: set[int] = set()  # by other processes
        self._deaths: Counter[int] = Counter()
        self._told: set[Path] = set()  # finished runs that the command has heard of
        self._began: dict[int, float] = {}  # jobs that were taken and have not ended
        self._spent = 0.0  # core-seconds on jobs that have ended
        self._looked = self._saved = time.monotonic()
        for number, job in enumerate(jobs):
            self.display.plan(number, job.spec, job.seeds)
            if self._left(number):
                self._waiting.append(number)
        self.display.announce()
        paths = [path for job in jobs for path in job.paths(root).values()]
        self._request = requests.write(root, paths)

    @property
    def unfinished(self) -> bool:
        """Whether there is more to take, now or once another process lets go of it."""
        return bool(self._waiting or self._held)

    @property
    def size(self) -> int:
        """How many jobs wait to be taken."""
        return len(self._waiting)

    def take(self, compiled: str = "", busy: Collection[str] = ()) -> int | None:
        """The next job: of the program that is `compiled`, or of one that nobody is busy with."""
        if self._core_seconds() >= self._wish.core_seconds:
            self._waiting.clear()
            self._held.clear()
        while self._waiting:
            number = self._waiting[0]
            if not self._wish.in_order:
                programs = {n: self.jobs[n].program for n in self._waiting}
                number = min(programs, key=lambda n: (programs[n] != compiled, programs[n] in busy))
            self._waiting.remove(number)
            left = self._left(number)  # another process may have finished it meanwhile
            if any(files.is_locked(path / run_folder.LOCK) for path in left):
                self._hold(number)
            elif left:
                self.display.started(number, self.jobs[number].program == compiled)
                self._began[number] = time.monotonic()
                return number
        return None

    def message(self, number: int, settings: Settings) -> dict[str, Any]:
        """A job as it is sent to whoever computes it."""
        job = self.jobs[number]
        what = {"job": number, "spec": job.config, "seeds": list(job.seeds)}
        return what | {"root": str(self.root), **settings._asdict()}

    def look_again(self) -> None:
        """Take back what other processes held and no longer do; note how long it will take."""
        now = time.monotonic()
        if now - self._looked >= LOOK_AGAIN_SECONDS:
            self._looked = now
            for number in sorted(self._held):
                left = self._left(number)
                if not any(files.is_locked(path / run_folder.LOCK) for path in left):
                    self._held.remove(number)
                    if left:
                        self._waiting.append(number)
        if now - self._saved >= SAVE_SECONDS:
            self._saved = now
            requests.note_time_left(self._request, self.display.seconds_left())
        self.display.refresh()

    def ended(self, number: int, outcome: dict[int, Status]) -> None:
        """The job is over for the one who took it."""
        self._stop_clock(number)
        self.display.ended(number, outcome)
        paths = self.jobs[number].paths(self.root)
        for seed, status in outcome.items():
            if status.is_final:
                self._tell(store.read_run(paths[seed]))
        if Status.RUNNING in outcome.values():  # another process was quicker
            self._hold(number)

    def failed(self, number: int, message: str) -> None:
        self._stop_clock(number)
        self.display.failed(number, message)

    def died(self, number: int, how: str) -> None:
        """Whoever computed the job died (out of memory, say); it goes on elsewhere, some times."""
        self._stop_clock(number)
        self._deaths[number] += 1
        if self._deaths[number] < TRIES:
            self._waiting.insert(0, number)
            return
        self.give_up(number, f"its worker died {TRIES} times, last {how}")

    def give_up(self, number: int, message: str) -> None:
        """The job cannot be done; whoever computed it is gone and could not say so itself."""
        for path in self._left(number):
            try:
                with run_folder.lock(path):
                    run_folder.fail(path, message)
            except (Locked, CannotWrite):
                continue  # somebody else is at it, or the disk is the reason
        self.display.failed(number, message)

    def close(self) -> ExitCode:
        """Say what came of it all."""
        requests.note_time_left(self._request, None)
        self.display.results()
        return exit_code(self.display.statuses())

    def _tell(self, run: store.Run) -> None:
        if run.path not in self._told and run.status.is_final:
            self._told.add(run.path)
            self._wish.on_finished(run)

    def _stop_clock(self, number: int) -> None:
        now = time.monotonic()
        self._spent += now - self._began.pop(number, now)

    def _core_seconds(self) -> float:
        """What jobs have taken so far, compilation included: a job keeps one core busy."""
        now = time.monotonic()
        return self._spent + sum(now - began for began in self._began.values())

    def _hold(self, number: int) -> None:
        self._held.add(number)
        self.display.held(number)

    def _left(self, number: int) -> list[Path]:
        """The runs of a job to be done: not finished, nor damaged and not to be touched."""
        left = []
        for seed, path in self.jobs[number].paths(self.root).items():
            try:
                if run_folder.is_done(path):
                    run = store.read_run(path)
                    self.display.finished_before(number, seed, run)
                    self._tell(run)
                else:
                    left.append(path)
            except DamagedFile as error:
                self.display.damaged(number, seed, str(error))
        return left


def _check_writable(root: Path) -> None:
    try:
        files.make_folder(root)
        probe = root / f".writable-{os.getpid()}"
        files.write_bytes(probe, b"")
        files.remove(probe)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot write to --out {root}: {reason}; choose another folder") from None


class StopRequests:
    """How often the user asked to stop: the first time in order, the second time at once."""

    count = 0


@contextmanager
def stop_requests() -> Iterator[StopRequests]:
    """Count Ctrl-C, TERM and the closing of the terminal instead of dying of them."""
    requested = StopRequests()

    def stop() -> None:
        requested.count += 1

    with on_request(stop):
        yield requested
