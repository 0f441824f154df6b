"""Learning curves of the preset `auto` with all rewards times 0.01, 1 and 100.

    python scripts/reward_scale.py deep_sea mountain_car     # whatever is missing

A row per run is appended to docs/results/reward_scale.csv: the mean return of the episodes that
ended in each tenth of the run, divided by the factor again.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from isl import ISL

RESULTS = Path(__file__).parent.parent / "docs" / "results"
FACTORS = (0.01, 1.0, 100.0)
SEEDS = range(1000, 1002)
PARTS = 10
STEPS = {"deep_sea": 10_000, "mountain_car": 40_000}


def make(name: str, factor: float) -> gymnasium.Env[Any, Any]:
    """The environment, paid in another currency."""
    if name == "deep_sea":
        env = gymnasium.make("isl/DeepSea-v0", size=10)
    else:
        env = gymnasium.make("MountainCar-v0")
    return gymnasium.wrappers.TransformReward(env, lambda reward: factor * reward)


def curve(name: str, factor: float, seed: int) -> list[float]:
    """Mean returns over the tenths of a run."""
    model = ISL(make(name, factor), seed=seed, preset="auto")
    means = []
    for _ in range(PARTS):
        model.episodes.recent.clear()
        model.learn(STEPS[name] // PARTS, progress_bar=False)
        means.append(round(float(np.mean([g for g, _ in model.episodes.recent])) / factor, 4))
    return means


def main() -> None:
    path = RESULTS / "reward_scale.csv"
    if not path.exists():
        path.write_text("env,factor,seed,steps,curve\n", encoding="utf-8")
    for name in sys.argv[1:] or STEPS:
        for seed in SEEDS:
            for factor in FACTORS:
                with path.open(newline="", encoding="utf-8") as file:
                    done = {(r["env"], r["factor"], r["seed"]) for r in csv.DictReader(file)}
                if (name, f"{factor:g}", str(seed)) in done:
                    continue
                told = " ".join(f"{mean:g}" for mean in curve(name, factor, seed))
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{name},{factor:g},{seed},{STEPS[name]},{told}\n")


if __name__ == "__main__":
    main()
