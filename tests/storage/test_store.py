"""Runs are found again by their config, finished once, and never read when damaged."""

import ast
import errno
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isl.errors import CannotWrite, DamagedFile, Locked, UnsupportedFormat, UsageError
from isl.status import Status
from isl.storage import episodes, files, merge, provenance, run_folder, store
from tests.support.fault_injection import (
    CONFIG,
    failing_steps,
    parquet,
    recorded_steps,
    results,
    summary,
    write_run,
)

RESULTS = ["config.json", "episodes.parquet", "summary.json", "DONE.json"]
FIXTURES = Path(__file__).parents[1] / "fixtures"
FORMAT_1 = FIXTURES / "format-1"


@pytest.fixture
def fast_disk(monkeypatch):
    """Many runs, written without waiting for the disk."""
    monkeypatch.setattr(files.steps, "fsync", lambda fd: None)
    monkeypatch.setattr(files.steps, "fsync_dir", lambda path: None)


def reseal(run_dir, **changes):
    """Rewrite the manifest as somebody would who means harm; None drops an entry."""
    done = json.loads((run_dir / "DONE.json").read_text())
    del done["sha256"]
    for name in done["files"]:
        done["files"][name] = files.sha256_bytes((run_dir / name).read_bytes())
    for name, value in changes.items():
        done[name] = value
    files.write_sealed_json(run_dir / "DONE.json", done)


# ---------------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("task", "agent", "folders"),
    [
        ("deep_sea/20", "isl", "deep_sea/20/isl"),
        ("ALE/Pong-v5", "isl", "ALE/Pong-v5/isl"),
        ("FrozenLake-v1", "my_pkg.my_agent", "FrozenLake-v1/my_pkg.my_agent"),
        ("a b\n\0~:\\ü", "x/y", "a%20b%0A%00%7E%3A%5C%C3%BC/x%2Fy"),
        (".hidden", "...", "%2Ehidden/%2E.."),
    ],
)
def test_folders_are_readable_and_harmless(task, agent, folders):
    config = {"task": task, "agent": agent}
    path = run_folder.run_path(Path("runs"), config, 3)
    assert path == Path("runs") / folders / run_folder.config_hash(config) / "seed-3"


@pytest.mark.parametrize("bad", ["", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "x" * 300])
def test_tasks_that_would_leave_the_root_are_refused(bad):
    with pytest.raises(UsageError, match="cannot name a folder"):
        run_folder.run_path(Path("runs"), {"task": bad, "agent": "isl"}, 0)


@given(st.text(), st.text())
def test_no_name_escapes_the_root(task, agent):
    root = Path("/root/of/runs")
    try:
        path = run_folder.run_path(root, {"task": task, "agent": agent}, 0)
    except UsageError:
        return
    assert Path(os.path.normpath(path)) == path
    assert path.is_relative_to(root)
    assert str(path.relative_to(root)).isascii()
    assert str(path).isprintable()


def test_the_hash_sees_every_value_and_no_order():
    assert run_folder.config_hash({"a": 1, "b": [1, 2]}) == run_folder.config_hash(
        {"b": [1, 2], "a": 1}
    )
    assert run_folder.config_hash({"a": 1, "b": [1, 2]}) != run_folder.config_hash(
        {"a": 1, "b": [2, 1]}
    )
    # Pinned: a change here would orphan every finished run.
    assert (
        run_folder.config_hash({"task": "deep_sea/20", "agent": "isl", "kappa": 1.0})
        == "6f45fec6687d"
    )


# ------------------------------------------------------------------------- one run's life


