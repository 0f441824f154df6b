"""The table of docs/results/learning.md, from folders of finished runs.

python scripts/learning_results.py runs [more runs …]      # prints Markdown
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median, quantiles

from isl.experiments import store

# What tells configurations apart in this table, beside task and agent.
SHOWN = ("ell_bias", "ell_ensemble")


def main() -> int:
    groups: dict[tuple[str, str, str], list[store.Run]] = {}
    for root in map(Path, sys.argv[1:]):
        for run in store.scan(root):
            if run.summary is not None:
                groups.setdefault((run.task, run.agent, _variant(run.config)), []).append(run)
    print("| task | agent | variant | seeds | result | per seed |")
    print("|---|---|---|---|---|---|")
    for (task, agent, variant), runs in sorted(groups.items(), key=lambda item: _order(item[0])):
        runs.sort(key=lambda run: run.seed)
        seeds = f"{runs[0].seed}–{runs[-1].seed}"
        print(f"| {task} | {agent} | {variant} | {seeds} | {_result(runs)} | {_per_seed(runs)} |")
    return 0


def _variant(config: dict) -> str:
    parts = [f"{name}={config['hyper'][name]}" for name in SHOWN if name in config["hyper"]]
    if config.get("mapping_seed") not in (None, 42):
        parts.append(f"mapping {config['mapping_seed']}")
    return ", ".join(parts)


def _order(key: tuple[str, str, str]) -> tuple:
    family, _, number = key[0].partition("/")
    return family, int(number), key[1], key[2]


def _result(runs: list[store.Run]) -> str:
    if runs[0].task.startswith("deep_sea"):
        # A run that did not solve the task is censored at its last episode: above the others.
        episodes = [run.summary["solved_episode"] or float("inf") for run in runs]
        solved = sum(run.summary["solved_episode"] is not None for run in runs)
        middle = median(episodes)
        text = f"{solved}/{len(runs)} solved, median {middle:g}"
        if len(runs) > 3 and solved == len(runs):
            low, _, high = quantiles(episodes, n=4, method="inclusive")
            text += f" (quartiles {low:g}, {high:g})"
        return text
    best = [run.summary["best_return"] for run in runs]
    return f"best return, median {median(best):.4g}"


def _per_seed(runs: list[store.Run]) -> str:
    if runs[0].task.startswith("deep_sea"):
        return " ".join(
            str(run.summary["solved_episode"] or f">{run.summary['episodes']}") for run in runs
        )
    return " ".join(f"{run.summary['best_return']:.4g}" for run in runs)


if __name__ == "__main__":
    sys.exit(main())
