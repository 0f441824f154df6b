"""Being asked to stop: by Ctrl-C, by a TERM signal, or by the closing of the terminal."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_unheeded: list[int] = []  # signals since the outermost `on_request`; a process has one such list


@contextmanager
def on_request(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` for each request, instead of dying of it. Does nothing outside the main thread.

    What was ignored stays so: `nohup` is how one asks to outlive the terminal. A request that came
    earlier and was lost is heard now: a library that catches everything may have swallowed the
    exception of `interrupt` while it was imported.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGHUP:
            silence()
        _unheeded.append(signum)
        stop()

    outermost = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if _unheeded and not outermost:
        stop()
    heard = [name for name in _NAMES if signal.getsignal(name) is not signal.SIG_IGN]
    before = {name: signal.signal(name, handle) for name in heard}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
        if outermost:
            _unheeded.clear()


def interrupt() -> None:
    """What Ctrl-C does where nothing else was arranged."""
    raise KeyboardInterrupt


def silence() -> None:
    """The terminal is gone, and writing to it is an error: what is still said goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        if stat.S_ISCHR(os.fstat(stream).st_mode):  # a terminal; files and pipes stay
            os.dup2(nowhere, stream)
    os.close(nowhere)
