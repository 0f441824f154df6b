"""What runs are judged by: the paper's measures, bsuite's scores, and rliable's statistics.

The paper: episodes to the tenth visit to the goal where a task has one, else the best return of an
episode; medians and quartiles over seeds. A run that ended unsolved is censored: it took longer
than its budget, nobody knows how much longer. rliable (Agarwal et al. 2021): interquartile mean
with stratified bootstrap intervals, performance profiles, probability of improvement.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isl.envs.registry import family_of, has_goal
from isl.errors import UsageError

Scores = Mapping[str, NDArray[np.float64]]  # who → [runs, tasks], each score from 0 to 1
GROUP = ("task", "agent", "config_hash")


def quantile(values: Sequence[float], q: float) -> float:
    """Linear between neighbours; infinite as soon as an infinite (censored) value is needed."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high else low + (place - math.floor(place)) * (high - low)


def episodes_to_solve(solved: Iterable[int | None]) -> list[float]:
    """The episode that each run solved its task at; infinite for None, a run that did not."""
    return [math.inf if episode is None else float(episode) for episode in solved]


def episodes_text(took: Sequence[float]) -> str:
    """`259 (184–∞)`: median and quartiles; beyond the budget of unsolved runs they are infinite."""
    low, middle, high = (quantile(took, q) for q in (0.25, 0.5, 0.75))
    return f"{middle:g} ({low:g}–{high:g})".replace("inf", "∞")


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """One row per configuration: seeds, how many solved it, medians and quartiles.

    A quartile beyond the budget of unsolved runs is infinite. `best_return` is that of the best
    episode, over all of a run's episodes.
    """
    rows = []
    for key, group in runs.group_by(*GROUP, maintain_order=True):
        row: dict[str, Any] = dict(zip(GROUP, key, strict=True))
        row |= {"seeds": group.height, "diverged": (group["status"] == "diverged").sum()}
        if has_goal(row["task"]):
            took = episodes_to_solve(group["solved_episode"])
            row |= {"solved": sum(map(math.isfinite, took)), **_quartiles("episodes", took)}
        best = group["best_return"].drop_nulls().to_list()
        rows.append(row | (_quartiles("best_return", best) if best else {}))
    return pl.DataFrame(rows, infer_schema_length=None)


def _quartiles(name: str, values: Sequence[float]) -> dict[str, float]:
    places = {"q1": 0.25, "median": 0.5, "q3": 0.75}
    return {f"{name}_{place}": quantile(values, q) for place, q in places.items()}


# ------------------------------------------------------------------------------- rliable


class Interval(NamedTuple):
    """A point estimate and its 95 % stratified bootstrap interval."""

    point: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def normalised(runs: pl.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Per agent a matrix [seeds, tasks] of scores from 0 (worst) to 1, from runs of one family.

    With a goal: the share of the budget that was left when the task was solved, 0 if it never was.
    Without: the best return over the task's best possible one. An agent must have one configuration
    per task, and every agent the same tasks. A seed counts if the agent has it in all tasks.
    """
    tasks = runs["task"].unique().sort().to_list()
    return {
        agent: _matrix(agent, runs.filter(pl.col("agent") == agent), tasks)
        for agent in runs["agent"].unique().sort()
    }


def _matrix(agent: str, runs: pl.DataFrame, tasks: list[str]) -> NDArray[np.float64]:
    by_task: dict[str, dict[int, float]] = {}
    for task in tasks:
        group = runs.filter(pl.col("task") == task)
        if group["config_hash"].n_unique() != 1:
            found = group["config_hash"].n_unique()
            raise UsageError(
                f"{agent} has {found} configurations of {task}, expected one: filter the runs first"
            )
        if has_goal(task):
            budget = group["config.episodes"].to_numpy()
            score = 1.0 - np.minimum(episodes_to_solve(group["solved_episode"]), budget) / budget
        else:
            score = np.clip(group["best_return"].to_numpy() / _best_return(task), 0.0, 1.0)
        by_task[task] = dict(zip(group["seed"].to_list(), score.tolist(), strict=True))
    seeds = sorted(set.intersection(*(set(scores) for scores in by_task.values())))
    if not seeds:
        raise UsageError(f"{agent} has no seed that was run in every task of {', '.join(tasks)}")
    return np.array([[by_task[task][seed] for task in tasks] for seed in seeds])


def _best_return(task: str) -> float:
    family = family_of(task)
    if family is None or family.best_return is None:
        raise UsageError(f"{task} has neither a goal nor a best return: no score from 0 to 1")
    return family.best_return


def interquartile_mean(scores: Scores, reps: int = 2000) -> dict[str, Interval]:
    """The mean of the middle half of all scores of an agent."""
    metrics = _rliable("metrics")
    return _intervals(scores, lambda x: np.array([metrics.aggregate_iqm(x)]), reps)


def performance_profile(
    scores: Scores, thresholds: NDArray[np.float64], reps: int = 2000
) -> dict[str, Interval]:
    """The share of an agent's runs whose score exceeds each threshold."""
    library = _rliable("library")
    return _intervals(scores, lambda x: library.score_distributions(x, thresholds), reps)


def probability_of_improvement(
    scores: Scores, pairs: Sequence[tuple[str, str]], reps: int = 2000
) -> dict[tuple[str, str], Interval]:
    """For each pair (x, y): how likely a run of x beats a run of y on a task drawn at random."""
    metrics = _rliable("metrics")
    compared = {f"{x},{y}": (scores[x], scores[y]) for x, y in pairs}
    found = _intervals(
        compared, lambda x, y: np.array([metrics.probability_of_improvement(x, y)]), reps
    )
    return dict(zip(pairs, found.values(), strict=True))


def _intervals(
    scores: Mapping[str, Any], function: Callable[..., NDArray[np.float64]], reps: int
) -> dict[str, Interval]:
    library = _rliable("library")
    # The same data give the same interval. rliable draws from NumPy's global generator, whatever
    # `random_state` it is given, so that one is seeded and put back as it was.
    before = np.random.get_state()
    np.random.seed(0)
    try:
        points, ranges = library.get_interval_estimates(scores, function, reps=reps)
    finally:
        np.random.set_state(before)
    return {name: Interval(points[name], *ranges[name]) for name in scores}


def _rliable(module: str) -> ModuleType:
    try:
        return importlib.import_module(f"rliable.{module}")
    except (ImportError, TypeError) as error:  # its arch gives a TypeError under pandas 3
        raise UsageError(
            f"these statistics need rliable ({error}): install it with pip install 'isl[report]'"
        ) from None
