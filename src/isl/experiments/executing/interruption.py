"""Being asked to stop: by Ctrl-C, by a TERM signal, or by the closing of the terminal."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from isl.status import ExitCode

_NAMES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def on_request(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` for each request, instead of dying of it. Does nothing outside the main thread.

    What was ignored stays so: `nohup` is how one asks to outlive the terminal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGHUP:
            silence()
        stop()

    heard = [name for name in _NAMES if signal.getsignal(name) is not signal.SIG_IGN]
    before = {name: signal.signal(name, handle) for name in heard}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def leave() -> None:
    """End the program at once, where it has nothing to bring to an end: files are whole anyhow.

    An exception would not do: raised while libraries are imported, some swallow it, and others
    crash when the interpreter then takes them down half made.
    """
    os._exit(ExitCode.INTERRUPTED)


def silence() -> None:
    """The terminal is gone, and writing to it is an error: what is still said goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        if stat.S_ISCHR(os.fstat(stream).st_mode):  # a terminal; files and pipes stay
            os.dup2(nowhere, stream)
    os.close(nowhere)
