"""Runs in processes of their own: rows as they end, failures told, an end when asked to."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isl.errors import UsageError
from isl.paper import trial_worker
from isl.paper.cases import Bar, Case
from isl.paper.comparisons import CONTROL, OURS, Contestant, Wanted
from isl.paper.trial_pool import run_all, run_apart

ROOT = Path(__file__).parents[2]
LAKE = Case("lake", "FrozenLake-v1", 100, 0.0, {"is_slippery": False}, looks=1, last_look=1,
            bar=Bar(mean=0.5))  # fmt: skip


class Heard:
    def __init__(self, unneeded=()):
        self.rows, self.failures, self.unneeded = [], [], unneeded

    def needed(self, run):
        return run.seed not in self.unneeded

    def done(self, run, row):
        self.rows.append((run, row))

    def failed(self, run, why):
        self.failures.append((run, why))


def test_rows_come_from_processes_and_failures_stop_nobody(tmp_path):
    broken = Wanted(Case("gone", "nowhere:Gone-v0", 100, 0.0), OURS, 0)
    runs = [Wanted(LAKE, OURS, 0), broken, Wanted(LAKE, OURS, 1)]
    heard = Heard(unneeded=(1,))
    assert run_all(runs, heard, tmp_path / "logs", workers=2)
    ((run, row),) = heard.rows
    assert run == runs[0]
    assert (row.env, row.agent, row.seed, row.steps) == ("lake", "seeker", 0, 100)
    ((failed, why),) = heard.failures
    assert failed == broken
    assert "gone needs the package nowhere" in why
    assert "trials.log" in why


def test_a_spent_budget_begins_nothing(tmp_path):
    heard = Heard()
    assert not run_all([Wanted(LAKE, OURS, 0)], heard, tmp_path, most_seconds=0.0)
    assert not heard.rows
    with pytest.raises(UsageError, match="--workers"):
        run_all([], heard, tmp_path, workers=0)


def test_a_worker_says_in_a_line_what_went_wrong(monkeypatch, capsys):
    told = {"case": vars(LAKE) | {"bar": vars(LAKE.bar)}, "contestant": CONTROL, "seed": 3}
    asked = []
    monkeypatch.setattr("isl.paper.trials.run_trial", lambda *run: asked.append(run) or 1 / 0)
    assert trial_worker.perform(told) == {"failed": "ZeroDivisionError: division by zero"}
    assert asked == [(LAKE, CONTROL, 3)]
    assert "Traceback" in capsys.readouterr().err


def test_a_run_apart_that_fails_is_an_error():
    with pytest.raises(UsageError, match="lake, seeker, seed 0: KeyError"):
        run_apart(LAKE, Contestant("seeker", variant="unknown"), 0)


SCRIPT = """
from isl.paper.cases import TABLES
from isl.paper.comparisons import OURS, Wanted
from isl.paper.trial_pool import run_all
from tests.paper.test_trial_pool import Heard
from pathlib import Path
print(run_all([Wanted(TABLES[0], OURS, 0)], Heard(), Path("logs"), workers=1), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_whoever_started_them(tmp_path, end):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, stdout=subprocess.PIPE
    )
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    deadline = time.monotonic() + 60
    while not children.read_text().split() and time.monotonic() < deadline:
        time.sleep(0.1)
    (worker,) = children.read_text().split()
    time.sleep(1)
    parent.send_signal(end)
    out, _ = parent.communicate(timeout=30)
    assert out == (b"False\n" if end == signal.SIGINT else b"")
    deadline = time.monotonic() + 30
    while Path(f"/proc/{worker}/cmdline").exists() and time.monotonic() < deadline:
        if not Path(f"/proc/{worker}/cmdline").read_bytes():
            break  # ended, and nobody has asked for its code
        time.sleep(0.1)
    assert time.monotonic() < deadline