def test_a_run_from_start_to_finish(tmp_path):
    run_dir = run_folder.run_path(tmp_path, CONFIG, 0)
    with pytest.raises(UsageError, match="not a folder"):
        list(store.scan(tmp_path / "nowhere"))
    with run_folder.lock(run_dir):
        run_folder.start(run_dir, CONFIG)
        assert store.read_run(run_dir).status == Status.RUNNING
    run = store.read_run(run_dir)
    assert (run.status, run.task, run.agent, run.seed) == ("interrupted", "deep_sea/4", "isl", 0)
    run_folder.fail(run_dir, "the environment raised at step 9")
    run = store.read_run(run_dir)
    assert (run.status, run.problem) == (Status.FAILED, "the environment raised at step 9")
    assert not run_folder.is_done(run_dir)
    with pytest.raises(UsageError, match="not finished"):
        run_folder.read_episodes(run_dir)

    assert write_run(tmp_path) == run_dir
    run = store.read_run(run_dir)
    assert run.status == Status.DONE
    assert run.config == CONFIG
    assert run.summary == summary(0)
    assert run.config_hash == run_folder.config_hash(CONFIG)
    assert run_folder.is_done(run_dir)
    assert run_folder.verify(run_dir) == []
    assert not (run_dir / "failure.json").exists()
    listed = json.loads((run_dir / "DONE.json").read_text())["files"]
    assert set(listed) == {*RESULTS[:3], "checkpoint/step-000000000007.safetensors"}
    assert listed == {name: files.sha256_bytes((run_dir / name).read_bytes()) for name in listed}

    with run_folder.lock(run_dir):
        run_folder.discard(run_dir)
    assert results(tmp_path) == {}
    assert not run_folder.is_done(run_dir)


def test_the_manifest_is_the_last_write_and_the_first_to_go(tmp_path):
    order = []
    run_dir = write_run(tmp_path)
    with recorded_steps() as taken:
        run_folder.finish(run_dir, summary(0))
    assert [step for step in taken if step == "rename"] == ["rename"] * 2
    original = files.steps.unlink
    files.steps.unlink = lambda path: (order.append(Path(path).name), original(path))
    try:
        run_folder.discard(run_dir)
    finally:
        files.steps.unlink = original
    assert order[0] == "DONE.json"


def test_logs_and_other_files_are_nobodys_business(tmp_path):
    run_dir = write_run(tmp_path)
    (run_dir / "log.txt").write_text("noise")
    (run_dir / "tensorboard" / "seed-1").mkdir(parents=True)
    (tmp_path / "report").mkdir()
    assert run_folder.verify(run_dir) == []
    assert [run.path for run in store.scan(tmp_path)] == [run_dir]


def test_a_summary_must_be_whole_and_final(tmp_path):
    run_dir = write_run(tmp_path)
    partial = {k: v for k, v in summary(0).items() if k not in ("steps", "goal_visits")}
    with pytest.raises(ValueError, match="lacks goal_visits, steps"):
        run_folder.finish(run_dir, partial)
    with pytest.raises(ValueError, match="interrupted is not finished"):
        run_folder.finish(run_dir, {**summary(0), "status": "interrupted"})


def test_a_config_is_only_started_in_its_own_folder(tmp_path):
    run_dir = run_folder.run_path(tmp_path, CONFIG, 0)
    for wrong in (run_dir.parent / "run", run_folder.run_path(tmp_path, {**CONFIG, "kappa": 2}, 0)):
        with pytest.raises(ValueError, match="folder"):
            run_folder.start(wrong, CONFIG)


MANY = """
import sys, polars as pl
from isl.storage import episodes
table = pl.DataFrame({"episode": range(100_000), "return": [0.5] * 100_000})
sys.stdout.buffer.write(episodes.to_parquet(table))
"""


def test_equal_records_give_equal_bytes():
    table = pl.DataFrame({"episode": range(100_000), "return": [0.5] * 100_000})
    first = episodes.to_parquet(table)
    assert episodes.to_parquet(table.clone()) == first
    one_thread = {**os.environ, "POLARS_MAX_THREADS": "1"}
    other = subprocess.run(
        [sys.executable, "-c", MANY], env=one_thread, check=True, capture_output=True
    )
    assert other.stdout == first
    assert episodes.from_parquet([Path("x")], [first])[0].equals(table)


