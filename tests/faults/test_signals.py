"""Row 5: asked to stop at any moment, in any way: exit code 130, nobody left, same bits later."""

import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from isl.cli.main import main
from tests.support.sweeps import ROOT, after, command, ended, finish, hashes, start, tree, wait_for

pytestmark = pytest.mark.slow  # sends signals to commands

KINDS = ("SIGINT", "SIGTERM", "double SIGINT", "closed terminal")
# Before Python has begun to run the command, a signal does what it does to any Python program.
EARLY = {-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP}


# As a shell starts a command in the foreground, whatever these tests themselves were started by.
HEARING = "import signal; [signal.signal(n, signal.SIG_DFL) for n in (1, 2, 15)]"


def in_terminal(arguments):
    """A command in a terminal of its own, and the far end of that terminal."""
    near, far = pty.openpty()
    # A shell of a terminal is the leader of its session, which the closing reaches first.
    leading = f"{HEARING}; import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    process = subprocess.Popen(
        after(leading, arguments),
        cwd=ROOT,
        stdin=far,
        stdout=far,
        stderr=far,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
    )
    os.close(far)
    return process, near


def stop(kind, out, delay, budget):
    """Start the sweep, stop it after a while; its exit code and whoever is left of it."""
    near = None
    arguments = command(out, "--checkpoint-seconds", "0.2", **budget)
    if kind == "closed terminal":
        process, near = in_terminal(arguments)
        os.set_blocking(near, False)
    else:
        process = start(after(HEARING, arguments))
    end = time.monotonic() + delay
    while time.monotonic() < end:
        if near is not None:
            with suppress(OSError):
                os.read(near, 1 << 16)  # a terminal that nobody reads fills up
        time.sleep(0.02)
    members = tree(process)
    match kind:
        case "SIGINT":
            process.send_signal(signal.SIGINT)
        case "SIGTERM":
            process.send_signal(signal.SIGTERM)
        case "double SIGINT":
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        case "closed terminal":
            os.close(near)
    ended(process, seconds=30)
    _, left = psutil.wait_procs(members, timeout=5)
    return process.returncode, left


@pytest.fixture(scope="module")
def budget(often):
    return {"seeds": 3, "episodes": often(10_000, 60_000), "sizes": "3"}


@pytest.fixture(scope="module")
def whole(budget, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    began = time.monotonic()
    finish(command(out, **budget))
    return hashes(out), time.monotonic() - began


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_at_random_moments(tmp_path, budget, whole, often, tally, kind):
    whole, seconds = whole
    if kind not in often(("closed terminal",), KINDS):
        pytest.skip("takes long: make faults")
    draw, times = random.Random(kind), often(1, 20)
    codes = []
    for number in range(times):
        # Some while it starts, the others while its workers compute.
        share = draw.uniform(0, 0.3) if number % 4 == 3 else draw.uniform(0.4, 0.8)
        delay = share * seconds
        code, left = stop(kind, tmp_path, delay, budget)
        assert not left, f"{kind}: {left} outlived the command"
        assert code == 130 or code in EARLY or code == 0, code
        codes.append(code)
        found = hashes(tmp_path)
        assert all(whole[name] == digest for name, digest in found.items())
        if len(found) == len(whole):  # nothing left to be interrupted at
            shutil.rmtree(tmp_path / "deep_sea")
    assert 130 in codes
    finish(command(tmp_path, **budget))
    assert hashes(tmp_path) == whole
    said = ", ".join(f"{codes.count(code)} × {code}" for code in sorted(set(codes)))
    tally(5, f"{kind}: {times} moments, exit codes {said}; 0 orphans, same bits")


@pytest.mark.usefixtures("only_long")
def test_nohup_outlives_the_terminal(tmp_path):
    arguments = command(tmp_path, seeds=1, episodes=2_000)
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    process = start(after(ignoring, arguments))
    wait_for(lambda: list(tmp_path.rglob("config.json")))
    process.send_signal(signal.SIGHUP)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0, printed


SWALLOWING = """
import os, signal, sys
from isl.cli import main as cli

def import_everything(arguments):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:
        pass
    return 0

cli._run = import_everything
sys.exit(cli.main())
"""


def test_a_signal_while_libraries_are_imported_ends_the_program_at_once():
    """Not by an exception, which some libraries swallow while they are imported."""
    arguments = [sys.executable, "-c", SWALLOWING, "list"]
    assert subprocess.run(after(HEARING, arguments), cwd=ROOT, timeout=50).returncode == 130


def test_main_called_as_a_function_leaves_signals_alone():
    before, seen = handlers(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isl.cli.main._run", lambda arguments: seen.append(handlers()) or 0)
        assert main(["list"]) == 0
    assert seen == [before]


def handlers():
    return [signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
