"""How long a start takes, cold and warm: with an empty cache of compiled programs, and with that
which the cold start left.

From typing `isl train deep_sea/10` to its first finished episode: wall time until the command says
that its one episode is done, so a little more than until the episode's end. And the first 600 steps
on CartPole-v1 through the Python API, in CPU time, beside Stable-Baselines3 where it is installed:
all of them on one core and one thread, because PyTorch's threads wait busily for each other.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time

ENVIRONMENT, STEPS = "CartPole-v1", 600
OURS, PEER = ("Seeker", "DQN"), "Stable-Baselines3's DQN"


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


def cpu_seconds_of_first_steps(name: str, cache: str, core: int) -> float:
    """A process that trains a model of `OURS`, or the `PEER`, and does nothing else."""
    done = subprocess.run(
        [sys.executable, "-m", "isl.bench.first_steps", name, str(core)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "XDG_CACHE_HOME": cache, "OMP_NUM_THREADS": "1"},
    )
    return float(done.stdout.splitlines()[-1])


def measure(turns: int, core: int) -> None:
    """Start everything `turns` times each way and print how long it took."""
    cold: list[float] = []
    warm: list[float] = []
    used: dict[str, list[float]] = {}
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(seconds_to_first_episode(cache))
            warm.append(seconds_to_first_episode(cache))
            for name in OURS:
                for kind in ("cold", "warm"):
                    seconds = cpu_seconds_of_first_steps(name, cache, core)
                    used.setdefault(f"{name}, {kind}", []).append(seconds)
            if importlib.util.find_spec("stable_baselines3") is not None:
                used.setdefault(PEER, []).append(cpu_seconds_of_first_steps(PEER, cache, core))
    print(f"wall seconds to the first episode of isl train deep_sea/10, {turns} starts each")
    _print({"cold": cold, "warm": warm})
    print(f"CPU seconds of the first {STEPS} steps on {ENVIRONMENT}, {turns} starts each")
    _print(used)


def _print(seconds: dict[str, list[float]]) -> None:
    for name, each in seconds.items():
        median, low, high = statistics.median(each), min(each), max(each)
        print(f"  {name:<24} {median:5.1f} ({low:.1f} to {high:.1f})")