def test_records_are_read_back(tmp_path):
    run_dir = write_run(tmp_path)
    table = pl.DataFrame({"episode": [0, 1], "return": [0.5, -1.0], "solved": [False, True]})
    run_folder.write_episodes(run_dir, table)
    run_folder.finish(run_dir, summary(0))
    assert run_folder.read_episodes(run_dir).equals(table)


# --------------------------------------------------------------------------- provenance


def test_every_result_says_where_it_comes_from(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    run = store.read_run(write_run(tmp_path))
    (found,) = run.provenance
    assert found["xla_flags"] == "--xla_cpu_multi_thread_eigen=false"
    assert found["jax_environment"]["JAX_ENABLE_X64"] == "0"
    for name in ("isl", "python", "jax", "jaxlib", "flax", "optax", "numpy", "cpu"):
        assert found[name], name
    assert found["cores"] >= 1
    assert {"git_sha", "git_dirty"} <= found.keys()


def test_a_run_continued_elsewhere_lists_both_places(tmp_path, monkeypatch):
    run_dir = write_run(tmp_path)
    for cpu in ("A", "B", "A"):
        monkeypatch.setattr(run_folder, "provenance", lambda cpu=cpu: {"cpu": cpu})
        run_folder.start(run_dir, CONFIG)
    recorded = json.loads((run_dir / "config.json").read_text())["provenance"]
    assert [place["cpu"] for place in recorded[1:]] == ["A", "B"]


def test_provenance_outside_a_checkout_has_no_git(monkeypatch):
    monkeypatch.setattr(provenance, "_git", lambda *arguments: None)
    found = provenance.provenance()
    assert found["git_sha"] is None
    assert found["git_dirty"] is None


# ------------------------------------------------------------------------------- locks


RACER = """
import sys, time
from pathlib import Path
from isl.storage import files
from isl.errors import Locked
folder = Path(sys.argv[1])
time.sleep(max(0, float(sys.argv[2]) - time.time()))
files.make_folder(folder)
try:
    with files.lock(folder / ".lock"):
        if not (folder / "worked").exists():
            time.sleep(0.2)
            with (folder / "worked").open("a") as file:
                file.write("x")
except Locked:
    pass
"""


def test_of_ten_simultaneous_starts_one_does_the_work(tmp_path):
    run_dir = run_folder.run_path(tmp_path, CONFIG, 0)
    start = str(time.time() + 1)
    racers = [subprocess.Popen([sys.executable, "-c", RACER, run_dir, start]) for _ in range(10)]
    assert [racer.wait() for racer in racers] == [0] * 10
    assert (run_dir / "worked").read_text() == "x"
    with run_folder.lock(run_dir), pytest.raises(Locked), run_folder.lock(run_dir):
        pass


# ------------------------------------------------------------------------------ damage


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_or_read_only_disk_at_every_step(tmp_path, fast_disk, number):
    (tmp_path / "whole").mkdir()
    with recorded_steps() as taken:
        write_run(tmp_path / "whole")
    assert len(taken) >= 35
    for step in range(len(taken)):
        root = tmp_path / str(step)
        root.mkdir()
        with failing_steps(step, 10**9, number), pytest.raises(CannotWrite) as caught:
            write_run(root)
        assert str(root) in str(caught.value)
        assert os.strerror(number) in str(caught.value)
        for run in store.scan(root):
            assert run_folder.verify(run.path) == []
            assert run.status != Status.DAMAGED
        write_run(root)
        assert store.read_run(run_folder.run_path(root, CONFIG, 0)).status == Status.DONE
        assert not list(root.rglob(".tmp-*"))


@pytest.mark.parametrize("name", [*RESULTS, "checkpoint/step-000000000007.safetensors"])
def test_no_damage_goes_unnoticed(tmp_path, name):
    run_dir = write_run(tmp_path)
    path = run_dir / name
    whole = path.read_bytes()
    draw = random.Random(0)
    damaged = [whole[:length] for length in draw.sample(range(len(whole)), min(len(whole), 250))]
    for bit in draw.sample(range(8 * len(whole)), 250):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    assert len(damaged) >= 450
    for data in damaged:
        path.write_bytes(data)
        (problem,) = run_folder.verify(run_dir)
        assert problem.path == str(path)
        assert problem.reason
        if name in ("config.json", "summary.json", "DONE.json"):
            assert store.read_run(run_dir).status == Status.DAMAGED
            with pytest.raises(DamagedFile):
                store.load(tmp_path)
        if name == "episodes.parquet":
            with pytest.raises(DamagedFile, match="checksum"):
                store.load_episodes(tmp_path)
    path.write_bytes(whole)
    assert run_folder.verify(run_dir) == []


def test_every_missing_file_is_named(tmp_path):
    run_dir = write_run(tmp_path)
    for name in ("episodes.parquet", "summary.json"):
        (run_dir / name).unlink()
    assert [Path(p.path).name for p in run_folder.verify(run_dir)] == [
        "episodes.parquet",
        "summary.json",
    ]
    assert all(problem.reason == "is missing" for problem in run_folder.verify(run_dir))


def test_damaged_checkpoints_of_unfinished_runs_are_named(tmp_path):
    run_dir = write_run(tmp_path)
    (run_dir / "DONE.json").unlink()
    path = run_dir / "checkpoint" / "step-000000000007.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    (problem,) = run_folder.verify(run_dir)
    assert problem.path == str(path)


def test_an_unfinished_run_with_a_damaged_config_starts_again(tmp_path, caplog):
    run_dir = write_run(tmp_path)
    (run_dir / "DONE.json").unlink()
    (run_dir / "config.json").write_bytes(b"{")
    assert store.read_run(run_dir).status == Status.DAMAGED
    write_run(tmp_path)
    assert "config.json" in caplog.text
    assert store.read_run(run_dir).status == Status.DONE


@pytest.mark.parametrize("version", [0, 99])
@pytest.mark.parametrize("name", ["config.json", "DONE.json"])
def test_other_formats_are_refused_by_their_number(tmp_path, version, name):
    run_dir = write_run(tmp_path)
    record = json.loads((run_dir / name).read_text())
    files.write_json(run_dir / name, {**record, "format": version})
    if name == "config.json":
        reseal(run_dir)
    run = store.read_run(run_dir)
    assert run.status == Status.DAMAGED
    assert f"format {version}" in run.problem
    with pytest.raises(DamagedFile, match=f"format {version}"):
        store.load(tmp_path)
    if name == "config.json":
        with pytest.raises(UnsupportedFormat, match=f"format {version}"):
            run_folder.start(run_dir, CONFIG)


def test_a_run_of_format_1_is_read(tmp_path):
    (run,) = store.scan(FORMAT_1)
    assert run_folder.verify(run.path) == []
    assert run.status == Status.DONE
    assert run.summary == summary(0)
    assert store.load(FORMAT_1)["config.kappa"].to_list() == [1.0]
    assert store.load_episodes(FORMAT_1)["return"].to_list() == [0.25 * e for e in range(6)]


# ------------------------------------------------------------------------ hostile folders


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../etc/passwd",
        "/etc/passwd",
        "checkpoint/../../../secret",
        "checkpoint/step-000000000007.safetensors\n",
        "other.json",
        ".lock",
    ],
)
def test_a_manifest_cannot_name_files_outside_the_run(tmp_path, name):
    run_dir = write_run(tmp_path / "hostile")
    listed = json.loads((run_dir / "DONE.json").read_text())["files"]
    reseal(run_dir, files={**listed, name: "0" * 64})
    (problem,) = run_folder.verify(run_dir)
    assert "no file of a run" in problem.reason
    assert merge.merge(tmp_path / "hostile", tmp_path / "mine").copied == []
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("name", [*RESULTS, "checkpoint/step-000000000007.safetensors"])
def test_links_in_a_run_are_not_followed(tmp_path, name):
    run_dir = write_run(tmp_path / "hostile")
    (run_dir / name).rename(tmp_path / "secret")
    (run_dir / name).symlink_to(tmp_path / "secret")
    (problem,) = run_folder.verify(run_dir)
    assert "symbolic link" in problem.reason
    report = merge.merge(tmp_path / "hostile", tmp_path / "mine")
    assert len(report.damaged) == 1
    assert report.copied == []


