"""Several environments side by side: what they gain in speed, and what they cost in samples.

A step of W environments is one compiled call, and there is one update for every step of each of
them. So steps per second grow with W until the environments themselves take the time. The policy
that acts is W − 1 steps older, and the episodes of a budget are played side by side: both may cost
samples. Here both are measured: steps per second by turns, and the steps and seconds until a greedy
evaluation reaches the environment's bar.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

from isl import Seeker
from isl.bench.timing import Contestant, take_turns

WIDTHS = (1, 4, 8, 16)
SEEDS = (1000, 1001, 1002)
STEPS = 4_000  # of each contestant, per turn
WARM_UP = 1_000


class Case(NamedTuple):
    """An environment, the mean greedy return that solves it, and how long to try."""

    env: str
    bar: float
    budget: int
    every: int  # steps between evaluations


CASES = (Case("CartPole-v1", 475, 60_000, 2_000), Case("MountainCar-v0", -120, 150_000, 5_000))


class Learned(NamedTuple):
    """What one seed took to the bar; the whole budget if it never got there."""

    steps: int
    seconds: float
    solved: bool


def compare(turns: int, cases: Sequence[Case] = CASES, seeds: Sequence[int] = SEEDS) -> None:
    """Measure and print, a line for each number of environments."""
    for case in cases:
        print(f"{case.env}, Seeker, one core; bar: a greedy return of {case.bar:g}")
        print("environments   steps/s   steps to the bar   seconds to it   seeds that reached it")
        speeds = speed(case, turns)
        for width in WIDTHS:
            found = [to_the_bar(case, width, seed) for seed in seeds]
            steps = statistics.median(one.steps for one in found)
            seconds = statistics.median(one.seconds for one in found)
            solved = sum(one.solved for one in found)
            print(
                f"{width:12d} {speeds[width]:9.0f} {steps:18,.0f} {seconds:15.1f} "
                f"{solved:8d} of {len(seeds)}",
                flush=True,
            )


def speed(case: Case, turns: int) -> dict[int, float]:
    """Environment steps per second of training, without compilation, by width."""
    contestants = {width: _contestant(case, width) for width in WIDTHS}
    take_turns(contestants.values(), turns)
    return {width: 1 / each.median for width, each in contestants.items()}


def _contestant(case: Case, width: int) -> Contestant:
    model = Seeker(case.env, num_envs=width)

    def learn(steps: int) -> None:
        model.learn(steps, reset_num_timesteps=False, progress_bar=False, n_eval_episodes=0)

    learn(WARM_UP)  # fills the replay, then compiles
    return Contestant(f"{width} environments", STEPS, lambda: learn(STEPS))


def to_the_bar(case: Case, width: int, seed: int) -> Learned:
    """Train until a greedy evaluation reaches the bar; evaluations count as time."""
    model = Seeker(case.env, num_envs=width, seed=seed)
    start = time.perf_counter()
    while model.num_timesteps < case.budget:
        model.learn(
            case.every,
            reset_num_timesteps=False,
            progress_bar=False,
            eval_freq=case.every,
        )
        if model.evaluations and model.evaluations[-1].return_mean >= case.bar:
            return Learned(model.num_timesteps, time.perf_counter() - start, True)
    return Learned(model.num_timesteps, time.perf_counter() - start, False)
