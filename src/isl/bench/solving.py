"""From nothing to a solution: Seeker beside Stable-Baselines3's tuned DQN, in seconds.

An environment is solved at the first look at which 100 greedy episodes, the same ones for
everybody, have a mean return at the bar. The clock starts before the model is made, after all
imports, and stands still during looks. Each training is a process of its own (isl.bench.solve_once)
with an empty cache of compiled programs: what a user waits for the first time. The part of it in
which JAX compiled is known too.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from isl import Seeker
from isl.bench.compiling import compiling
from isl.model import Model
from isl.model.evaluation import Predictor, evaluate, playable
from isl.paper import sb3

SEEDS = (0, 1, 2)
EPISODES, FIRST_EPISODES = 100, 10  # of a look; all are played if the first ones come near the bar


@dataclass(frozen=True)
class Case:
    """An environment, the mean greedy return that solves it, and how long to try."""

    env: str
    bar: float
    near: float  # the mean return of the first episodes at which all of them are played
    budget: int
    every: int  # steps between looks
    tuned: Mapping[str, Any] = field(default_factory=dict)  # SB3's hyper-parameters


# The settings and budgets of RL Baselines3 Zoo 2.8.0 (github.com/DLR-RM/rl-baselines3-zoo,
# hyperparams/dqn.yml), which calls them "almost tuned" and "tuned".
CASES = (
    Case(
        "CartPole-v1",
        bar=475,
        near=400,
        budget=50_000,
        every=1_000,
        tuned={
            "learning_rate": 2.3e-3,
            "batch_size": 64,
            "buffer_size": 100_000,
            "learning_starts": 1_000,
            "gamma": 0.99,
            "target_update_interval": 10,
            "train_freq": 256,
            "gradient_steps": 128,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
            "policy_kwargs": {"net_arch": [256, 256]},
        },
    ),
    Case(
        "MountainCar-v0",
        bar=-120,
        near=-140,
        budget=120_000,
        every=2_000,
        tuned={
            "learning_rate": 4e-3,
            "batch_size": 128,
            "buffer_size": 10_000,
            "learning_starts": 1_000,
            "gamma": 0.98,
            "target_update_interval": 600,
            "train_freq": 16,
            "gradient_steps": 8,
            "exploration_fraction": 0.2,
            "exploration_final_eps": 0.07,
            "policy_kwargs": {"net_arch": [256, 256]},
        },
    ),
)


class Attempt(NamedTuple):
    """What one seed took to the bar; the whole budget if it never got there."""

    steps: int
    seconds: float
    compiling: float  # of these seconds
    solved: bool
    cpu: float = 0.0  # seconds of the process's CPU time in the same span


class Trial:
    """The clock of one training, which stands still while the policy is looked at."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.seconds = self.compiling = self.cpu = 0.0
        self.steps, self.solved = 0, False
        self._start()

    def _start(self) -> None:
        self._compiled, self._began = compiling().seconds, time.perf_counter()
        self._cpu_began = time.process_time()

    def look(self, steps: int, policy: Predictor) -> bool:
        """Play greedily; whether to go on."""
        self.seconds += time.perf_counter() - self._began
        self.cpu += time.process_time() - self._cpu_began
        self.compiling += compiling().seconds - self._compiled
        self.steps, self.solved = steps, solves(self.case, policy)
        self._start()
        return not self.solved

    @property
    def attempt(self) -> Attempt:
        return Attempt(self.steps, self.seconds, self.compiling, self.solved, self.cpu)


def solves(case: Case, policy: Predictor) -> bool:
    """Whether the greedy policy reaches the bar."""
    env = playable(case.env)
    if evaluate(policy, env, FIRST_EPISODES).mean < case.near:
        return False
    return evaluate(policy, env, EPISODES).mean >= case.bar


def learn_on(model: Model, steps: int) -> None:
    """So many more steps of training and nothing else."""
    model.learn(steps, reset_num_timesteps=False, progress_bar=False, n_eval_episodes=0)


def solve(case: Case, seed: int, num_envs: int = 1) -> Attempt:
    """Train Seeker with its defaults until it reaches the bar."""
    trial, going_on = Trial(case), True
    model = Seeker(case.env, seed=seed, num_envs=num_envs)
    while going_on and model.num_timesteps < case.budget:
        learn_on(model, case.every)
        going_on = trial.look(model.num_timesteps, model)
    return trial.attempt


def solve_tuned(case: Case, seed: int) -> Attempt:
    """The same for Stable-Baselines3's DQN with the Zoo's settings."""
    trial, parts = Trial(case), case.budget // case.every
    sb3.train("sb3_dqn", playable(case.env), seed, case.budget, parts, trial.look, case.tuned)
    return trial.attempt


WHO = {"Seeker": solve, "SB3 DQN, tuned": solve_tuned}


def compare(core: int, cases: Sequence[Case] = CASES, seeds: Sequence[int] = SEEDS) -> None:
    """Let everybody solve everything and print a Markdown table."""
    print(f"{sb3.version()}; seconds on one core without imports and looks")
    print("| environment | bar | agent | seed | steps | seconds | without compiling | CPU s |")
    print("|---|--:|---|--:|--:|--:|--:|--:|", flush=True)
    for case in cases:
        found: dict[str, list[Attempt]] = {name: [] for name in WHO}
        for seed in seeds:
            for name, attempts in found.items():
                attempts.append(in_a_process(case, name, seed, core))
                print(_row(case, name, str(seed), attempts[-1:]), flush=True)
        for name, attempts in found.items():
            print(_row(case, name, "median", attempts), flush=True)


def in_a_process(case: Case, name: str, seed: int, core: int) -> Attempt:
    """One attempt, with nothing compiled before it."""
    told = json.dumps(dataclasses.asdict(case))
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "isl.bench.solve_once", told, name, str(seed), str(core)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "XDG_CACHE_HOME": cache},
        )
    return Attempt(*json.loads(done.stdout.splitlines()[-1]))


def _row(case: Case, name: str, seed: str, attempts: Sequence[Attempt]) -> str:
    """One attempt, or medians of several; where there is no solution, they are infinite."""
    endless = Attempt(sys.maxsize, math.inf, 0.0, False, math.inf)
    ends = [each if each.solved else endless for each in attempts]
    seconds = statistics.median(each.seconds for each in ends)
    if math.isfinite(seconds):
        steps = statistics.median(each.steps for each in ends)
        without = statistics.median(each.seconds - each.compiling for each in ends)
        cpu = statistics.median(each.cpu for each in ends)
        cells = [f"{steps:,.0f}", f"{seconds:.1f}", f"{without:.1f}", f"{cpu:.1f}"]
    else:
        cells = [f"not within {case.budget:,}", "–", "–", "–"]
    if len(attempts) > 1:
        seed = f"{seed} ({sum(each.solved for each in attempts)} of {len(attempts)} solved)"
    return f"| {' | '.join([case.env, f'{case.bar:g}', name, seed, *cells])} |"