def test_linked_folders_are_not_entered(tmp_path):
    write_run(tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    assert list(store.scan(tmp_path / "runs")) == []


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", {"format": 1, "config": {**CONFIG, "kappa": 2.0}}, "another run"),
        ("config.json", {"format": 1, "config": {"task": 3, "agent": "isl"}}, "another run"),
        ("config.json", {"format": 1, "config": {"task": "../x", "agent": "isl"}}, "another run"),
        ("config.json", {"format": 1, "config": []}, "another run"),
        ("config.json", {"format": 1}, "another run"),
        ("config.json", [], "no format"),
        ("summary.json", [], "lacks fields"),
        ("summary.json", {}, "lacks fields"),
        ("summary.json", {**summary(0), "seed": 1}, "another run"),
        ("summary.json", {**summary(0), "status": "splendid"}, "unknown status"),
        ("summary.json", {**summary(0), "status": ["done"]}, "unknown status"),
    ],
)
def test_well_sealed_nonsense_is_refused(tmp_path, name, content, reason):
    run_dir = write_run(tmp_path)
    files.write_json(run_dir / name, content)
    reseal(run_dir)
    run = store.read_run(run_dir)
    assert run.status == Status.DAMAGED
    assert reason in run.problem
    assert "\n" not in run.problem


