"""Row 6: files from strangers, through the doors that a user opens.

More than eighty hand-made ones are refused door by door in test_files.py, test_checkpoint.py,
test_store.py and test_model.py; these go through the command line, where they must be one line.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

from isl.cli.main import main
from isl.model import file
from isl.storage import checkpoint, files
from tests.faults.fuzz import save_small_model
from tests.storage.test_checkpoint import HOSTILE, crafted, resealed, tensor
from tests.support.fault_injection import write_run

pytestmark = pytest.mark.slow  # starts a process per file

ROOT = Path(__file__).parents[2]
PICKLE = b"cos\nsystem\n(S'touch PWNED'\ntR."
# door → (files in a short run, in a long one); 10,000 in all. Of checkpoints and tables there are
# as many in every run of test_checkpoint.py and test_store.py.
FUZZED = {
    "checkpoint": (0, 3000),
    "run": (200, 3000),
    "records": (200, 1000),
    "Parquet": (0, 1500),
    "sweep": (200, 1000),
    "model": (40, 500),
}


@cache
def honest():
    """A model file that is loaded: what is refused below is refused for what was forged."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.isl"
        save_small_model(path)
        return path.read_bytes()


def forged(**changes):
    arrays, meta = checkpoint.unpack(Path("m.isl"), honest())
    return bytes(checkpoint.pack(arrays, meta | changes))


def hyper(**changes):
    _, meta = checkpoint.unpack(Path("m.isl"), honest())
    return forged(hyper=meta["hyper"] | changes)


def box(*shape, dtype="float32"):
    return {"kind": "Box", "shape": list(shape), "dtype": dtype}


MODELS = {  # made when they are needed
    "a pickle": lambda: PICKLE,
    "a pickle that torch wrote": lambda: b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
    "a huge header": lambda: resealed((1 << 40).to_bytes(8, "little") + honest()[8:]),
    "deep metadata": lambda: crafted(
        tensor("[2]", 0, 8), bytes(8), '{"format":1,"meta":' + "[" * 900 + "]" * 900 + "}"
    ),
    "no metadata": lambda: crafted(tensor("[2]", 0, 8), bytes(8)),
    "an agent that is a module": lambda: forged(agent="os.path"),
    "an agent that is a path": lambda: forged(agent="../../evil"),
    "an observation of 4 TB": lambda: forged(observation_space=box(10**6, 10**6)),
    "an observation of 8 GB": lambda: forged(observation_space=box(1 << 30, dtype="float64")),
    "a nested observation of 8 GB": lambda: forged(
        observation_space={"kind": "Tuple", "parts": [box(1 << 30, dtype="float64")]}
    ),
    "observations of another shape": lambda: forged(observation_space=box(9)),
    "observations of objects": lambda: forged(observation_space=box(9, dtype="object")),
    "10¹² states": lambda: forged(observation_space={"kind": "Discrete", "n": 10**12, "start": 0}),
    "10⁹ actions": lambda: forged(action_space={"kind": "Discrete", "n": 10**9, "start": 0}),
    "2¹⁰⁰ actions": lambda: forged(
        action_space={"kind": "MultiDiscrete", "nvec": [2] * 100, "start": [0] * 100}
    ),
    "a replay of 10¹⁵ steps": lambda: hyper(replay_capacity=10**15),
    "a layer of 10¹² units": lambda: hyper(hidden=[10**12]),
    "a negative layer": lambda: hyper(hidden=[-1]),
    "a hyper-parameter too many": lambda: hyper(command="touch PWNED"),
    "a γ of 7": lambda: hyper(gamma=7),
    "a Deep Sea of 10⁹ columns": lambda: forged(task="deep_sea/999999999"),
    "a mapping seed of −1": lambda: forged(mapping_seed=-1),
    "a width that is text": lambda: forged(width="1"),
    **{f"sealed: {name}": lambda data=data: data for name, data in HOSTILE.items()},
}


