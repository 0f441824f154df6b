"""Row 2: every flipped bit and every truncation is noticed, whichever file it hits."""

import random
import shutil

import pytest

from isl.cli.main import main
from isl.errors import DamagedFile
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.model import file
from isl.report import figures
from isl.status import Status
from isl.storage import checkpoint, episodes, requests, run_folder, snapshots, store
from isl.storage.tensorboard import FOLDER, RunLog
from tests.support import made_runs
from tests.support.fault_injection import model_scenario, results, state_at, write_run
from tests.support.sweeps import hashes

RUN_FILES = {
    "checkpoint": "checkpoint/step-000000000007.safetensors",
    "Parquet": "episodes.parquet",
    "JSON (config)": "config.json",
    "JSON (summary)": "summary.json",
    "JSON (manifest)": "DONE.json",
}


def damaged(whole, times, seed=0):
    """`times` copies with one bit flipped, then `times` cut somewhere."""
    draw = random.Random(seed)
    for bit in draw.sample(range(8 * len(whole)), times):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    for length in draw.sample(range(len(whole)), times):
        yield whole[:length]


@pytest.mark.parametrize("kind", RUN_FILES)
def test_status_names_the_damaged_file_of_a_finished_run(
    tmp_path, fast_disk, capsys, often, tally, kind
):
    path = write_run(tmp_path) / RUN_FILES[kind]
    write_run(tmp_path, seed=1)
    whole, times = path.read_bytes(), often(5, 200)
    for data in damaged(whole, times):
        path.write_bytes(data)
        assert main(["status", str(tmp_path), "--verify"]) == 1
        named = capsys.readouterr().err.splitlines()
        assert len([line for line in named if line.startswith(f"{path}: ")]) == 1
        assert not [line for line in named if "seed-1" in line]
    path.write_bytes(whole)
    assert main(["status", str(tmp_path), "--verify"]) == 0
    tally(2, f"{kind}: {times} flips and {times} truncations, 0 silent loads, all named")


def test_a_damaged_checkpoint_is_skipped_for_the_one_before(tmp_path, caplog, often, tally):
    for step in (1, 2):
        checkpoint.save(tmp_path, step, state_at(step), {"step": step})
    path, times = checkpoint.generations(tmp_path)[-1], often(20, 200)
    for data in damaged(path.read_bytes(), times):
        path.write_bytes(data)
        caplog.clear()
        assert checkpoint.latest(tmp_path, state_at(0))[1] == {"step": 1}
        assert str(path) in caplog.text
    tally(2, f"checkpoint: the previous one was used {2 * times} of {2 * times} times")


def test_a_damaged_model_is_refused(tmp_path, often, tally):
    model_scenario().prepare(tmp_path)
    path, times = tmp_path / "m.isl", often(20, 200)
    for data in damaged(path.read_bytes(), times):
        path.write_bytes(data)
        with pytest.raises(DamagedFile, match=r"m\.isl: "):
            file.read_model(path)
    tally(2, f"model: {times} flips and {times} truncations, 0 silent loads")


def test_a_damaged_run_is_named_and_redone_on_request(tmp_path, capsys):
    spec = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=500)
    assert run_cohort(spec, [0], tmp_path) == {0: Status.DONE}
    wanted = hashes(tmp_path)
    run_dir = run_folder.run_path(tmp_path, spec.to_dict(), 0)
    path = run_dir / "episodes.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["status", str(tmp_path), "--verify"]) == 1
    assert str(path) in capsys.readouterr().err
    # Repeating the command does not touch it: somebody may still want to look.
    assert run_cohort(spec, [0], tmp_path) == {0: Status.DONE}
    assert main(["status", str(tmp_path), "--verify"]) == 1
    assert main(["status", str(tmp_path), "--verify", "--redo-damaged"]) == 0
    assert store.read_run(run_dir).status == Status.INTERRUPTED
    assert run_cohort(spec, [0], tmp_path) == {0: Status.DONE}
    assert main(["status", str(tmp_path), "--verify"]) == 0
    assert hashes(tmp_path) == wanted


UNFINISHED = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=1_500)