HOSTILE_TABLES = {
    "empty": b"",
    "no footer": b"PAR1PAR1",
    "pickle": b"cos\nsystem\n(S'touch PWNED'\ntR.",
    "long footer": b"PAR1" + b"\xff" * 64 + b"\xff\xff\xff\x7fPAR1",
    "text": episodes.to_parquet(pl.DataFrame({"x": ["text"]})),
    "lists": episodes.to_parquet(pl.DataFrame({"x": [[1, 2]]})),
    "bytes": episodes.to_parquet(pl.DataFrame({"x": [b"\x80\x04K\x01."]})),
}


def test_hostile_tables_are_refused_in_one_line():
    good = parquet(goal=3)
    zeros = pl.zeros(1 << 20, pl.UInt8, eager=True)  # 129 times the same memory
    bomb = episodes.to_parquet(pl.DataFrame({str(n): zeros for n in range(129)}))
    assert len(bomb) < 1 << 20
    answers = episodes.complaints([good, bomb, *HOSTILE_TABLES.values(), good])
    assert len(answers) == len(HOSTILE_TABLES) + 3
    assert "the limit is" in answers[1]
    assert answers[0] == answers[-1] == ""
    assert all(answer.startswith("is not a table of a run: ") for answer in answers[1:-1])


def test_a_table_that_ends_its_reader_ends_nothing_else(tmp_path):
    """One byte of this file makes polars ask for two exabytes, and abort when refused."""
    run_dir = write_run(tmp_path)
    shutil.copy(FIXTURES / "hostile" / "allocates.parquet", run_dir / "episodes.parquet")
    reseal(run_dir)
    with pytest.raises(DamagedFile, match=r"episodes\.parquet: "):
        store.load_episodes(tmp_path)


