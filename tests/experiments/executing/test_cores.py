"""Which core a worker gets."""

import subprocess
import sys

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


def test_workers_of_other_commands_are_kept_away_from(three):
    asleep = [sys.executable, "-c", "input()", cores.WORKER, "--core"]
    with subprocess.Popen([*asleep, "901"], stdin=subprocess.PIPE):
        assert cores.freest() == 902
        assert cores.freest([902, 903]) == 901  # there is none of ours yet
        with subprocess.Popen([*asleep, "902"], stdin=subprocess.PIPE):
            assert cores.freest() == 903
    with subprocess.Popen([*asleep, "no number"], stdin=subprocess.PIPE):
        assert cores.freest() == 901


def test_where_cores_cannot_be_chosen_there_is_none(monkeypatch):
    monkeypatch.setattr(cores, "available", list)
    assert cores.freest([None]) is None
