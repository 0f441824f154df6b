"""The same sweep on Ray gives the same bits, on one node or two, with results here or shipped."""

import importlib.util
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from isl.cli.main import main
from isl.errors import DamagedFile
from isl.experiments.executing import ray, ray_task
from isl.experiments.executing.plan import Job, Plan, Settings
from isl.experiments.spec import resolve
from isl.status import Status
from isl.storage import files, run_folder, store, tensorboard
from tests.support import ray_nodes
from tests.support.sweeps import ISL, command, finish, hashes, start, tree, wait_for

pytestmark = pytest.mark.slow  # starts Ray

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'isl[ray]'"
)


class ReporterHere:
    """A task's reporter without Ray: it asks to stop after so many chunks."""

    def __init__(self, stop_after):
        self._chunks_left = stop_after

    def send(self, event):
        assert event["event"] == "progress"

    def should_stop(self):
        self._chunks_left -= 1
        return self._chunks_left < 0

    def flush(self):
        pass


@pytest.fixture
def job():
    return Job(resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=1_500), (3,))


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A node whose disk is not ours: its scratch folder, and a way to run a task there."""
    monkeypatch.setattr(ray_task.tempfile, "gettempdir", lambda: str(tmp_path / "node"))
    monkeypatch.setattr(ray_task, "prepare_process", lambda core: None)
    monkeypatch.setattr(ray_task, "_fetch", lambda carried: carried[0] if carried else {})

    monkeypatch.setattr(ray_task.os, "chdir", lambda folder: None)

    def run(board: Plan, stop_after=10**9, **wanted):
        monkeypatch.setattr(ray_task, "Reporter", lambda hub: ReporterHere(stop_after))
        (job,) = board.jobs
        begun = {seed: ray_task.pack(path) for seed, path in job.paths(board.root).items()}
        message = board.message(0, Settings(**wanted)) | {"folder": "/"}
        return ray_task.run_task(message, "t", [begun] if any(begun.values()) else [], None)

    return run


def test_results_are_shipped_from_a_node_that_does_not_see_the_folder(job, tmp_path, elsewhere):
    """Stopped there once: its checkpoint comes back, goes out again, and the bits are the same."""
    here = tmp_path / "here"
    board = Plan([job], here)
    stopped = elsewhere(board, stop_after=2)
    assert stopped["outcome"] == {"3": "interrupted"}
    assert not list(here.rglob("config.json"))
    ray._receive(board, 0, stopped)
    path = job.paths(here)[3]
    assert store.read_run(path).status is Status.INTERRUPTED
    assert list(path.glob("checkpoint/step-*.safetensors"))

    ended = elsewhere(board)
    assert ended["outcome"] == {"3": "done"}
    ray._receive(board, 0, ended)
    assert store.read_run(path).status is Status.DONE
    assert run_folder.verify(path) == []
    assert not list((tmp_path / "node").rglob("config.json"))  # nothing is left behind

    from isl.experiments.running.runner import run_cohort

    run_cohort(job.spec, [3], tmp_path / "whole")
    assert hashes(here) == hashes(tmp_path / "whole")
    assert len(hashes(here)) == 2


def comparable(path):
    """What is in a run's folder, by name; of timings only that they are there."""
    found = {}
    for file in sorted(path.rglob("*")):
        name = str(file.relative_to(path))
        if file.is_file() and file.suffix in (".parquet", ".safetensors"):
            found[name] = file.read_bytes()
        elif name.startswith("tensorboard/"):
            rows = tensorboard.read(file.parent)
            found[name] = [(row.step, *row.values) for row in rows]
        elif name == "config.json":
            found[name] = {k: v for k, v in files.read_json(file).items() if k in EQUAL}
        elif file.suffix == ".json":
            found[name] = sorted(files.read_json(file))
        elif file.is_file():
            found[name] = None
    return found


EQUAL = ("task", "agent", "seed", "config_hash", "config")  # of config.json, wherever it was made
WRITTEN = {
    *(".lock", "config.json", "episodes.parquet", "summary.json", "DONE.json"),
    *("checkpoint/final.safetensors", "tensorboard/events.out.tfevents.000000000000"),
}
TASKS = {"deep_sea/3": "snapshots.safetensors", "cartpole_swingup/0": "probes.safetensors"}


@pytest.mark.parametrize(("task", "beliefs"), TASKS.items())
def test_all_that_a_local_run_writes_is_shipped(tmp_path, elsewhere, task, beliefs):
    from isl.experiments.running.runner import run_cohort

    job = Job(resolve(task, "tests.support.counting_agent", {}, episodes=50), (3,))
    run_cohort(job.spec, [3], tmp_path / "local", snapshots=True)
    board = Plan([job], tmp_path / "here")
    ray._receive(board, 0, elsewhere(board, snapshots=True))
    local = comparable(job.paths(tmp_path / "local")[3])
    assert local.keys() == WRITTEN | {beliefs}
    assert comparable(job.paths(tmp_path / "here")[3]) == local


