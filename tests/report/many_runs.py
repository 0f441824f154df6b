"""`python -m tests.report.many_runs`: what the report of 600 runs takes, and how large it is.

5 agents, 12 sizes of Deep Sea and 10 seeds, 600 episodes each; 60 runs have 60 snapshots.
"""

import tempfile
import time
from pathlib import Path

from isl.report import write_report
from tests.support import made_runs

AGENTS = ("isl", "boot_dqn", "ube", "sbeed", "dqn")
SIZES = range(8, 32, 2)
SEEDS, FRAMES = 10, 60


def main(root):
    for agent in AGENTS:
        for size in SIZES:
            for seed in range(SEEDS):
                solved = 20 * size + 10 * seed
                run = made_runs.make(root, f"deep_sea/{size}", agent, seed, solves_at=solved)
                if seed == 0:
                    made_runs.add_snapshots(run, size, FRAMES)
    began, used = time.monotonic(), time.process_time()
    page = write_report(root, root / "report")
    took, used = time.monotonic() - began, time.process_time() - used
    number = len(AGENTS) * len(SIZES) * SEEDS
    megabytes = page.stat().st_size / 1e6
    print(f"{number} runs: {used:.0f} s of processor time, {took:.0f} s in all, {megabytes:.1f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
