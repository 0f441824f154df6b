"""Which core a worker gets."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from isl.experiments.executing import cores


@pytest.fixture
def three(monkeypatch):
    """A machine with the cores 901, 902 and 903, which no worker of this one is on."""
    monkeypatch.setattr(cores, "available", lambda: [901, 902, 903])


def test_our_own_workers_are_spread_over_the_cores(three):
    assert cores.freest() == 901
    assert cores.freest([901]) == 902
    assert cores.freest([901, 902, 903, 901]) == 902


@contextmanager
def asleep_on(core: str) -> Iterator[None]:
    """A process that looks like another command's worker on `core`, once it is up.

    Its command line can be read only a moment after the process was started.
    """
    command = [sys.executable, "-c", "print(flush=True); input()", cores.WORKER, "--core", core]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield
        process.communicate(b"\n")


def test_workers_of_other_commands_are_kept_away_from(three):
    with asleep_on("901"):
        assert cores.freest() == 902
        assert cores.freest([902, 903]) == 901  # there is none of ours yet
        with asleep_on("902"):
            assert cores.freest() == 903
    with asleep_on("no number"):
        assert cores.freest() == 901


def test_where_cores_cannot_be_chosen_there_is_none(monkeypatch):
    monkeypatch.setattr(cores, "available", list)
    assert cores.freest([None]) is None