def test_an_honest_model_is_not_refused(tmp_path, capsys):
    (tmp_path / "m.isl").write_bytes(forged())
    assert main(["eval", str(tmp_path / "m.isl"), "--episodes", "1"]) == 0


@pytest.mark.parametrize("name", MODELS)
def test_hostile_models_are_one_line(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.isl").write_bytes(MODELS[name]())
    assert main(["eval", "m.isl", "--episodes", "1"]) in (1, 2)
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1, printed.err
    assert printed.err.startswith("isl: ")
    assert os.listdir(tmp_path) == ["m.isl"]


def test_no_module_is_imported_for_a_model(tmp_path, monkeypatch, capsys):
    (tmp_path / "stranger.py").write_text("raise SystemExit('executed')")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "m.isl"
    for changes in ({"task": "stranger:Env-v0", "kind": "host"}, {"agent": "stranger.agent"}):
        path.write_bytes(forged(**changes))
        assert main(["eval", str(path), "--episodes", "1"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert "stranger" not in sys.modules


def hostile_folders(root):
    """Run folders that somebody prepared, each with one trap in it."""

    def trap(name):
        return write_run(root / name)

    trap("pickled config").joinpath("config.json").write_bytes(PICKLE)
    trap("pickled episodes").joinpath("episodes.parquet").write_bytes(PICKLE)
    trap("deep manifest").joinpath("DONE.json").write_bytes(b"[" * 10**5 + b"]" * 10**5)
    with zipfile.ZipFile(trap("zip slip") / "summary.json", "w") as archive:
        archive.writestr("../../../PWNED", b"x")
    huge = trap("sparse file of a terabyte") / "summary.json"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    slip = trap("manifest that leads outside") / "DONE.json"
    listed = json.loads(slip.read_text())["files"]
    outside = {**listed, "../../../../../../etc/passwd": "0" * 64}
    files.write_sealed_json(slip, {"format": 1, "files": outside})
    for name in ("config.json", "episodes.parquet", "DONE.json"):
        path = trap(f"link for {name}") / name
        path.unlink()
        path.symlink_to("/etc/passwd")
    pipe = trap("pipe") / "DONE.json"
    pipe.unlink()
    os.mkfifo(pipe)
    return len(list(root.iterdir()))


def test_hostile_run_folders_are_a_line_each(tmp_path, fast_disk, capsys, tally):
    count = hostile_folders(tmp_path / "runs")
    assert main(["status", str(tmp_path / "runs"), "--verify"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == count + 1  # and how to do them again
    assert main(["merge", str(tmp_path / "runs"), str(tmp_path / "mine")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == count
    assert not list(tmp_path.rglob("PWNED"))
    assert not (tmp_path / "mine").exists()
    tally(6, f"hand-made: {len(MODELS)} models, {count} run folders, each refused in one line")


@pytest.mark.parametrize("door", FUZZED)
def test_fuzzed_files_are_loaded_or_refused(often, tally, door):
    """In a process whose memory the kernel bounds; any other error ends it and fails the test."""
    count = often(*FUZZED[door])
    if count == 0:
        pytest.skip("takes long: make faults")
    arguments = [sys.executable, "-m", "tests.faults.fuzz", door, str(count)]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["inputs"] == count
    assert 0 < report["loaded"] < report["inputs"]
    assert report["messages"] > 10  # the damage reaches many checks, not only the first
    assert report["grown_mib"] <= 256
    assert len(report["left"]) <= 1
    tally(
        6,
        f"fuzzed, {door}: {report['inputs']} files, {report['loaded']} loaded, the others refused "
        f"in {report['messages']} different lines; memory grew by {report['grown_mib']} MiB",
    )


def test_the_limits_are_those_of_the_documentation():
    text = (ROOT / "docs" / "limits.md").read_text()
    assert f"{file.MAX_REPLAY_BYTES >> 30} GiB" in text
    assert f"{files.MAX_JSON_BYTES >> 20} MiB" in text
