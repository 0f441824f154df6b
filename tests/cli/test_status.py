"""`isl status` and `isl merge` as a user meets them."""

import re
import subprocess
import sys
import time

import pytest

from isl.cli.main import main
from isl.storage import files, requests, run_folder, store
from tests.support import made_runs
from tests.support.fault_injection import CONFIG, summary, write_run


@pytest.fixture
def fast_disk(monkeypatch):
    monkeypatch.setattr(files.steps, "fsync", lambda fd: None)
    monkeypatch.setattr(files.steps, "fsync_dir", lambda path: None)


def test_counts_and_what_is_left(tmp_path, capsys, fast_disk):
    done = [write_run(tmp_path, seed) for seed in range(3)]
    files.write_json(done[2] / "failure.json", {"format": 1, "message": "no such thing"})
    (done[2] / "DONE.json").unlink()
    asked = [run_folder.run_path(tmp_path, CONFIG, seed) for seed in range(10)]
    note = requests.write(tmp_path, asked)
    requests.note_time_left(note, 600.0)
    with run_folder.lock(asked[3]):
        run_folder.start(asked[3], CONFIG)
        assert main(["status", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    header, _, row = printed.splitlines()[:3]
    ends = {name: header.index(name) + len(name) for name in ("done", "running", "failed", "left")}
    cells = {name: row[:end].split()[-1] for name, end in ends.items()}
    assert (cells["done"], cells["running"], cells["failed"], cells["left"]) == ("2", "1", "1", "6")
    assert "0 of 2" in row
    assert "2 of 10 runs done, about 10 minutes left" in printed
    assert "failed: no such thing" in printed


def test_the_greedy_return_is_shown_where_it_was_evaluated(tmp_path, capsys, fast_disk):
    made_runs.make(tmp_path, "deep_sea/8")  # as runs of 0.1 are: without it
    assert main(["status", str(tmp_path)]) == 0
    assert "greedy" not in capsys.readouterr().out
    for seed, (last, best) in enumerate([(0.1, 0.9), (0.3, 0.7)]):
        evaluated = {"greedy_return": last, "best_greedy_return": best}
        made_runs.make(tmp_path, "deep_sea/9", seed=seed, **evaluated)
    assert main(["status", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "greedy: last, best" in printed
    assert " 0.2, 0.8\n" in printed


def test_sizes_are_sorted_as_numbers(tmp_path, capsys, fast_disk):
    for size in (8, 10, 100, 9):
        made_runs.make(tmp_path, f"deep_sea/{size}")
    made_runs.make(tmp_path, "CartPole-v1", "dqn")
    assert main(["status", str(tmp_path)]) == 0
    shown = re.findall(r"^([\w/-]+)/(?:isl|dqn)/", capsys.readouterr().out, re.MULTILINE)
    assert shown == ["CartPole-v1", *(f"deep_sea/{size}" for size in (8, 9, 10, 100))]


def test_unsolved_runs_count_as_infinite(tmp_path, capsys, fast_disk):
    for seed, solves_at in enumerate((101, None, None)):
        made_runs.make(tmp_path, seed=seed, solves_at=solves_at)
    assert main(["status", str(tmp_path)]) == 0
    assert re.search(r" 1 of 3 +∞ \(∞–∞\) ", capsys.readouterr().out)


def test_it_fits_80_columns_and_leaves_no_letter_out(tmp_path, capsys, fast_disk, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folder = made_runs.make(tmp_path, "deep_sea_stochastic/100", greedy_return=0.1)
    assert main(["status", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed
    folded = "".join(line.split(" ")[0] for line in printed.splitlines()[2:])
    assert str(folder.relative_to(tmp_path).parent) in folded


def test_verify_names_every_damaged_file(tmp_path, capsys, fast_disk):
    runs = [write_run(tmp_path, seed) for seed in range(4)]
    assert main(["status", str(tmp_path), "--verify"]) == 0
    assert "4 runs verified" in capsys.readouterr().out
    (runs[1] / "episodes.parquet").write_bytes(b"x")
    (runs[1] / "summary.json").unlink()
    (runs[3] / "checkpoint" / "step-000000000007.safetensors").write_bytes(b"x")
    assert main(["status", str(tmp_path), "--verify"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [sum(str(run) in line for line in lines) for run in runs] == [0, 2, 0, 1]
    assert any(str(runs[1] / "episodes.parquet") in line for line in lines)
    assert any(str(runs[3] / "checkpoint") in line for line in lines)

    assert main(["status", str(tmp_path), "--verify", "--redo-damaged"]) == 0
    assert [run_folder.is_done(run) for run in runs] == [True, False, True, False]
    capsys.readouterr()
    assert main(["status", str(tmp_path), "--verify"]) == 0


def test_results_of_a_newer_version_are_never_deleted(tmp_path, capsys, fast_disk):
    run = write_run(tmp_path)
    files.write_sealed_json(run / "DONE.json", {"format": 99})
    assert main(["status", str(tmp_path), "--redo-damaged"]) == 1
    assert "another version" in capsys.readouterr().err
    assert (run / "episodes.parquet").exists()


def test_600_runs_are_shown_at_once_and_without_jax(tmp_path, fast_disk, monkeypatch):
    monkeypatch.setattr(run_folder, "provenance", lambda: {"cpu": "any"})
    configs = [{**CONFIG, "kappa": float(k)} for k in range(20)]
    for config in configs:
        for seed in range(30):
            run_dir = run_folder.run_path(tmp_path, config, seed)
            files.make_folder(run_dir)
            run_folder.start(run_dir, config)
            files.write_bytes(run_dir / "episodes.parquet", b"not read by status")
            run_folder.finish(run_dir, summary(seed))
    script = (
        "import sys, time\nfrom isl.cli.main import main\ncode = main(['status', sys.argv[1]])\n"
        "assert 'jax' not in sys.modules, 'isl status imports JAX'\n"
        "print('seconds', time.process_time())\nsys.exit(code)"
    )
    arguments = [sys.executable, "-c", script, tmp_path]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "600 of 600 runs done" in ended.stdout
    assert "kappa=7.0" in ended.stdout
    # Of the processor, imports included: not disturbed by what else the machine does.
    assert float(ended.stdout.split()[-1]) < 2


def test_an_old_estimate_is_not_shown(tmp_path, fast_disk, monkeypatch):
    note = requests.write(tmp_path, [tmp_path / "a"])
    requests.note_time_left(note, 600.0)
    (request,) = requests.read(tmp_path).requests
    assert request.seconds_left == pytest.approx(600, abs=5)
    later = time.time() + 1000
    monkeypatch.setattr(requests.time, "time", lambda: later)
    (request,) = requests.read(tmp_path).requests
    assert request.seconds_left is None


def test_a_damaged_note_is_named_and_deleted_on_request(tmp_path, capsys, fast_disk):
    write_run(tmp_path)
    note = requests.write(tmp_path, [tmp_path / "a"])
    note.write_bytes(note.read_bytes().replace(b'"a"', b'"c"'))
    assert main(["status", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert f"{note}: does not match its own checksum" in printed.err.splitlines()
    assert "1 of 1 runs done" in printed.out
    assert main(["status", str(tmp_path), "--redo-damaged"]) == 0
    assert not note.exists()
    assert main(["status", str(tmp_path), "--verify"]) == 0


def test_notes_of_0_1_are_believed_where_they_match_their_names(tmp_path, fast_disk):
    """They have no seal, but their names are made from what they hold."""
    note = requests.write(tmp_path, [tmp_path / "a", tmp_path / "b"])
    requests.note_time_left(note, 600.0)
    for path in (note, note.with_suffix(".left.json")):
        files.write_json(path, {k: v for k, v in files.read_json(path).items() if k != "sha256"})
    assert requests.read(tmp_path) == ([requests.Request(("a", "b"), None)], [])
    files.write_json(note, {"format": 1, "runs": ["a", "c"]})
    found = requests.read(tmp_path)
    assert found.requests == []
    assert [error.path for error in found.damaged] == [str(note)]


def test_unfinished_runs_of_0_1_are_read_and_continued(tmp_path, fast_disk):
    run = run_folder.run_path(tmp_path, CONFIG, 0)
    with run_folder.lock(run):
        run_folder.start(run, CONFIG)
        run_folder.fail(run, "no such thing")
    for name in ("config.json", "failure.json"):
        record = files.read_json(run / name)
        files.write_json(run / name, {k: v for k, v in record.items() if k != "sha256"})
    found = store.read_run(run)
    assert (found.status, found.problem, len(found.provenance)) == ("failed", "no such thing", 1)
    with run_folder.lock(run):
        run_folder.start(run, CONFIG)
    assert "sha256" in files.read_json(run / "config.json")


def test_merge_copies_and_reports(tmp_path, capsys, fast_disk):
    for seed in (0, 1):
        write_run(tmp_path / "a", seed)
    write_run(tmp_path / "b", 1, goal=4)
    assert main(["merge", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    printed = capsys.readouterr()
    assert "1 runs copied, 0 were there already" in printed.out
    assert "has another result" in printed.err
    assert main(["merge", str(tmp_path / "b"), str(tmp_path / "c")]) == 0
    assert main(["merge", str(tmp_path / "nowhere"), str(tmp_path / "c")]) == 2
