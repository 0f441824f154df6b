"""Several environments side by side: what they gain in speed, and what they cost in samples.

A step of W environments is one compiled call, and there is one update for every step of each of
them. So steps per second grow with W until the environments themselves take the time. The policy
that acts is W − 1 steps older, and the episodes of a budget are played side by side: both may cost
samples. Here both are measured: steps per second by turns; the greedy return after a number of
steps; and the steps and seconds until a greedy evaluation reaches the environment's bar.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from isl import Seeker
from isl.bench import solving
from isl.bench.compiling import compiling
from isl.bench.solving import CASES, Case, learn_on
from isl.bench.timing import Contestant, take_turns
from isl.model.evaluation import evaluate

WIDTHS = (1, 4, 8, 16)
SEEDS = (1000, 1001, 1002)
STEPS = 4_000  # of each contestant, per turn
WARM_UP = 1_000
# The steps after which the greedy policy is measured: it is still learning then.
MEASURED_AT: Mapping[str, int] = {"CartPole-v1": 30_000, "MountainCar-v0": 60_000}


def compare(turns: int, cases: Sequence[Case] = CASES, seeds: Sequence[int] = SEEDS) -> None:
    """Measure and print a Markdown table, a line for each number of environments."""
    compiling()
    print(f"Seeker on one core; medians of {turns} turns and of {len(seeds)} seeds")
    print(
        "| environment | at once | steps/CPU s | greedy return | after steps "
        "| bar | steps to it | seconds to it | seeds that reached it |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for case in cases:
        speeds = speed(case, turns)
        after = MEASURED_AT.get(case.env, case.budget)
        for width in WIDTHS:
            value = statistics.median(greedy_return(case.env, width, s, after) for s in seeds)
            found = [solving.solve(case, seed, width) for seed in seeds]
            steps = statistics.median(one.steps for one in found)
            seconds = statistics.median(one.seconds - one.compiling for one in found)
            cells = [case.env, width, f"{speeds[width]:,.0f}", f"{value:.1f}", f"{after:,}"]
            reached = f"{sum(one.solved for one in found)} of {len(seeds)}"
            cells += [f"{case.bar:g}", f"{steps:,.0f}", f"{seconds:.1f}", reached]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def speed(case: Case, turns: int) -> dict[int, float]:
    """Environment steps per CPU second of training, without compilation, by width.

    It is CPU time because on a shared machine seconds say who else was at work: 16 environments
    once seemed slower than one.
    """
    contestants = {width: _contestant(case, width) for width in WIDTHS}
    take_turns(contestants.values(), turns)
    return {width: 1 / each.cpu_median for width, each in contestants.items()}


def _contestant(case: Case, width: int) -> Contestant:
    model = Seeker(case.env, num_envs=width)
    learn_on(model, WARM_UP)  # fills the replay, then compiles
    return Contestant(f"{width} environments", STEPS, lambda: learn_on(model, STEPS))


def greedy_return(env: str, width: int, seed: int, steps: int) -> float:
    """The mean of 100 greedy episodes after `steps` steps of training."""
    model = Seeker(env, num_envs=width, seed=seed)
    learn_on(model, steps)
    return evaluate(model, env, solving.EPISODES).mean
