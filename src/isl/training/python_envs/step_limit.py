"""A bound on the time that one call into a Python environment may take.

SIGALRM interrupts an environment that hangs in Python. One that never returns from compiled code
can only be ended together with its process, by somebody else: a `Board`, shared between a worker
and the process that started it, says which step is at work and how long it may take.
"""

from __future__ import annotations

import math
import mmap
import os
import signal
import struct
import tempfile
import threading
import time
from types import FrameType
from typing import Any

from isl.errors import UsageError

_ENTRY = struct.Struct("=qd")  # the step, and when it must be over (0: none is at work)


class Expired(BaseException):
    """A call took too long. Not an `Exception`, lest the environment catch it and go on."""


class Board:
    """Memory that two processes share; times are of the machine's monotonic clock."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, _ENTRY.size)

    @staticmethod
    def make() -> tuple[Board, int]:
        """A new board, and the descriptor by which another process opens it."""
        with tempfile.TemporaryFile() as file:
            file.truncate(_ENTRY.size)
            return Board(file.fileno()), os.dup(file.fileno())

    def write(self, step: int, deadline: float) -> None:
        _ENTRY.pack_into(self._memory, 0, step, deadline)

    def overdue(self, grace: float) -> int | None:
        """The step at work, if it should have been over `grace` seconds ago."""
        step, deadline = _ENTRY.unpack_from(self._memory)
        return step if deadline and time.monotonic() > deadline + grace else None

    def close(self) -> None:
        self._memory.close()


class StepLimit:
    """`with limit.at(step): …` raises `Expired` in its block after `seconds`."""

    def __init__(self, seconds: float, board: Board | None = None) -> None:
        check_seconds(seconds, "step_timeout")
        if threading.current_thread() is not threading.main_thread():
            raise UsageError("step_timeout works in the main thread of a process only")
        self.seconds = seconds
        self._board = board
        self._step = 0
        self._before: Any = None

    def at(self, step: int) -> StepLimit:
        self._step = step
        return self

    def __enter__(self) -> None:
        if self._board is not None:
            self._board.write(self._step, time.monotonic() + self.seconds)
        self._before = signal.signal(signal.SIGALRM, self._expire)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        if self._board is not None:
            self._board.write(self._step, 0.0)

    def _expire(self, signum: int, frame: FrameType | None) -> None:
        raise Expired(f"took longer than {self.seconds:g} s")


def check_seconds(seconds: float, name: str) -> None:
    """A limit must be a time."""
    if not 0 < seconds < math.inf:
        raise UsageError(f"{name} must be a number of seconds above 0, got {seconds}")
