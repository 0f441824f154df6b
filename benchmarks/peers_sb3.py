"""Our DQN in the host loop beside Stable-Baselines3's: environment steps per second, and the ratio.

    python benchmarks/peers_sb3.py --steps 3000

Both run CartPole-v1 in this process, on one core, in turns: SB3's default network (64, 64) and
batch (32), one update per environment step, the same replay capacity, target period and ε.
Compilation and the steps before learning starts are left out. Needs the extra `peers`.
"""

from __future__ import annotations

import os

# One core and one XLA thread; must be set before JAX starts.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import argparse
import time
from collections.abc import Callable

import gymnasium
import numpy as np

from isl import DQN

REPEATS = 5
CAPACITY = 50_000
STARTS = 200
TARGET_PERIOD = 10_000  # SB3's default


def ours() -> Callable[[int], object]:
    model = DQN(
        "CartPole-v1",
        hidden=(64, 64),
        batch_size=32,
        lr=1e-4,
        replay_capacity=CAPACITY,
        learning_starts=STARTS,
        target_period=TARGET_PERIOD,
        epsilon_start=0.05,
    )
    return lambda steps: model.learn(steps, reset_num_timesteps=False, progress_bar=False)


def theirs() -> Callable[[int], object]:
    import torch
    from stable_baselines3 import DQN as SB3DQN

    torch.set_num_threads(1)
    model = SB3DQN(
        "MlpPolicy",
        "CartPole-v1",
        policy_kwargs={"net_arch": [64, 64]},
        batch_size=32,
        learning_rate=1e-4,
        buffer_size=CAPACITY,
        learning_starts=STARTS,
        target_update_interval=TARGET_PERIOD,
        train_freq=1,
        gradient_steps=1,
        exploration_initial_eps=0.05,
        device="cpu",
    )
    return lambda steps: model.learn(steps, reset_num_timesteps=False)


def environment_alone(steps: int) -> float:
    """Microseconds that a step of the environment itself takes."""
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    start = time.perf_counter()
    for step in range(steps):
        _, _, terminated, truncated, _ = env.step(step % 2)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - start) / steps * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000, help="of each, per repeat")
    steps = parser.parse_args().steps
    runs = {"isl DQN": ours(), "SB3 DQN": theirs()}
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run(STARTS + 100)  # fills the replay, then compiles the update
    for _ in range(REPEATS):  # in turns, so that both meet the same noise of the machine
        for name, run in runs.items():
            start = time.perf_counter()
            run(steps)
            speeds[name].append(steps / (time.perf_counter() - start))
    print("CartPole-v1, one core, networks (64, 64), batch 32, one update per step")
    for name, found in speeds.items():
        low, middle, high = np.quantile(found, [0.0, 0.5, 1.0])
        print(f"{name:8s} {middle:8.0f} env steps/s  (lowest {low:.0f}, highest {high:.0f})")
    print(f"ratio of medians {np.median(speeds['isl DQN']) / np.median(speeds['SB3 DQN']):8.1f}")
    print(f"the environment alone takes {environment_alone(5000):.0f} µs per step")


if __name__ == "__main__":
    main()
