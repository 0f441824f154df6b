"""Row 8: thousands of tiny runs in one command, with few file descriptors to waste."""

import os
import subprocess
import time
from statistics import median

import psutil
import pytest

from isl.experiments.executing.worker import LOG_BYTES
from isl.status import Status
from isl.storage import store
from tests.support.sweeps import ISL, ROOT, after, finish, tree

pytestmark = pytest.mark.slow  # trains for a while

TASKS = ["deep_sea/3", "CartPole-v1"]
LARGEST_LOG = 1 << 20

FEW_DESCRIPTORS = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))"


def sweep(out, task, seeds):
    budget = "--episodes 20" if task.startswith("deep_sea") else "--timesteps 100"
    options = (
        f"--agents tests.support.counting_agent --workers 1 --seeds {seeds} {budget} --out {out}"
    )
    return [*ISL, "sweep", task, *options.split()]


def watched(process):
    """(runs done, descriptors, megabytes) of the command and its worker, now and then."""
    seen = []
    while process.poll() is None:
        members = tree(process)
        try:
            descriptors = [member.num_fds() for member in members]
            memory = [member.memory_info().rss / 2**20 for member in members]
        except psutil.Error:
            continue
        if len(members) == 2:
            seen.append((descriptors, memory))
        time.sleep(0.2)
    return seen


def growth(series, level):
    """From just after the warm-up (a fifth of the time) to the end, of levels over a tenth."""
    tenth = max(1, len(series) // 10)
    warm = len(series) // 5
    return level(series[-tenth:]) / level(series[warm : warm + tenth]) - 1


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.usefixtures("only_long")
def test_nothing_grows(tmp_path, tally, task):
    seeds = 1500
    # To a file: nobody reads a pipe here, and a full one would stop the command.
    with (tmp_path / "printed").open("w") as printed:
        process = subprocess.Popen(
            after(FEW_DESCRIPTORS, sweep(tmp_path / "runs", task, seeds)),
            cwd=ROOT,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        seen = watched(process)
    assert process.returncode == 0, (tmp_path / "printed").read_text()[-2000:]
    runs = list(store.scan(tmp_path / "runs"))
    assert [run.status for run in runs] == [Status.DONE] * seeds
    logs = sum(path.stat().st_size for path in (tmp_path / "runs" / "logs").iterdir())
    assert logs <= LARGEST_LOG
    for position, who in enumerate(("command", "worker")):
        descriptors = [d[position] for d, _ in seen]
        memory = [m[position] for _, m in seen]
        # Most descriptors are open for a moment only: their number is known by its peaks.
        grown = growth(descriptors, max), growth(memory, median)
        assert max(grown) <= 0.05, (who, grown)
        tally(
            8,
            f"{seeds} runs of {task}, {who}: descriptors {grown[0]:+.1%} (at most "
            f"{max(descriptors)}), memory {grown[1]:+.1%} (at most {max(memory):.0f} MiB), "
            f"logs {logs} bytes",
        )


def test_a_chatty_environment_does_not_fill_the_disk(tmp_path):
    """A kilobyte printed at every step: the log stays below a megabyte, with few descriptors."""
    task = "tests.faults.bad_envs:Prints-v0"
    options = "--agent tests.support.counting_agent --timesteps 1500 --seeds 2 --workers 1 --out"
    finish(
        after(FEW_DESCRIPTORS, [*ISL, "train", task, *options.split(), tmp_path]),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    (log,) = (tmp_path / "logs").iterdir()
    assert LOG_BYTES // 4 < log.stat().st_size <= LARGEST_LOG
    assert log.read_text().startswith("[earlier lines were cut]\n")