def test_the_reader_imports_nothing_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "polars.py").write_text("raise SystemExit('hijacked')")
    (tmp_path / "isl").mkdir()
    (tmp_path / "isl" / "__init__.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    assert episodes.complaints([parquet(goal=3)]) == [""]


def test_a_thousand_mutated_tables_are_read_or_refused():
    draw = random.Random(0)
    waiting, answers = [], []
    for _ in range(1000):
        data = bytearray(parquet(goal=3))
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        waiting.append(bytes(data))
    while waiting:
        found = episodes.complaints(waiting)
        answers += found
        waiting = waiting[len(found) :]
    assert len(answers) == 1000
    assert 100 < sum(answer == "" for answer in answers) < 900


# -------------------------------------------------------------------------- many runs


def test_tables_of_several_agents(tmp_path, fast_disk):
    for agent, extra in (
        ("isl", {"eta1": 0.5, "hidden": [50, 50]}),
        ("dqn", {"eta1": 0, "n": {"m": 1}}),
    ):
        for seed in (1, 0):
            config = {"task": "deep_sea/4", "agent": agent, "gamma": 1, **extra}
            run_dir = run_folder.run_path(tmp_path, config, seed)
            with run_folder.lock(run_dir):
                run_folder.start(run_dir, config)
                column = {"isl": "ell", "dqn": "epsilon"}[agent]
                run_folder.write_episodes(
                    run_dir, pl.DataFrame({"episode": [0, 1], column: [0.5, 1]})
                )
                solved = seed or None
                run_folder.finish(
                    run_dir, {**summary(seed), "agent": agent, "solved_episode": solved}
                )
    write_run(tmp_path, seed=5)
    (run_folder.run_path(tmp_path, CONFIG, 5) / "DONE.json").unlink()  # unfinished: in no table
    table = store.load(str(tmp_path))
    assert table["agent"].to_list() == ["dqn", "dqn", "isl", "isl"]
    assert table["seed"].to_list() == [0, 1, 0, 1]
    assert table["solved_episode"].to_list() == [None, 1, None, 1]
    assert table["config.eta1"].to_list() == [0, 0, 0.5, 0.5]
    assert table["config.hidden"].to_list() == [None, None, "[50,50]", "[50,50]"]
    assert table["config.n.m"].to_list() == [1, 1, None, None]
    records = store.load_episodes(tmp_path)
    assert records.columns[:4] == ["task", "agent", "config_hash", "seed"]
    assert records.filter(agent="isl", seed=1)["ell"].to_list() == [0.5, 1]
    assert records.filter(agent="isl")["epsilon"].null_count() == 4
    assert len(records) == 8


def test_an_empty_root_gives_empty_tables(tmp_path):
    assert store.load(tmp_path).is_empty()
    assert store.load_episodes(tmp_path).is_empty()


def test_six_hundred_runs_are_scanned_within_a_second(tmp_path, fast_disk, monkeypatch):
    monkeypatch.setattr(run_folder, "provenance", lambda: {"cpu": "any"})
    for seed in range(600):
        run_dir = run_folder.run_path(tmp_path, CONFIG, seed)
        files.make_folder(run_dir)
        run_folder.start(run_dir, CONFIG)
        files.write_bytes(run_dir / "episodes.parquet", b"not read by a scan")
        run_folder.finish(run_dir, summary(seed))
    started = time.process_time()  # not disturbed by what else the machine does
    runs = list(store.scan(tmp_path))
    took = time.process_time() - started
    assert {run.seed for run in runs if run.status == Status.DONE} == set(range(600))
    assert took < 1


def test_storage_and_the_doctor_need_no_jax():
    """No module that they reach imports JAX, not even lazily, so `isl status` starts at once."""
    folder = Path(importlib.util.find_spec("isl.storage").origin).parent
    modules = [f"isl.storage.{path.stem}" for path in folder.glob("[a-z]*.py")]
    assert len(modules) >= 10
    seen, waiting = set(), [*modules, "isl.analysis.doctor"]
    while waiting:
        name = waiting.pop()
        if name in seen or not name.startswith("isl"):
            continue
        seen.add(name)
        spec = importlib.util.find_spec(name)
        tree = ast.parse(Path(spec.origin).read_text())
        for node in ast.walk(tree):  # what only a type checker imports is not imported
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                below = [f"{node.module}.{alias.name}" for alias in node.names]
                imported = [node.module, *(n for n in below if is_module(n))]
            else:
                continue
            for other in imported:
                assert other.split(".")[0] not in ("jax", "jaxlib", "flax", "optax"), name
            waiting += [other for other in imported if other != "isl"]
    assert {"isl.storage.files", "isl.storage.checkpoint", "isl.storage.run_folder"} <= seen


def is_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


# ------------------------------------------------------------------------------- merging


def test_merging_is_idempotent_and_order_free(tmp_path, fast_disk):
    for root, seeds in (("a", (0, 1)), ("b", (1, 2)), ("c", (2, 3))):
        for seed in seeds:
            # Seeds 1 and 2 were run twice: same episodes, other timings.
            write_run(tmp_path / root, seed, wall_seconds=float(ord(root)))
    trees = []
    for order in ("abc", "cba", "bacab", "ccbba"):
        target = tmp_path / order
        for root in order:
            report = merge.merge(tmp_path / root, target)
            assert report.conflicts == report.damaged == report.busy == []
            assert len(report.copied) + len(report.kept) == 2
        trees.append(results(target))
    assert len(trees[0]) == 4 * 5
    assert all(tree == trees[0] for tree in trees)
    again = merge.merge(tmp_path / "a", tmp_path / "abc")
    assert (len(again.copied), len(again.kept)) == (0, 2)
    assert all(run_folder.verify(run.path) == [] for run in store.scan(tmp_path / "abc"))


def test_a_conflicting_result_is_reported_and_kept(tmp_path, fast_disk):
    mine = write_run(tmp_path / "mine", goal=3)
    write_run(tmp_path / "theirs", goal=4)
    before = results(tmp_path / "mine")
    for _ in range(2):
        report = merge.merge(tmp_path / "theirs", tmp_path / "mine")
        assert report.conflicts == [mine]
        assert report.copied == report.kept == []
        assert results(tmp_path / "mine") == before


def test_merging_repairs_fills_in_and_leaves_alone(tmp_path, fast_disk):
    theirs = {seed: write_run(tmp_path / "theirs", seed) for seed in range(6)}
    mine = {seed: write_run(tmp_path / "mine", seed) for seed in range(1, 5)}
    (mine[1] / "episodes.parquet").write_bytes(b"damaged")
    (mine[2] / "DONE.json").unlink()  # unfinished
    files.write_sealed_json(mine[4] / "DONE.json", {"format": 99})
    (theirs[0] / "summary.json").write_bytes(b"damaged")
    (theirs[5] / "DONE.json").unlink()
    with run_folder.lock(mine[3]):
        report = merge.merge(tmp_path / "theirs", tmp_path / "mine")
    assert report.copied == [mine[1], mine[2]]
    assert report.busy == [mine[3]]
    assert report.conflicts == report.kept == []
    assert len(report.damaged) == 2
    assert "summary.json" in report.damaged[0]
    assert "format 99" in report.damaged[1]
    assert json.loads((mine[4] / "DONE.json").read_text())["format"] == 99
    assert run_folder.verify(mine[1]) == run_folder.verify(mine[2]) == []


def test_copied_folders_need_no_merge(tmp_path, fast_disk):
    """Plain copying is enough to bring machines together, and a moved root changes nothing."""
    write_run(tmp_path / "a", 0)
    write_run(tmp_path / "b", 1)
    for root in "ab":
        shutil.copytree(tmp_path / root, tmp_path / "both", dirs_exist_ok=True)
    assert store.load(tmp_path / "both")["seed"].to_list() == [0, 1]
    assert store.load(tmp_path / "both" / "deep_sea")["seed"].to_list() == [0, 1]