def few_runs(root):
    """Finished runs with all that a run may record, one interrupted, one that failed, and notes."""
    recorded = []
    for task in ("deep_sea/10", "MyEnv-v0"):
        recorded.append(made_runs.make(root, task, hyper={"replay_capacity": 10_000}))
        log = RunLog(recorded[-1], budget=100, done=0, step=0)
        for step in (0, 50, 100):
            log.add(step, step, {"policy/entropy": 0.4, "q/greedy": 0.001 * step})
        log.close()
    maps = made_runs.add_snapshots(recorded[0], 10)
    landmark = {name: maps[name][:, :1] for name in ("q", "ell")} | {"episode": maps["episode"]}
    snapshots.write_probes(recorded[1], ["start"], landmark)
    assert run_cohort(UNFINISHED, [1], root) == {1: Status.DONE}
    chunks = iter(range(4))
    stopping = {"should_stop": lambda: next(chunks) == 3, "checkpoint_seconds": 0.0}
    assert run_cohort(UNFINISHED, [0], root, **stopping) == {0: Status.INTERRUPTED}
    interrupted = run_folder.run_path(root, UNFINISHED.to_dict(), 0)
    assert len(checkpoint.generations(interrupted)) == 2
    failed = made_runs.make(root, "deep_sea/10", "dqn")
    for name in ("DONE.json", "summary.json", "episodes.parquet"):
        (failed / name).unlink()
    run_folder.fail(failed, "step 3 of MyEnv-v0: raised ValueError")
    note = requests.write(root, [interrupted, failed, failed.with_name("seed-5")])
    requests.note_time_left(note, 600.0)
    return recorded


def outcomes(root, recorded, folder, capsys):
    """What every command that reads runs back says and makes of them."""
    known = [
        ("status", root, "--verify"),
        ("report", root, "--out", folder / "report"),
        ("merge", root, folder / "merged"),
        ("export", "bsuite", root, folder / "exported"),
        ("doctor", root),
        *(("inspect", path, "-o", folder / f"{i}.html") for i, path in enumerate(recorded)),
    ]
    for arguments in known:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        yield arguments[:2], code, printed.out + printed.err, results(folder)


def continued(root, folder):
    """What becomes of the interrupted run when its command is repeated: bits, and origin."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root, folder)
    assert run_cohort(UNFINISHED, [0], folder) == {0: Status.DONE}
    run_dir = run_folder.run_path(folder, UNFINISHED.to_dict(), 0)
    assert run_folder.verify(run_dir) == []
    return hashes(folder), store.read_run(run_dir).provenance


def test_no_flipped_bit_under_a_root_goes_unnoticed(
    tmp_path, fast_disk, monkeypatch, capsys, often, tally
):
    """Each command names the file or is not affected; some command names it, whatever it is."""
    # After the checksums hold: for files that were made to harm, and in a process of its own.
    monkeypatch.setattr(episodes, "complaints", lambda contents: [""] * len(contents))
    monkeypatch.setattr(figures, "write_all", lambda charts, folder: None)
    now = requests.time.time()
    monkeypatch.setattr(requests.time, "time", lambda: now)
    root, made = tmp_path / "runs", tmp_path / "made"
    recorded = few_runs(root)
    whole = list(outcomes(root, recorded, made, capsys))
    assert [code for _, code, _, _ in whole] == [0] * len(whole)
    ended = continued(root, made)
    # Nobody reads locks, or the log of a run that is not finished.
    interrupted = run_folder.run_path(root, UNFINISHED.to_dict(), 0)
    read = [path for path in sorted(root.rglob("[!.]*")) if path.is_file()]
    read = [path for path in read if path.parent != interrupted / FOLDER]
    one_of_each = list({path.name: path for path in read}.values())
    draw, hit = random.Random(0), often(one_of_each, read * 8)
    for path in hit:
        bit = draw.randrange(8 * path.stat().st_size)
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        named = []
        for (what, code, said, files), before in zip(
            outcomes(root, recorded, made, capsys), whole, strict=True
        ):
            told = said + "".join(page.decode() for name, page in files.items() if ".html" in name)
            if f"{path}: " in told:
                named.append(what)
                assert code or what[0] == "report"
            else:
                assert (what, code, said, files) == before, f"bit {bit} of {path} changed {what}"
        assert named, f"bit {bit} of {path} went unnoticed"
        if path.is_relative_to(interrupted):
            assert continued(root, made) == ended
        path.write_bytes(content)
    tally(2, f"{len(hit)} flips in {len(set(hit))} files of a root, 0 unnoticed by every command")
