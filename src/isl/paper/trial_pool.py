"""Runs of a comparison in processes of their own: each pinned to a core, with one thread.

One process per run: memory is given back, and compiled programs are kept on the disk anyway.
"""

from __future__ import annotations

import dataclasses
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from isl.errors import CannotWrite, UsageError
from isl.experiments.executing import cores
from isl.experiments.executing.plan import stop_requests
from isl.paper.cases import Case
from isl.paper.comparisons import Contestant, Wanted
from isl.paper.trial import Trial
from isl.storage import files

LOG = "trials.log"  # what workers, environments and libraries print


class Listener(Protocol):
    """Hears how the runs go."""

    def needed(self, run: Wanted) -> bool:
        """Asked before a run is begun: another command may have done it meanwhile."""

    def done(self, run: Wanted, row: Trial) -> None:
        """A run has ended."""

    def failed(self, run: Wanted, why: str) -> None:
        """A run has ended without a row."""


@dataclass
class _Worker:
    run: Wanted
    process: subprocess.Popen[str]
    core: int | None
    began: float = field(default_factory=time.monotonic)

    def send(self) -> None:
        """Tell it the run. If it has died meanwhile, its listener is about to say so."""
        case, contestant, seed = self.run
        told = {"case": dataclasses.asdict(case), "contestant": contestant, "seed": seed}
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(told) + "\n")
            self.process.stdin.flush()

    def end(self) -> None:
        """Now: there is nothing of a run to keep before its row."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()


def run_all(
    runs: Sequence[Wanted],
    listener: Listener,
    logs: Path,
    workers: int | None = None,
    most_seconds: float = float("inf"),
) -> bool:
    """Do runs in their order, several at a time; False if it ended before all were begun and done.

    Args:
        runs: what to do.
        listener: hears of each end.
        logs: folder of the log.
        workers: processes at a time; None: one per core.
        most_seconds: no run is begun once runs have taken so long together.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"--workers must be at least 1, got {workers}")
    pool = _Pool(list(runs), listener, logs, workers or max(len(cores.available()), 1))
    with stop_requests() as stop:
        try:
            while not stop.count and (pool.may_begin(most_seconds) or pool.busy):
                if pool.may_begin(most_seconds) and len(pool.busy) < pool.most:
                    pool.begin()
                else:
                    pool.hear()
        finally:
            for worker in pool.busy.values():
                worker.end()
    return not (stop.count or pool.left)


@dataclass
class _Pool:
    left: list[Wanted]
    listener: Listener
    logs: Path
    most: int  # workers
    busy: dict[int, _Worker] = field(default_factory=dict)  # by process
    spent: float = 0.0  # seconds, of those that ended
    said: queue.Queue[tuple[int, str]] = field(default_factory=queue.Queue)

    def may_begin(self, most_seconds: float) -> bool:
        now = time.monotonic()
        taken = self.spent + sum(now - worker.began for worker in self.busy.values())
        return bool(self.left) and taken < most_seconds

    def begin(self) -> None:
        """The next run, unless it is no longer needed."""
        run = self.left.pop(0)
        if not self.listener.needed(run):
            return
        core = cores.freest([worker.core for worker in self.busy.values()])
        # -P: the folder the command was given in is not searched for modules.
        arguments = [sys.executable, "-P", "-m", cores.TRIAL_WORKER]
        arguments += [] if core is None else ["--core", str(core)]
        files.make_folder(self.logs)
        try:
            log = (self.logs / LOG).open("a")
        except OSError as error:
            raise CannotWrite(self.logs / LOG, error) from error
        with log:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # a Ctrl-C in the terminal reaches only us
            )
        worker = self.busy[process.pid] = _Worker(run, process, core)
        worker.send()
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as stream:
            self.said.put((process.pid, stream.read()))

    def hear(self) -> None:
        """The end of a run, if one comes soon."""
        try:
            pid, text = self.said.get(timeout=0.2)
        except queue.Empty:
            return
        worker = self.busy.pop(pid)
        self.spent += time.monotonic() - worker.began
        try:
            answer = json.loads(text)
        except ValueError:  # it died
            answer = {"failed": f"its process ended with code {worker.process.wait()}"}
        worker.end()
        if "row" in answer:
            self.listener.done(worker.run, Trial(**answer["row"]))
        else:
            self.listener.failed(worker.run, f"{answer['failed']} ({self.logs / LOG})")


class _One:
    """Keeps the row of a single run."""

    row: Trial | None = None
    why = "it was interrupted"

    def needed(self, run: Wanted) -> bool:
        return True

    def done(self, run: Wanted, row: Trial) -> None:
        self.row = row

    def failed(self, run: Wanted, why: str) -> None:
        self.why = why


def run_apart(case: Case, contestant: Contestant, seed: int) -> Trial:
    """One run, in a process as those of `run_all`: threads may change the last bits."""
    one = _One()
    with tempfile.TemporaryDirectory() as folder:
        run_all([Wanted(case, contestant, seed)], one, Path(folder), workers=1)
    if one.row is None:
        raise UsageError(f"{case.name}, {contestant.agent}, seed {seed}: {one.why}")
    return one.row
