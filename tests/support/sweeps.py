"""Small sweeps in processes of their own, to be killed, raced and compared."""

import hashlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from isl.storage import files, run_folder

ROOT = Path(__file__).parents[2]
ISL = [sys.executable, "-c", "import sys; from isl.cli.main import main; sys.exit(main())"]


def command(out, *more, seeds=4, episodes=2_000, sizes="3 4"):
    """Two configurations of an agent without networks: it compiles in a second or two."""
    arguments = (
        f"sweep deep_sea --agents tests.support.counting_agent --sizes {sizes} --seeds {seeds}"
    )
    budget = ["--episodes", str(episodes), "--out", str(out)]
    return [*ISL, *arguments.split(), *budget, *map(str, more)]


def start(arguments, **more):
    """In a session of its own, as a shell would start it."""
    return subprocess.Popen(
        arguments,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **more,
    )


def after(code, arguments):
    """The command, started by a Python that first does something to itself."""
    return [
        sys.executable,
        "-c",
        f"import os, sys; {code}; os.execv(sys.argv[1], sys.argv[1:])",
        *map(str, arguments),
    ]


def finish(arguments, code=0, **more):
    printed, found = ended(start(arguments, **more), seconds=600)
    assert found == code, printed
    return printed


def ended(process, seconds):
    """What it printed, and its exit code; one that takes too long is killed with all it started."""
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill(process)
        raise
    return printed, process.returncode


def tree(process):
    """A process and all it has started."""
    try:
        parent = psutil.Process(process.pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(process):
    """As a power cut does: the command and its workers at once."""
    members = tree(process)
    for member in members:
        try:
            member.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(members, timeout=10)
    process.communicate()


def hashes(out):
    """Of the episodes and of the final parameters of every finished run."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in ("episodes.parquet", "final.safetensors")
        for path in sorted(Path(out).rglob(name))
        if run_folder.is_done(path.parents[name == "final.safetensors"])
    }


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def at_work(out):
    """Whether some run is being computed."""
    return any(files.is_locked(path) for path in Path(out).rglob(".lock"))
