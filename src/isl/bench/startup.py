"""From typing `isl train deep_sea/10` to its first finished episode, cold and warm.

Cold: with an empty cache of compiled programs. Warm: with the cache that this left. Wall time until
the command says that its one episode is done, so a little more than until the episode's end.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time


def seconds_to_first_episode(cache: str) -> float:
    """One start of the command, with its compiled programs in `cache`."""
    arguments = [sys.executable, "-m", "isl", "train", "deep_sea/10", "--episodes", "1", "--out"]
    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*arguments, out],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": cache},
        )
        assert process.stdout is not None
        took = next(
            time.perf_counter() - began for line in process.stdout if "done, 1 episodes" in line
        )
        process.stdout.read()
        process.wait()
        return took


def measure(turns: int) -> None:
    """Start the command `turns` times each way and print how long it took."""
    cold, warm = [], []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(seconds_to_first_episode(cache))
            warm.append(seconds_to_first_episode(cache))
    for name, seconds in (("cold", cold), ("warm", warm)):
        print(
            f"{name}: {statistics.median(seconds):.1f} s to the first episode "
            f"(of {turns} starts: {min(seconds):.1f} to {max(seconds):.1f})"
        )
