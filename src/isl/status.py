"""What can become of a run, and what the command line returns for it: defined only here."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum


class Status(StrEnum):
    """Where a run stands. The values appear in `summary.json` and in `isl status`."""

    DONE = "done"  # the whole budget was spent
    DIVERGED = "diverged"  # values not finite, or far from possible; repeating changes nothing
    FAILED = "failed"  # something outside the algorithm raised; repeating may help
    DAMAGED = "damaged"  # finished once, but its files no longer match their checksums
    INTERRUPTED = "interrupted"  # started, unfinished, nobody at work; continues from a checkpoint
    RUNNING = "running"  # a process holds the run's lock
    PENDING = "pending"  # asked for, not started

    @property
    def is_final(self) -> bool:
        """Whether a run in this state is skipped when its command is repeated."""
        return self in (Status.DONE, Status.DIVERGED)


class ExitCode(IntEnum):
    """What a command returns to the shell."""

    OK = 0  # everything asked for is done
    FAILED = 1  # some run failed, diverged or is damaged; the command names it
    USAGE = 2  # bad usage; one line says what to change
    INTERRUPTED = 130  # stopped with work left; the same command continues


def exit_code(statuses: Iterable[Status]) -> ExitCode:
    """The code of a command that was responsible for runs in these states.

    Work left outranks failure: whoever waits for the command must know first that it can go on.
    """
    found = set(statuses)
    if found & {Status.INTERRUPTED, Status.RUNNING, Status.PENDING}:
        return ExitCode.INTERRUPTED
    if found & {Status.FAILED, Status.DIVERGED, Status.DAMAGED}:
        return ExitCode.FAILED
    return ExitCode.OK
