"""Where runs are computed. `local`: a process per core, each pinned and with one XLA thread.

Measured (docs/performance.md): one thread per process, a process per core, gives the most runs per
hour; XLA's own threads do not speed up matrices of this size.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isl import files
from isl.errors import DamagedFile, UsageError
from isl.experiments import run_folder, store
from isl.experiments.display import Display
from isl.experiments.spec import RunSpec
from isl.status import ExitCode, Status, exit_code

GRACE_SECONDS = 8.0  # for a worker to finish its chunk and write its checkpoint
TRIES = 3  # of a job whose worker dies under it


@dataclass(frozen=True)
class Job:
    """A cohort of seeds of one configuration."""

    spec: RunSpec
    seeds: tuple[int, ...]


@dataclass
class _Worker:
    process: subprocess.Popen[str]
    core: int | None
    job: int | None = None
    program: str = ""  # what it has compiled last

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask_to_stop(self) -> None:
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()


@dataclass
class _Sweep:
    """The state of `run_locally`: what is left, who is at work, what became of what."""

    jobs: list[Job]
    root: Path
    snapshots: bool
    display: Display
    waiting: list[int]
    events: queue.Queue[tuple[_Worker, dict[str, Any] | None]] = field(default_factory=queue.Queue)
    workers: list[_Worker] = field(default_factory=list)
    tries: dict[int, int] = field(default_factory=dict)
    stops: int = 0  # how often the user asked to stop


def run_locally(
    jobs: list[Job], root: Path, *, workers: int | None = None, snapshots: bool = False
) -> ExitCode:
    """Run all jobs, show how they go, and return the exit code of the command that wanted them."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    if workers is not None and workers < 1:
        raise UsageError(f"--workers must be at least 1, got {workers}")
    _check_writable(root)
    display = Display(root)
    waiting = []
    for number, job in enumerate(jobs):
        display.plan(number, job.spec, job.seeds)
        left = [seed for seed in job.seeds if not _finished(root, job.spec, seed, display, number)]
        if left:
            waiting.append(number)
    sweep = _Sweep(jobs, root, snapshots, display, waiting)
    count = min(workers or len(cores), len(waiting))
    with display, _signals(sweep):
        try:
            for index in range(count):
                _start_worker(sweep, cores[index % len(cores)])
            while sweep.waiting or any(worker.job is not None for worker in sweep.workers):
                if sweep.stops:
                    break
                _assign(sweep)
                _handle_event(sweep)
        finally:
            _stop_workers(sweep)
    display.results()
    return exit_code(display.statuses())


def _check_writable(root: Path) -> None:
    try:
        files.make_folder(root)
        probe = root / f".writable-{os.getpid()}"
        files.write_bytes(probe, b"")
        files.remove(probe)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot write to --out {root}: {reason}; choose another folder") from None


def _finished(root: Path, spec: RunSpec, seed: int, display: Display, number: int) -> bool:
    """Whether there is nothing left to do for a run: it is done, or damaged and not to be touched."""
    path = run_folder.run_path(root, spec.to_dict(), seed)
    try:
        if not run_folder.is_done(path):
            return False
    except DamagedFile as error:
        display.damaged(number, seed, str(error))
        return True
    display.finished_before(number, seed, store.read_run(path))
    return True


def _start_worker(sweep: _Sweep, core: int | None) -> None:
    # -P: the folder the command was given in is not searched for modules.
    arguments = [sys.executable, "-P", "-m", "isl.experiments.worker"]
    if core is not None:
        arguments += ["--core", str(core)]
    logs = sweep.root / "logs"
    files.make_folder(logs)
    log = (logs / f"worker-{core}.log").open("w")
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,  # a Ctrl-C in the terminal reaches only us
    )
    log.close()
    worker = _Worker(process, core)
    sweep.workers.append(worker)
    threading.Thread(target=_listen, args=(sweep, worker), daemon=True).start()


def _listen(sweep: _Sweep, worker: _Worker) -> None:
    assert worker.process.stdout is not None
    for line in worker.process.stdout:
        try:
            sweep.events.put((worker, json.loads(line)))
        except ValueError:
            continue  # cut off by the death of the worker
    sweep.events.put((worker, None))


def _assign(sweep: _Sweep) -> None:
    """Give every idle worker a job, one whose program it has compiled if there is one."""
    for worker in sweep.workers:
        if worker.job is not None or not sweep.waiting or worker.process.poll() is not None:
            continue
        names = {n: run_folder.config_hash(sweep.jobs[n].spec.to_dict()) for n in sweep.waiting}
        taken = {other.program for other in sweep.workers if other.job is not None}
        number = min(
            sweep.waiting,
            key=lambda n: (names[n] != worker.program, names[n] in taken),
        )
        sweep.waiting.remove(number)
        worker.job, worker.program = number, names[number]
        job = sweep.jobs[number]
        worker.send(
            {
                "job": number,
                "spec": job.spec.to_dict(),
                "seeds": list(job.seeds),
                "root": str(sweep.root),
                "snapshots": sweep.snapshots,
            }
        )
        sweep.display.started(number)


def _handle_event(sweep: _Sweep, timeout: float = 0.5) -> bool:
    """Take in one message of a worker; False if none came in time."""
    try:
        worker, event = sweep.events.get(timeout=timeout)
    except queue.Empty:
        sweep.display.refresh()
        return False
    if event is None:
        _handle_death(sweep, worker)
    elif event["event"] == "progress":
        sweep.display.progress(event["job"], event)
    elif event["event"] == "end":
        worker.job = None
        sweep.display.ended(event["job"], {int(k): Status(v) for k, v in event["outcome"].items()})
    elif event["event"] == "failed":
        worker.job = None
        sweep.display.failed(event["job"], event["message"])
    return True


def _handle_death(sweep: _Sweep, worker: _Worker) -> None:
    """A worker that was killed (out of memory, say) is replaced; its job goes on elsewhere."""
    sweep.workers.remove(worker)
    code = worker.process.wait()
    number = worker.job
    if number is not None and not sweep.stops:
        sweep.tries[number] = sweep.tries.get(number, 0) + 1
        if sweep.tries[number] < TRIES:
            sweep.waiting.insert(0, number)
        else:
            sweep.display.failed(number, f"its worker died {TRIES} times, last with code {code}")
    if not sweep.stops and sweep.waiting:
        _start_worker(sweep, worker.core)


def _stop_workers(sweep: _Sweep) -> None:
    for worker in sweep.workers:
        worker.ask_to_stop()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in sweep.workers:
        while worker.process.poll() is None and time.monotonic() < deadline and sweep.stops < 2:
            try:
                worker.process.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
        if worker.process.poll() is None:
            worker.process.kill()
            worker.process.wait()
    while _handle_event(sweep, timeout=0.2):  # their last words
        pass


@contextmanager
def _signals(sweep: _Sweep) -> Iterator[None]:
    """The first Ctrl-C (or TERM, or a closed terminal) stops in order, the second at once."""

    def stop(signum: int, frame: Any) -> None:
        sweep.stops += 1

    names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.signal(name, stop) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
