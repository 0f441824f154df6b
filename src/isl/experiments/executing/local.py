"""Where runs are computed. `local`: a process per core, each pinned and with one XLA thread.

One thread per process, a process per core, gives the most runs per hour: XLA's own threads do not
speed up matrices of this size. Ray is in `ray_executor`.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from isl.errors import CannotWrite, UsageError
from isl.experiments.executing import cores
from isl.experiments.executing.interruption import silence
from isl.experiments.executing.plan import (
    Job,
    Plan,
    Settings,
    StopRequests,
    Supervision,
    stop_requests,
)
from isl.status import ExitCode, Status
from isl.storage import files
from isl.training.python_envs.step_limit import Board

GRACE_SECONDS = 7.0  # for a worker to finish its chunk and write its checkpoint
HANG_SECONDS = 2.0  # beyond the limit of a step, for a worker to interrupt it by itself

__all__ = ["Job", "run_locally"]


@dataclass
class _Worker:
    process: subprocess.Popen[str]
    core: int | None
    listener: threading.Thread | None = None
    job: int | None = None
    program: str = ""  # what it has compiled last
    board: Board | None = None  # where it says which step of an environment it is at
    hung: str = ""  # why it had to be ended

    def send(self, message: dict[str, Any]) -> None:
        """Give it a job. If it has died meanwhile, its listener is about to say so."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def ask_to_stop(self) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()


@dataclass
class _Pool:
    """The workers at work on a plan, and what they say (None: its last word)."""

    plan: Plan
    settings: Settings
    events: queue.Queue[tuple[_Worker, dict[str, Any] | None]] = field(default_factory=queue.Queue)
    workers: list[_Worker] = field(default_factory=list)
    closing: bool = False


def run_locally(
    jobs: list[Job],
    root: Path,
    *,
    workers: int | None = None,
    settings: Settings | None = None,
    supervision: Supervision | None = None,
) -> ExitCode:
    """Run all jobs, show how they go, and return the exit code of the command that wanted them."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers must be at least 1, got {workers}")
    plan = Plan(jobs, root, supervision)
    pool = _Pool(plan, settings or Settings())
    most = workers or max(len(cores.available()), 1)
    with plan.display, stop_requests() as stop:
        try:
            while not stop.count and (plan.unfinished or _working(pool)):
                plan.look_again()
                while len(pool.workers) < min(most, _working(pool) + plan.size):
                    taken = [worker.core for worker in pool.workers]
                    _start_worker(pool, cores.freest(taken))
                _assign(pool)
                _handle_event(pool, timeout=0.5)
                _end_hung(pool)
        except OSError as error:
            if error.errno != errno.EIO or isinstance(error, CannotWrite):
                raise
            silence()  # the terminal was closed while we wrote to it; its signal is on the way
            stop.count += 1
        finally:
            _stop_workers(pool, stop)
    return plan.close()


def _working(pool: _Pool) -> int:
    return sum(worker.job is not None for worker in pool.workers)


def _start_worker(pool: _Pool, core: int | None) -> None:
    # -P: the folder the command was given in is not searched for modules.
    arguments = [sys.executable, "-P", "-m", cores.WORKER]
    if core is not None:
        arguments += ["--core", str(core)]
    board, shared = None, []
    if pool.settings.step_timeout is not None:
        board, descriptor = Board.make()
        shared = [descriptor]
        arguments += ["--board", str(descriptor)]
    try:
        with _log(pool.plan.root, core) as log:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                pass_fds=shared,
                start_new_session=True,  # a Ctrl-C in the terminal reaches only us
            )
    finally:
        for descriptor in shared:
            os.close(descriptor)
    worker = _Worker(process, core, board=board)
    worker.listener = threading.Thread(target=_listen, args=(pool, worker), daemon=True)
    worker.listener.start()
    pool.workers.append(worker)


def _log(root: Path, core: int | None) -> IO[str]:
    """Where a worker's own words go; it reads them too, to cut them when they are too many."""
    path = root / "logs" / f"worker-{core}.log"
    files.make_folder(path.parent)
    try:
        # Several commands may share the folder, and so the file.
        return path.open("a+")
    except OSError as error:
        raise CannotWrite(path, error) from error


def _listen(pool: _Pool, worker: _Worker) -> None:
    assert worker.process.stdout is not None
    with worker.process.stdout as lines:
        for line in lines:
            with suppress(ValueError):  # cut off by the death of the worker
                pool.events.put((worker, json.loads(line)))
    pool.events.put((worker, None))


def _assign(pool: _Pool) -> None:
    """Give every idle worker a job, one whose program it has compiled if there is one."""
    for worker in pool.workers:
        if worker.job is None and worker.process.poll() is None:
            busy = {other.program for other in pool.workers if other.job is not None}
            number = pool.plan.take(worker.program, busy)
            if number is None:
                return
            worker.job, worker.program = number, pool.plan.jobs[number].program
            worker.send(pool.plan.message(number, pool.settings))


def _handle_event(pool: _Pool, timeout: float) -> None:
    """Take in one message of a worker, if one comes in time."""
    try:
        worker, event = pool.events.get(timeout=timeout)
    except queue.Empty:
        return
    if event is None:
        _handle_death(pool, worker)
    elif event["event"] == "progress":
        pool.plan.display.progress(event["job"], event)
    elif event["event"] == "end":
        worker.job = None
        pool.plan.ended(event["job"], {int(k): Status(v) for k, v in event["outcome"].items()})
    elif event["event"] == "failed":
        worker.job = None
        pool.plan.failed(event["job"], event["message"])


def _handle_death(pool: _Pool, worker: _Worker) -> None:
    """A worker that is gone: while there is work, another takes its place and its job."""
    pool.workers.remove(worker)
    code = worker.process.wait()
    worker.ask_to_stop()  # closes our end of its input
    if worker.board is not None:
        worker.board.close()
    if worker.job is not None:
        if worker.hung:
            pool.plan.give_up(worker.job, worker.hung)
        elif pool.closing:
            pool.plan.display.interrupted(worker.job)
        else:
            pool.plan.died(worker.job, f"with code {code}")


def _end_hung(pool: _Pool) -> None:
    """End workers whose environment hangs so deep that they cannot interrupt it themselves."""
    for worker in pool.workers:
        if worker.board is None or worker.job is None or worker.hung:
            continue
        step = worker.board.overdue(HANG_SECONDS)
        if step is not None:
            task, seconds = pool.plan.jobs[worker.job].spec.task, pool.settings.step_timeout
            worker.hung = (
                f"step {step} of {task}: took longer than {seconds:g} s and did not react: "
                "its process was ended"
            )
            worker.process.kill()


def _stop_workers(pool: _Pool, stop: StopRequests) -> None:
    """Ask, wait, insist; then hear their last words."""
    pool.closing = True
    for worker in pool.workers:
        worker.ask_to_stop()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in pool.workers:
        while worker.process.poll() is None and time.monotonic() < deadline and stop.count < 2:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(timeout=0.1)
        if worker.process.poll() is None:
            worker.process.kill()
    while pool.workers:  # each ends with None, which removes it
        _handle_event(pool, timeout=0.1)
