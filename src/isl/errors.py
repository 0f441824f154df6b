"""The exceptions that a user may meet. Each message is one line that says what to do."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable


class UsageError(ValueError):
    """Bad input from the user.

    Its message is one line that says what is wrong, what was expected and how to fix it. The
    command line prints that line and exits with code 2, without a traceback.
    """


class DamagedFile(RuntimeError):
    """A file that is not what its writer left, or not what the reader asked for: never loaded."""

    def __init__(self, path: os.PathLike[str] | str, reason: str) -> None:
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.path = os.fspath(path)
        self.reason = reason


class UnsupportedFormat(DamagedFile):
    """A file written by another version of the project, in a format this one does not read."""


class CannotWrite(OSError):
    """A write that the operating system refused; what the path held before is untouched."""

    def __init__(self, path: os.PathLike[str] | str, error: OSError) -> None:
        super().__init__(error.errno, error.strerror or str(error), os.fspath(path))

    def __str__(self) -> str:
        return (
            f"cannot write {self.filename}: {self.strerror}; "
            "finished files are intact, so repeat the command once that is solved"
        )


class Locked(RuntimeError):
    """Another process is at work in the same folder."""

    def __init__(self, path: os.PathLike[str] | str) -> None:
        super().__init__(f"{os.fspath(path)} is held by another process: wait for it to end")


class EnvironmentFault(RuntimeError):
    """An environment that raised, hung, or gave what cannot be learned from, and at which step."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` may be a slip of; None if none is that much alike."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.65)
    return found[0] if found else None
