"""Row 3: a disk that is full or read-only: a clear line, no harm, and on it goes afterwards.

The steps of every single write are refused in test_files.py, test_checkpoint.py and test_store.py;
here a whole command meets a real file system, a small one in memory.
"""

import contextlib
import os
import random
import shutil
import subprocess

import pytest

from isl.status import Status
from isl.storage import run_folder, store
from tests.support.fault_injection import write_run
from tests.support.sweeps import command, ended, finish, hashes, start

pytestmark = pytest.mark.slow  # runs whole commands on full disks

SMALL = {"seeds": 1, "episodes": 300, "sizes": "3"}


@contextlib.contextmanager
def small_disk(folder, kilobytes):
    folder.mkdir()
    options = f"size={kilobytes}k"
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "isl-faults", folder], capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("a tmpfs can only be mounted by root; the injected faults are tested elsewhere")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    finish(command(out, "--workers", "1", **SMALL))
    return hashes(out)


def nothing_is_damaged(out):
    for run in store.scan(out):
        assert run.status is not Status.DAMAGED, run.problem
        assert run_folder.verify(run.path) == []


def run_in_vain(out):
    process = start(command(out, "--workers", "1", "--checkpoint-seconds", "0", **SMALL))
    printed, code = ended(process, seconds=300)
    assert "Traceback" not in printed
    return code, printed


def test_a_full_disk_is_said_and_survived(tmp_path, whole, often, tally):
    """Filled up but for some kilobytes, so that it is full sooner or later."""
    draw, times, codes = random.Random(0), often(1, 10), []
    for number in range(times):
        with small_disk(tmp_path / str(number), 2048) as disk:
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(2 << 20)[: (2048 - draw.randrange(8, 28, 4)) << 10])
            code, printed = run_in_vain(disk)
            assert code in (1, 2), printed
            assert "No space left on device" in printed
            nothing_is_damaged(disk)
            ballast.unlink()
            finish(command(disk, "--workers", "1", **SMALL))
            assert hashes(disk) == whole
            codes.append(code)
    tally(3, f"full disk (tmpfs): {times} times, exit codes {sorted(set(codes))}, all continued")


def test_a_read_only_folder_is_said_and_survived(tmp_path, whole, often, tally):
    """One run is there, the others cannot be written until it is writable again."""
    times = often(2, 10)
    with small_disk(tmp_path / "disk", 4096) as disk:
        write_run(disk)
        before = hashes(disk)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for _ in range(times):
            code, printed = run_in_vain(disk)
            assert code == 2, printed
            assert printed.count("\n") == 1
            assert f"cannot write to --out {disk}: Read-only file system" in printed
            assert hashes(disk) == before
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        finish(command(disk, "--workers", "1", **SMALL))
        assert hashes(disk) == before | whole
        nothing_is_damaged(disk)
    tally(3, f"read-only folder (tmpfs): {times} times, exit code 2, continued once writable")


@pytest.mark.usefixtures("only_long")
def test_a_folder_that_becomes_unwritable_while_runs_are_at_work(tmp_path, whole, tally):
    """The workers meet the refusal; the command says so and ends, with what was done intact."""
    if os.geteuid() == 0 and not immutable(tmp_path, True):
        pytest.skip("root writes everywhere here: no immutable folders on this file system")
    immutable(tmp_path, False)
    out = tmp_path / "runs"
    out.mkdir()
    finish(command(out, "--workers", "1", **SMALL))
    (run_dir, *_) = store.run_folders(out)
    (run_dir / "DONE.json").unlink()
    immutable(run_dir, True)
    try:
        code, printed = run_in_vain(out)
    finally:
        immutable(run_dir, False)
    assert code == 1, printed
    assert f"failed: cannot write {run_dir / 'config.json'}" in printed
    finish(command(out, "--workers", "1", **SMALL))
    assert hashes(out) == whole
    tally(3, "unwritable while at work: failed, named, continued")


def immutable(folder, on):
    """Whether the folder could be made unwritable (or writable again), also for root."""
    if os.geteuid():
        folder.chmod(0o555 if on else 0o755)
        return True
    flag = "+i" if on else "-i"
    return (
        shutil.which("chattr")
        and not subprocess.run(["chattr", flag, folder], capture_output=True).returncode
    )
