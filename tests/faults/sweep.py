"""Break a sweep of 60 small runs in every way that happens, and compare the results' hashes.

    python -m tests.faults.sweep [--only FAULT] [FOLDER]

Undisturbed; killed with SIGKILL at 20 random moments and continued; started ten times at once;
interrupted by Ctrl-C; with runs that diverge; and, if Ray is installed, on two Ray nodes of which
one is killed half-way. Prints a line for each, and ends with code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from isl.status import Status
from isl.storage import store
from tests.support import ray_nodes
from tests.support.sweeps import at_work, command, finish, hashes, kill, start, tree, wait_for

SEEDS = 30  # of two sizes
KILLS = 20
STARTS = 10
BUDGET = {"seeds": SEEDS, "episodes": 8_000}
CHECKPOINTS = ("--checkpoint-seconds", "0.2")


def killed(out: Path) -> str:
    rng = random.Random(0)
    resumed = 0
    for kills in range(KILLS):
        process = start(command(out, *CHECKPOINTS, **BUDGET))
        wait_for(lambda process=process: len(tree(process)) > 1 or process.poll() is not None)
        if kills % 4:  # one in four while the workers start, the others while they compute
            wait_for(lambda process=process: at_work(out) or process.poll() is not None)
        time.sleep(rng.uniform(0.0, 6.0))
        kill(process)
        resumed += any(out.rglob("checkpoint/step-*.safetensors"))
    done = sum(run.status is Status.DONE for run in store.scan(out))
    finish(command(out, *CHECKPOINTS, **BUDGET))
    return f"{KILLS} kills, {resumed} with a checkpoint to go on from, {done} runs done by the last"


def raced(out: Path) -> str:
    arguments = command(out, "--workers", "1", **BUDGET)
    processes = [start(arguments) for _ in range(STARTS)]
    printed = [process.communicate(timeout=1800)[0] for process in processes]
    codes = [process.returncode for process in processes]
    ends = sum(text.count(": done, 8000 episodes") for text in printed)
    return f"{STARTS} starts, exit codes {sorted(set(codes))}, {ends} runs computed"


def interrupted(out: Path) -> str:
    process = start(command(out, **BUDGET))
    wait_for(lambda: len(list(out.rglob("DONE.json"))) > 3, 300)
    members = tree(process)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    seconds = time.monotonic() - began
    orphans = sum(member.is_running() for member in members)
    finish(command(out, **BUDGET))
    return f"exit code {process.returncode} after {seconds:.1f} s, {orphans} orphans, continued"


def diverging(out: Path) -> str:
    grid = ("--grid", "diverge_at=1000000,700")
    printed = finish(command(out, *grid, **BUDGET), code=1)
    named = sum(": diverged: update 700" in line for line in printed.splitlines())
    statuses = [run.status for run in store.scan(out)]
    for run in store.scan(out):
        if run.status is Status.DIVERGED:
            shutil.rmtree(run.path)
    return f"exit code 1, {statuses.count(Status.DIVERGED)} diverged, {named} lines name their step"


def on_ray(out: Path) -> str:
    """Two nodes, one core each; the second is killed once a third of the runs is done."""
    with ray_nodes.cluster() as (address, environment, nodes):
        ray = ("--executor", "ray", "--ray-address", address)
        process = start(command(out, *ray, *CHECKPOINTS, **BUDGET), env=environment)
        wait_for(lambda: len(list(out.rglob("DONE.json"))) >= 2 * SEEDS // 3, 600)
        gone = ray_nodes.kill_node(nodes[1])
        left = 2 * SEEDS - len(list(out.rglob("DONE.json")))
        printed, _ = process.communicate(timeout=1800)
    if process.returncode != 0:
        raise SystemExit(printed)
    return f"node of {gone} processes killed with {left} runs left, exit code 0"


FAULTS: list[Callable[[Path], str]] = [killed, raced, interrupted, diverging, on_ray]


def main() -> int:
    parser = argparse.ArgumentParser(description="Break a sweep and compare its results.")
    parser.add_argument("folder", nargs="?", type=Path, help="where the runs go")
    parser.add_argument("--only", choices=[fault.__name__ for fault in FAULTS])
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="isl-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    finish(command(folder / "whole", **BUDGET))
    wanted = hashes(folder / "whole")
    print(f"whole: {len(wanted) // 2} runs in {time.monotonic() - began:.0f} s", flush=True)
    wrong = 0
    for fault in FAULTS:
        if options.only not in (None, fault.__name__):
            continue
        if fault is on_ray and importlib.util.find_spec("ray") is None:
            print("on_ray: left out, Ray is not installed (pip install 'isl[ray]')")
            continue
        out = folder / fault.__name__
        began = time.monotonic()
        out.mkdir()
        told = fault(out)
        found = hashes(out)
        same = sum(found.get(name) == digest for name, digest in wanted.items())
        wrong += same != len(wanted) or len(found) != len(wanted)
        seconds = time.monotonic() - began
        print(f"{fault.__name__}: {told}; {same} of {len(wanted)} hashes equal ({seconds:.0f} s)")
        sys.stdout.flush()
    locked = subprocess.run(
        [sys.executable, "-c", _LOCKED, str(folder)], check=True, capture_output=True, text=True
    )
    print(f"locks still held: {locked.stdout.strip()}; results in {folder}")
    return 1 if wrong or locked.stdout.strip() != "0" else 0


_LOCKED = """
import sys
from pathlib import Path
from isl.storage import files
print(sum(files.is_locked(path) for path in Path(sys.argv[1]).rglob(".lock")))
"""

if __name__ == "__main__":
    sys.exit(main())
