"""A process that runs cohorts: jobs come in as JSON lines, progress and outcomes go out as such.

Started as `python -m isl.experiments.executing.worker --core K`, before JAX is imported, so that
the core and the number of XLA threads are settled. The end of its input is the request to stop: it
then writes checkpoints and leaves, also when whoever started it was killed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from isl.errors import CannotWrite, DamagedFile, EnvironmentFault, UsageError
from isl.training import program_cache
from isl.training.python_envs.step_limit import Board, StepLimit

XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false"  # one thread: same bits on any number of cores
LOG_BYTES = 1 << 19  # of a log; then only its later half is kept
Message = dict[str, Any]


def prepare_process(core: int | None) -> None:
    """One core, one XLA thread, compiled programs kept between processes."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    flags = os.environ.get("XLA_FLAGS", "").split()
    os.environ["XLA_FLAGS"] = " ".join([*(flag for flag in flags if flag != XLA_FLAGS), XLA_FLAGS])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.update(program_cache.variables())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--core", type=int)
    parser.add_argument("--board", type=int, help="descriptor of what the parent looks at")
    options = parser.parse_args()
    prepare_process(options.core)
    board = None if options.board is None else Board(options.board)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which tells us
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever an agent or a library prints must not mix with the messages

    jobs: queue.Queue[Message | None] = queue.Queue()
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: _stop(jobs, stopping))
    threading.Thread(target=_read, args=(jobs, stopping), daemon=True).start()

    import isl.experiments.running.runner  # noqa: F401  (JAX loads while the parent still plans)

    def send(message: Message) -> None:
        try:
            out.write(json.dumps(message) + "\n")
            out.flush()
        except BrokenPipeError:  # nobody listens any more
            stopping.set()
        bound_log()

    while (job := jobs.get()) is not None and not stopping.is_set():
        send(perform(job, send, stopping.is_set, board))
    return 0


def _read(jobs: queue.Queue[Message | None], stopping: threading.Event) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    _stop(jobs, stopping)


def _stop(jobs: queue.Queue[Message | None], stopping: threading.Event) -> None:
    stopping.set()
    jobs.put(None)


def bound_log() -> None:
    """Cut a long log, whoever wrote into it: an environment may print at every step."""
    about = os.fstat(2)
    if stat.S_ISREG(about.st_mode) and about.st_size > LOG_BYTES:
        with suppress(OSError):  # the log is for people; nothing depends on it
            kept = os.pread(2, LOG_BYTES // 2, about.st_size - LOG_BYTES // 2)
            os.ftruncate(2, 0)
            os.write(2, b"[earlier lines were cut]\n" + kept)


def perform(
    job: Message,
    send: Callable[[Message], None],
    should_stop: Callable[[], bool],
    board: Board | None = None,
) -> Message:
    """Run a job, sending its progress; the message that ends it. Nothing of a run's raises."""
    from isl.experiments.running.runner import CHECKPOINT_SECONDS, run_cohort
    from isl.experiments.running.seed_run import Progress
    from isl.experiments.spec import RunSpec
    from isl.storage import run_folder
    from isl.training.evaluations import Wish

    def listener(progress: Progress) -> None:
        send({"event": "progress", "job": job["job"], **progress._asdict()})

    spec, root = RunSpec(**job["spec"]), Path(job["root"])
    seconds, timeout = job["checkpoint_seconds"], job["step_timeout"]
    try:
        outcome = run_cohort(
            spec,
            job["seeds"],
            root,
            listener=listener,
            should_stop=should_stop,
            snapshots=job["snapshots"],
            checkpoint_seconds=CHECKPOINT_SECONDS if seconds is None else seconds,
            limit=None if timeout is None else StepLimit(timeout, board),
            wish=Wish(job["eval_every"], job["eval_episodes"]),
        )
        ended = {str(seed): status.value for seed, status in outcome.items()}
        return {"event": "end", "job": job["job"], "outcome": ended}
    except Exception as error:  # the run's fault, not the sweep's: record it and go on
        _log_traceback()
        message = _in_one_line(error)
        for seed in job["seeds"]:
            path = run_folder.run_path(root, job["spec"], seed)
            try:
                with run_folder.lock(path):
                    if not run_folder.is_done(path):
                        run_folder.fail(path, message)
            except Exception:
                _log_traceback()
        return {"event": "failed", "job": job["job"], "message": message}


def _in_one_line(error: Exception) -> str:
    """What happened; our own messages say it without the name of an exception."""
    ours = isinstance(error, CannotWrite | DamagedFile | EnvironmentFault | UsageError)
    return (str(error) if ours else f"{type(error).__name__}: {error}").splitlines()[0]


def _log_traceback() -> None:
    with suppress(OSError):  # a full disk must not hide what went wrong
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(main())
