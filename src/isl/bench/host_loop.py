"""Seeker and DQN in the host loop beside the DQNs of Stable-Baselines3 and SBX: steps per second.

Everybody has Stable-Baselines3's default network (64, 64) and batch (32), one update for every
environment step, the same replay capacity and steps before the first update. The three DQNs also
share target period, learning rate and ε. Nothing is evaluated. The warm-up before the turns fills
the replay, ends an episode and compiles; how long it compiled is a column of its own. The peers
come with the extra `peers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import gymnasium

from isl import DQN, Seeker
from isl.bench import peers
from isl.bench.compiling import compiling
from isl.bench.solving import learn_on
from isl.bench.timing import Contestant, take_turns

ENVIRONMENTS = ("CartPole-v1", "MountainCar-v0")
WIDTHS = (1, 8)  # environments side by side
STEPS = 3_200  # of each contestant, per turn
WARM_UP = 250  # steps of each environment after learning has started; more than an episode takes
CAPACITY = 50_000
STARTS = 200
RATE = 1e-4  # SB3's default
TARGET_PERIOD = 10_000  # likewise
EPSILON = 0.05
PEER = "SB3 DQN"  # whom all others are compared with
# How many times the peer's steps per second ours should make, by width.
AIMS = {("Seeker", 1): 2.5, ("Seeker", 8): 4.0, ("DQN", 1): 6.0, ("DQN", 8): 8.0}
PACKAGES = ("stable-baselines3", "sbx-rl", "torch", "jax")

Learn = Callable[[int], Any]  # trains for a number of steps
MATCHED: Mapping[str, Any] = {
    "hidden": (64, 64),
    "batch_size": 32,
    "replay_capacity": CAPACITY,
    "learning_starts": STARTS,
    "steps": 1,
    "updates": 1,
}


def compare(turns: int) -> None:
    """Measure and print a Markdown table, the four contestants of a setting taking turns."""
    compiling()
    print(", ".join(f"{package} {version(package)}" for package in PACKAGES))
    print(f"networks (64, 64), batch 32, one update per step; medians of {turns} turns")
    print(
        "| environment | at once | agent | steps/s | lowest | highest | steps per CPU s "
        "| × SB3 | × SB3, CPU | aim | compiling, s |"
    )
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for env in ENVIRONMENTS:
        for width in WIDTHS:
            contestants = [warmed_up(name, env, width) for name in MAKERS]
            take_turns(contestants, turns)
            for line in lines(env, width, contestants):
                print(line, flush=True)
    for env in ENVIRONMENTS:
        print(f"a step of {env} itself takes {environment_alone(env, 5000):.0f} µs")


def lines(env: str, width: int, contestants: list[Contestant]) -> list[str]:
    """Rows of the table, for contestants that have taken their turns."""
    peer = next(each for each in contestants if each.name == PEER)
    rows = []
    for each in contestants:
        best, worst = each.spread
        rates = [f"{1 / x:,.0f}" for x in (each.median, worst, best, each.cpu_median)]
        times = [
            f"{peer.median / each.median:.1f}",
            f"{peer.cpu_median / each.cpu_median:.1f}",
        ]
        aim = AIMS.get((each.name, width))
        others = ["–" if aim is None else f"{aim:g}", f"{each.facts['compiling']:.1f}"]
        rows.append(f"| {' | '.join([env, str(width), each.name, *rates, *times, *others])} |")
    return rows


def warmed_up(name: str, env: str, width: int) -> Contestant:
    """A contestant that has compiled everything it needs; `facts` says how long that took."""
    before = compiling().seconds
    learn = MAKERS[name](env, width)
    learn(STARTS + WARM_UP * width)
    took = compiling().seconds - before
    return Contestant(name, STEPS, lambda: learn(STEPS), {"compiling": took})


def _seeker(env: str, width: int) -> Learn:
    return _ours(Seeker(env, num_envs=width, **MATCHED))


def _dqn(env: str, width: int) -> Learn:
    return _ours(
        DQN(
            env,
            num_envs=width,
            **MATCHED,
            lr=RATE,
            target_period=TARGET_PERIOD,
            epsilon_start=EPSILON,
            epsilon_end=EPSILON,
        )
    )


def _ours(model: Any) -> Learn:
    return lambda steps: learn_on(model, steps)


def _peer(module: str) -> Callable[[str, int], Learn]:
    def make(env: str, width: int) -> Learn:
        from stable_baselines3.common.env_util import make_vec_env

        model = peers.sb3_like_dqn(
            module,
            make_vec_env(env, n_envs=width, seed=0),
            policy_kwargs={"net_arch": list(MATCHED["hidden"])},
            batch_size=MATCHED["batch_size"],
            buffer_size=CAPACITY,
            learning_starts=STARTS,
            gradient_steps=width,  # after a step of all environments
            learning_rate=RATE,
            target_update_interval=TARGET_PERIOD,
            exploration_initial_eps=EPSILON,
            exploration_final_eps=EPSILON,
        )
        return lambda steps: model.learn(steps, reset_num_timesteps=False)

    return make


MAKERS: Mapping[str, Callable[[str, int], Learn]] = {
    "Seeker": _seeker,
    "DQN": _dqn,
    PEER: _peer("stable_baselines3"),
    "SBX DQN": _peer("sbx"),
}


def environment_alone(name: str, steps: int) -> float:
    """Microseconds that a step of the environment itself takes."""
    env = gymnasium.make(name)
    env.reset(seed=0)
    start = time.perf_counter()
    for step in range(steps):
        _, _, terminated, truncated, _ = env.step(step % 2)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - start) / steps * 1e6
