"""Mutated files at every door that reads one: `python -m tests.faults.fuzz DOOR COUNT`.

Memory is bounded by the kernel while it runs. Prints, as JSON, how many inputs were loaded, how
many lines refused the others, and by how much the process grew. Errors that are not ours end it.
"""

import io
import json
import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from isl import model
from isl.errors import DamagedFile, UsageError
from isl.experiments import sweep
from isl.storage import checkpoint, episodes, files, requests, run_folder, store, tensorboard
from isl.storage.tensorboard import FOLDER, RecordWriter
from tests.support.fault_injection import parquet, state_at, write_run

ROOM = 2 << 30  # of address space, on top of what the imports took
NASTY = [
    *(0, -1, 7, 10**9, 10**18, 2**63, 10**40, 10**400, 0.5, -0.0, 1e308, True, False, None),
    *("", "x", "../../x", "/etc/passwd", "os.system", "\0", "float64", "O", "V999999999"),
    *([], [0], [-1], [10**9], [10**6, 10**6], [[1]], ["x"], [1] * 50, {}, {"kind": 3}),
    {"kind": "Box", "shape": [10**9], "dtype": "float32"},
    {"kind": "Box", "shape": [10**6, 10**6], "dtype": "float32"},
    {"kind": "Discrete", "n": 10**12, "start": 0},
    {"kind": "MultiBinary", "shape": [10**9]},
    {"kind": "MultiDiscrete", "nvec": [10**9] * 9, "start": [0] * 9},
    {"kind": "Tuple", "parts": [{"kind": "Box", "shape": [1 << 30], "dtype": "float64"}]},
]
MARKS = [b'"', b"{", b"[", b"}", b"]", b",", b":", b"=", b"9" * 20, b"-", b"\n", b"\0", b"\xff"]
Door = Callable[[random.Random], None]  # opens one mutated file


def mutated_bytes(whole: bytes, draw: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data))
        cut = data[at : at + draw.randrange(9)]
        how = draw.randrange(4)
        if how == 0:
            data[at] = draw.randrange(256)
        elif how == 1:
            data[at:at] = cut * draw.randrange(4)
        elif how == 2:
            del data[at : at + len(cut)]
        else:
            data[at : at + 1] = draw.choice(MARKS)
    return bytes(data) or b"x"


def mutated_json(value: object, draw: random.Random) -> object:
    """The value with something in it exchanged for something nasty."""
    inner = (
        [*(value.items() if isinstance(value, dict) else enumerate(value))]
        if (isinstance(value, dict | list) and value)
        else []
    )
    if not inner or draw.random() < 0.15:
        return draw.choice(NASTY)
    key, old = draw.choice(inner)
    copy = dict(value) if isinstance(value, dict) else list(value)
    if draw.random() < 0.1:
        del copy[key]
    else:
        copy[key] = mutated_json(old, draw)
    return copy


def resealed(data: bytes) -> bytes:
    sealed = bytearray(data)
    if len(sealed) >= checkpoint._DIGEST.stop:
        sealed[checkpoint._DIGEST] = checkpoint._digests(io.BytesIO(data))[1]
    return bytes(sealed)


def checkpoint_door(folder: Path) -> Door:
    whole = bytes(checkpoint.pack(checkpoint.flatten(state_at(3)), {"step": 3}))

    def opened(draw: random.Random) -> None:
        data = mutated_bytes(whole, draw)
        (folder / "m").write_bytes(resealed(data) if draw.random() < 0.9 else data)
        checkpoint.load_file(folder / "m", state_at(0))

    return opened


def save_small_model(path: Path) -> None:
    """A model file that is loaded, if nobody changes it."""
    made = model.DQN("deep_sea/3", hidden=(2,), batch_size=4, learning_starts=8)
    made.save(path, replay=False)


def model_door(folder: Path) -> Door:
    save_small_model(folder / "m")
    arrays, meta = checkpoint.unpack(folder / "m", (folder / "m").read_bytes())
    meta |= {"kind": "host", "task": "Elsewhere-v0"}  # so that nothing is compiled once it is read

    def opened(draw: random.Random) -> None:
        changed = meta
        for _ in range(draw.randint(1, 2)):
            part = mutated_json(changed, draw)
            changed = part if isinstance(part, dict) else changed
        (folder / "m").write_bytes(checkpoint.pack(arrays, changed))
        model.load(folder / "m")

    return opened