def test_results_are_written_in_place_where_the_folder_is(job, tmp_path, elsewhere):
    board = Plan([job], tmp_path / "here")
    (tmp_path / "here" / ray_task.marker("t")).touch()
    ended = elsewhere(board)
    assert ended["outcome"] == {"3": "done"}
    assert "shipped" not in ended
    assert run_folder.is_done(job.paths(tmp_path / "here")[3])


def test_a_shipped_file_cannot_leave_its_folder(tmp_path):
    strange = ("../x.json", "/etc/x.json", "checkpoint/../../x.json", "run.py", ".lock", "a/b.json")
    for name in strange:
        with pytest.raises(DamagedFile, match="no file of a run"):
            ray_task.unpack(tmp_path / "run", {name: b"x"})
    assert not list(tmp_path.iterdir())


def test_a_finished_run_is_not_overwritten(job, tmp_path, elsewhere):
    board = Plan([job], tmp_path / "here")
    ended = elsewhere(board)
    ray._receive(board, 0, ended)
    path = job.paths(tmp_path / "here")[3]
    before = (path / "DONE.json").stat().st_mtime_ns
    ray._receive(board, 0, ended)
    assert (path / "DONE.json").stat().st_mtime_ns == before


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path, capsys):
    import builtins

    original = builtins.__import__

    def without_ray(name, *rest):
        if name.partition(".")[0] == "ray":
            raise ModuleNotFoundError("No module named 'ray'", name="ray")
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    options = "sweep deep_sea --sizes 3 --executor ray --out"
    assert main([*options.split(), str(tmp_path / "runs")]) == 2
    assert "pip install 'isl[ray]'" in capsys.readouterr().err


def listening_at(member):
    """The addresses at which a process takes connections."""
    try:
        open_now = member.net_connections("inet")
    except psutil.NoSuchProcess:
        return set()
    return {c.laddr.ip for c in open_now if c.status == psutil.CONN_LISTEN}


@needs_ray
def test_a_ray_of_our_own_is_reachable_from_here_only(tmp_path):
    """The same bits as `local`; while it runs, nothing of it listens beyond this machine."""
    finish(command(tmp_path / "local", seeds=2))
    before = {process.pid for process in psutil.process_iter()}
    process = start(command(tmp_path / "ray", "--executor", "ray", seeds=2))
    wait_for(lambda: list((tmp_path / "ray").rglob("config.json")), 120)
    listening = set().union(*map(listening_at, tree(process)))
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert hashes(tmp_path / "ray") == hashes(tmp_path / "local")
    assert len(hashes(tmp_path / "ray")) == 8
    assert listening
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    left = [p for p in psutil.process_iter(["name"]) if p.pid not in before]
    assert not [p for p in left if "raylet" in p.info["name"] or "gcs" in p.info["name"]]
    assert not list((tmp_path / "ray").glob(".ray-*"))


@needs_ray
def test_nodes_that_do_not_see_the_folder_ship_all_that_a_local_run_writes(tmp_path):
    """Two nodes of a real cluster, to whom the results' folder is empty and not ours."""
    out = tmp_path / "ray"
    out.mkdir()
    if subprocess.run([*ray_nodes.HIDING, out, "true"], capture_output=True).returncode:
        pytest.skip("only root can hide a folder from a process")
    options = "--agents tests.support.counting_agent --episodes 50 --snapshots"
    wanted = [*TASKS, *options.split()]
    finish([*ISL, "sweep", *wanted, "--out", tmp_path / "local"])
    with ray_nodes.cluster(hidden=out) as (address, environment, _):
        more = ["--executor", "ray", "--ray-address", address, "--out", out]
        finish([*ISL, "sweep", *wanted, *more], env=environment)
    runs = [run.path.relative_to(out) for run in store.scan(out)]
    assert len(runs) == 2
    for run in runs:
        local = comparable(tmp_path / "local" / run)
        assert local.keys() > WRITTEN
        assert comparable(out / run) == local


@needs_ray
def test_half_of_the_nodes_may_die(tmp_path):
    """Two nodes, one killed after the first results: everything is done, same bits as `local`."""
    finish(command(tmp_path / "local"))
    out = tmp_path / "ray"
    with ray_nodes.cluster() as (address, environment, nodes):
        ray = ("--executor", "ray", "--ray-address", address)
        process = start(command(out, *ray), env=environment)
        wait_for(lambda: len(list(out.rglob("config.json"))) >= 2, 120)
        assert ray_nodes.kill_node(nodes[1]) > 1
        printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert hashes(out) == hashes(tmp_path / "local")
    assert len(hashes(out)) == 16


@needs_ray
def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    more = ("--executor", "ray", "--ray-address", address)
    printed = finish(command(Path(tmp_path, "runs"), *more), code=2)
    assert f"cannot connect to Ray at {address}" in printed.splitlines()[-1]
