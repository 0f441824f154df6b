"""Sweeps that are killed, raced, interrupted or broken end with the results they would have."""

import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from isl.experiments.executing import cores
from isl.experiments.executing.plan import TRIES, Job, Plan
from isl.experiments.spec import resolve
from isl.status import ExitCode, Status
from isl.storage import files, run_folder, store
from tests.support.sweeps import at_work, command, finish, hashes, kill, start, tree, wait_for

pytestmark = pytest.mark.slow  # starts and kills workers


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The sweep, undisturbed: 8 runs."""
    out = tmp_path_factory.mktemp("whole")
    printed = finish(command(out))
    assert printed.startswith("8 runs asked for: none done, 8 left\n")
    found = hashes(out)
    assert len(found) == 16
    return found


def test_killed_again_and_again_and_continued(whole, tmp_path):
    """SIGKILL to the command and its workers, at any moment, loses nothing that was finished."""
    rng = random.Random(0)
    for kills in range(5):
        process = start(command(tmp_path, "--checkpoint-seconds", "0", "--workers", "1"))
        # The workers are there, or the sweep was finished before the last kill.
        wait_for(lambda process=process: len(tree(process)) > 1 or process.poll() is not None)
        if kills:  # once while they start, else in the middle of a run
            wait_for(lambda process=process: at_work(tmp_path) or process.poll() is not None)
        time.sleep(rng.uniform(0.0, 2.0))
        kill(process)
        for name, digest in hashes(tmp_path).items():
            assert whole[name] == digest
    finish(command(tmp_path))
    assert hashes(tmp_path) == whole
    assert all(run_folder.verify(run.path) == [] for run in store.scan(tmp_path))
    assert not list(tmp_path.rglob(".tmp-*/*"))


def test_simultaneous_starts_share_the_work(whole, tmp_path):
    """Each run is done by one of them; all of them wait for it and end well."""
    processes = [start(command(tmp_path, "--workers", "1")) for _ in range(3)]
    printed = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], printed
    assert hashes(tmp_path) == whole
    assert sum(text.count(": done, 2000 episodes") for text in printed) == 8
    assert not any(files.is_locked(run.path / run_folder.LOCK) for run in store.scan(tmp_path))


def test_ctrl_c_stops_in_time_and_leaves_nobody(whole, tmp_path):
    process = start(command(tmp_path))
    wait_for(lambda: list(tmp_path.rglob("config.json")))
    members = tree(process)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == 130, printed
    assert time.monotonic() - began < 10
    assert "runs are left; repeat the command" in printed
    assert len(members) > 1
    assert not [member for member in members if member.is_running()]
    finish(command(tmp_path))
    assert hashes(tmp_path) == whole


def test_a_killed_worker_is_replaced(whole, tmp_path):
    process = start(command(tmp_path, "--workers", "1"))
    wait_for(lambda: list(tmp_path.rglob("config.json")))
    (worker,) = (member for member in tree(process) if cores.WORKER in member.cmdline())
    worker.send_signal(signal.SIGKILL)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert hashes(tmp_path) == whole


def test_workers_leave_when_their_parent_is_killed(tmp_path):
    process = start(command(tmp_path, episodes=10**7))
    wait_for(lambda: list(tmp_path.rglob("config.json")))
    workers = tree(process)[1:]
    process.kill()
    process.communicate()
    gone, left = psutil.wait_procs(workers, timeout=30)
    assert gone
    assert not left


def test_a_diverged_run_is_named_and_disturbs_nobody(whole, tmp_path):
    """One configuration more, made to give NaN: exit code 1, its update named, others unchanged."""
    grid = ("--grid", "diverge_at=1000000,700")
    printed = finish(command(tmp_path, *grid, seeds=1), code=1)
    assert "diverge_at=700 seed 0: diverged: update 700" in printed
    found = hashes(tmp_path)
    assert len(found) == 8
    assert {name for name in found if "seed-0" in name and name in whole} == {
        name for name in whole if "seed-0" in name
    }
    assert all(found[name] == whole[name] for name in found if name in whole)
    statuses = [run.status for run in store.scan(tmp_path)]
    assert sorted(statuses) == [Status.DIVERGED, Status.DIVERGED, Status.DONE, Status.DONE]
    assert finish(command(tmp_path, *grid, seeds=1), code=1).count("started") == 0


def test_adding_and_reordering_runs_changes_no_result(whole, tmp_path):
    """More seeds and sizes later, in another order: what was there is not touched."""
    arguments = command(tmp_path, seeds=1)
    sizes = arguments.index("--sizes")
    finish([*arguments[: sizes + 1], "4", *arguments[sizes + 3 :]])
    (first,) = tmp_path.rglob("DONE.json")
    before = first.stat().st_mtime_ns
    printed = finish([*arguments[: sizes + 1], "4", "3", *arguments[sizes + 3 :], "--seeds", "2"])
    assert printed.startswith("4 runs asked for: 1 done, 3 left\n")
    assert first.stat().st_mtime_ns == before
    found = hashes(tmp_path)
    assert len(found) == 8
    assert all(found[name] == whole[name] for name in found)


# ---------------------------------------------------------------------------- the plan alone


@pytest.fixture
def job():
    spec = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=50, cohort_width=2)
    return Job(spec, (0, 1))


def test_a_run_that_another_process_holds_is_waited_for(job, tmp_path, monkeypatch):
    monkeypatch.setattr("isl.experiments.executing.plan.LOOK_AGAIN_SECONDS", 0.0)
    plan = Plan([job], tmp_path)
    with run_folder.lock(job.paths(tmp_path)[1]):
        assert plan.take() is None
        plan.look_again()
        assert plan.take() is None
        assert plan.unfinished
    plan.look_again()
    assert plan.take() == 0
    plan.ended(0, {0: Status.DONE, 1: Status.RUNNING})  # somebody was quicker after all
    assert plan.unfinished
    plan.look_again()
    assert plan.take() == 0


def test_a_job_that_kills_its_workers_is_given_up(job, tmp_path, capsys):
    plan = Plan([job], tmp_path)
    for _ in range(TRIES):
        assert plan.take() == 0
        plan.died(0, "with code -9")
    assert not plan.unfinished
    assert plan.close() == ExitCode.FAILED
    assert "seed 1: failed: its worker died 3 times, last with code -9" in capsys.readouterr().out
    assert {run.status for run in store.scan(tmp_path)} == {Status.FAILED}


def test_a_damaged_result_is_neither_trusted_nor_redone(job, tmp_path, capsys):
    for path in job.paths(tmp_path).values():
        files.make_folder(path)
        (path / "DONE.json").write_text("{}")
    plan = Plan([job], tmp_path)
    assert plan.take() is None
    assert plan.close() == ExitCode.FAILED
    assert "damaged" in capsys.readouterr().out


def test_many_runs_are_shown_in_few_lines(tmp_path, capsys, monkeypatch):
    """600 runs: no table of 600 rows, lines only at starts and ends, and now and then a summary."""
    monkeypatch.setattr("isl.experiments.executing.display.SWEEP_LINE_SECONDS", 0.0)
    spec = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=100)
    plan = Plan([Job(spec, (seed,)) for seed in range(600)], tmp_path)
    event = {"steps": 9, "best_return": 0.1, "goal_visits": 0, "solved_episode": None}
    event |= {"steps_per_second": 1e3, "message": ""}
    event |= {"greedy_return": None, "best_greedy_return": None}
    for number in range(300):
        assert plan.take(spec.task) is not None
        for episodes, status in ((10, "running"), (50, "running"), (100, "done")):
            more = {"seed": number, "episodes": episodes, "status": status}
            plan.display.progress(number, event | more)
        plan.ended(number, {number: Status.DONE})
    plan.display.refresh()
    plan.close()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 2 * 300 + 20
    assert any(line.startswith("300 of 600 runs done") for line in lines)
    assert "300 of 600 runs are left; repeat the command" in lines


def test_the_executor_survives_a_worker_that_cannot_start(job, tmp_path, monkeypatch):
    """Every worker dies at once: the job is given up after some tries, nobody hangs."""
    from isl.experiments.executing import local

    original = subprocess.Popen
    monkeypatch.setattr(
        local.subprocess, "Popen", lambda arguments, **more: original(["false"], **more)
    )
    assert local.run_locally([job], tmp_path, workers=2) == ExitCode.FAILED
    failures = [Path(run.path, "failure.json").exists() for run in store.scan(tmp_path)]
    assert failures == [True, True]