def run_door(folder: Path) -> Door:
    """The small files of a run, each with a right checksum in the manifest."""
    run_dir = write_run(folder)
    names = ("config.json", "summary.json", "DONE.json")
    whole = {name: (run_dir / name).read_bytes() for name in names}

    def opened(draw: random.Random) -> None:
        name = draw.choice(names)
        if draw.random() < 0.5:
            data = mutated_bytes(whole[name], draw)
        else:
            data = files.pretty_json(mutated_json(json.loads(whole[name]), draw))
        for each in names:
            (run_dir / each).write_bytes(whole[each])
        (run_dir / name).write_bytes(data)
        if name != "DONE.json":
            done = json.loads(whole["DONE.json"])
            done["files"][name] = files.sha256_bytes(data)
            del done["sha256"]
            files.write_sealed_json(run_dir / "DONE.json", done)
        run_folder.verify(run_dir)
        run = store.read_run(run_dir)
        if run.problem:
            raise DamagedFile(run_dir, run.problem)
        store.load(folder)

    return opened


def records_door(folder: Path) -> Door:
    """What lies beside results: requests, their estimates and logs, with right checksums mostly."""
    root = folder / "runs"
    note = requests.write(root, [root / "a", root / "b"])
    requests.note_time_left(note, 100.0)
    left = note.with_suffix(".left.json")
    whole = {path: json.loads(path.read_bytes()) for path in (note, left)}
    event = tensorboard.Event(step=3)
    event.summary.value.add(tag="q/mean", simple_value=0.5)

    def opened(draw: random.Random) -> None:
        if draw.random() < 0.5:
            (root / FOLDER).mkdir(exist_ok=True)
            writer = RecordWriter(str(root / FOLDER / "events.out.tfevents.0"))
            writer.write(mutated_bytes(event.SerializeToString(), draw))
            writer.close()
            tensorboard.read(root / FOLDER)
            return
        for path, value in whole.items():
            files.write_json(path, value)
        path = draw.choice((note, left))
        value = mutated_json({k: v for k, v in whole[path].items() if k != "sha256"}, draw)
        data = files.pretty_json(value)
        if draw.random() < 0.2:
            path.write_bytes(mutated_bytes(data, draw))
        elif isinstance(value, dict):
            files.write_sealed_json(path, value)
        for error in requests.read(root).damaged:
            raise error

    return opened


def sweep_door(folder: Path) -> Door:
    text = (
        b'task = "deep_sea"\nagents = ["isl"]\nsizes = [3, 4]\nseeds = 2\n[grid]\nkappa = [1, 13]\n'
    )

    def opened(draw: random.Random) -> None:
        (folder / "sweep.toml").write_bytes(mutated_bytes(text, draw))
        sweep.read_file(folder / "sweep.toml")

    return opened


DOORS = {
    "checkpoint": checkpoint_door,
    "model": model_door,
    "run": run_door,
    "records": records_door,
    "sweep": sweep_door,
}


def answers(door: str, count: int, folder: Path) -> Iterator[str]:
    """What each file gave: "" if it was loaded, or the line that refuses it."""
    draw = random.Random(door)
    if door == "Parquet":
        waiting = [mutated_bytes(parquet(goal=3), draw) for _ in range(count)]
        while waiting:
            found = episodes.complaints(waiting)  # up to the first that ends the reader
            yield from found
            waiting = waiting[len(found) :]
        return
    opened = DOORS[door](folder)
    room = psutil.Process().memory_info().vms + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    for _ in range(count):
        try:
            opened(draw)
        except (DamagedFile, UsageError) as error:
            yield str(error)
        else:
            yield ""


def main(door: str, count: int) -> None:
    files.steps.fsync = files.steps.fsync_dir = lambda where: None
    with tempfile.TemporaryDirectory() as folder:
        before = 0
        found = []
        for answer in answers(door, count, Path(folder)):
            before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found.append(answer)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        strange = sorted(path.name for path in Path(folder).iterdir())
    refused = {answer for answer in found if answer}
    assert not any("\n" in line for line in refused), "a message of several lines"
    loaded = found.count("")
    report = {"inputs": len(found), "loaded": loaded, "messages": len(refused)}
    print(json.dumps({**report, "grown_mib": grown // 1024, "left": strange}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
