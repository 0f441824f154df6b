"""Row 2: every flipped bit and every truncation is noticed, whichever file it hits."""

import random

import pytest

from isl.cli.main import main
from isl.errors import DamagedFile
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.model import file
from isl.status import Status
from isl.storage import checkpoint, run_folder, store
from tests.support.fault_injection import model_scenario, state_at, write_run
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
