"""Our DQN in the host loop beside Stable-Baselines3's, on CartPole-v1.

Both have SB3's default network (64, 64) and batch (32), one update per environment step, the same
replay capacity, target period and ε. Compilation and the steps before learning starts are left out.
Stable-Baselines3 comes with the extra `peers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium

from isl import DQN
from isl.bench.timing import Contestant, take_turns
from isl.errors import UsageError

STEPS = 3_000  # of each, per turn
CAPACITY = 50_000
STARTS = 200
TARGET_PERIOD = 10_000  # SB3's default


def compare(turns: int) -> None:
    """Measure and print."""
    ours, theirs = _contestant("isl DQN", _ours()), _contestant("SB3 DQN", _theirs())
    take_turns([ours, theirs], turns)
    print("CartPole-v1, one core, networks (64, 64), batch 32, one update per step")
    for each in (ours, theirs):
        best, worst = each.spread
        speed = f"{1 / each.median:8.0f} env steps/s"
        print(f"{each.name:8s} {speed}  (lowest {1 / worst:.0f}, highest {1 / best:.0f})")
    print(f"ratio of medians {theirs.median / ours.median:8.1f}")
    print(f"the environment alone takes {environment_alone(5000):.0f} µs per step")


def _contestant(name: str, learn: Callable[[int], Any]) -> Contestant:
    learn(STARTS + 100)  # fills the replay, then compiles the update
    return Contestant(name, STEPS, lambda: learn(STEPS))


def _ours() -> Callable[[int], Any]:
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
    return lambda steps: model.learn(
        steps, reset_num_timesteps=False, progress_bar=False, n_eval_episodes=0
    )


def _theirs() -> Callable[[int], Any]:
    try:
        import torch
        from stable_baselines3 import DQN as SB3DQN  # type: ignore[import-not-found]
    except ModuleNotFoundError as error:
        raise UsageError(f"this needs {error.name}: pip install 'isl[peers]'") from None
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
