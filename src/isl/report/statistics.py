"""rliable's statistics of a family of tasks: intervals, probabilities of improvement, profiles."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from isl.analysis import scores
from isl.envs.registry import TASKS, TaskFamily
from isl.errors import UsageError
from isl.report.charts import Chart, Series, in_order
from isl.report.collect import Group, budget_of

REPS = 400  # bootstrap samples: enough for two digits of an interval, and a report in seconds
IMPROVEMENT_REPS = 100  # each is a rank test per task and pair, a thousand times slower
THRESHOLDS = np.linspace(0.0, 1.0, 41)


def charts(groups: list[Group], styles: dict[str, int]) -> list[Chart]:
    """For each family with a score: three figures, on the tasks and seeds that all agents have."""
    made = []
    for family, described in TASKS.items():
        score = _score(described)
        if score is None:
            continue
        own = [group for group in groups if group.family == family]
        matrices = _matrices(own)
        if matrices is None:
            continue
        tasks, by_who = matrices
        if all(matrix.size == 1 for matrix in by_who.values()):
            continue  # nothing but single runs: their numbers are in the tables
        about = f"Score: {score}. {_sample(own, tasks, by_who)} 95 % stratified bootstrap intervals"
        made.append(_iqm(family, about, by_who, styles))
        if len(by_who) > 1:
            made.append(_improvement(family, about, by_who, styles))
        made.append(_profile(family, about, by_who, styles))
    return made


def _sample(groups: list[Group], tasks: list[str], by_who: scores.Scores) -> str:
    """What the scores are taken over, and what to beware of."""
    seeds = [f"{who}: {len(m)} seed{'s' * (len(m) > 1)}" for who, m in by_who.items()]
    if len({len(m) for m in by_who.values()}) == 1:
        seeds = [f"{seeds[0].partition(': ')[2]} of each agent"]
    said = [f"{len(tasks)} task{'s' * (len(tasks) > 1)}, {', '.join(seeds)}."]
    budgets = {t: {budget_of(r) for g in groups if g.task == t for r in g.finished} for t in tasks}
    if any(len(each) > 1 for each in budgets.values()):
        said.append("Budgets differ: the smallest one that a task was given counts for everybody.")
    if any(len(m) < 2 for m in by_who.values()):
        said.append("A single seed has no interval.")
    return " ".join(said)


def _score(family: TaskFamily) -> str | None:
    """What a family's score from 0 to 1 is, in words; None if it has none."""
    if family.goal is not None:
        return "share of the budget left when the task was solved, 0 if it never was"
    return None if family.best_return is None else f"best return / {family.best_return:,.0f}"


def _matrices(groups: list[Group]) -> tuple[list[str], scores.Scores] | None:
    """Scores [seeds, tasks] of everybody on their common tasks; None if they have none."""
    tasks_of: dict[str, set[str]] = {}
    for group in groups:
        if group.finished:
            tasks_of.setdefault(group.who, set()).add(group.task)
    common = set.intersection(*tasks_of.values()) if tasks_of else set()
    budgets: dict[str, int] = {}  # the smallest: a share of different budgets compares nothing
    for group in groups:
        for run in group.finished:
            budgets[group.task] = min(budgets.get(group.task, budget_of(run)), budget_of(run))
    rows = [
        {
            "task": group.task,
            "agent": group.who,
            "config_hash": group.config_hash,
            "seed": run.seed,
            "config.episodes": max(1, budgets[group.task]),
            "solved_episode": (run.summary or {}).get("solved_episode"),
            "best_return": (run.summary or {}).get("best_return") or 0.0,
        }
        for group in groups
        if group.task in common
        for run in group.finished
    ]
    if not rows:
        return None
    frame = pl.DataFrame(rows, infer_schema_length=None)
    try:
        matrices = scores.normalised(frame)
    except UsageError:  # an agent without a seed that it has in all tasks
        return None
    return sorted(common), matrices


def _add(line: Series, said: str, interval: list[float], *, runs: int) -> None:
    """A point and its interval; a bootstrap of one run would give an interval without width."""
    point, low, high = interval
    if runs > 1:
        text = f"{said}: {point:.3f}, from {low:.3f} to {high:.3f}"
        line.add(point, 0, low, high, text=text)
    else:
        line.add(point, 0, math.nan, math.nan, text=f"{said}: {point:.3f}, no interval")


def _iqm(family: str, about: str, by_who: scores.Scores, styles: dict[str, int]) -> Chart:
    found = scores.interquartile_mean(by_who, REPS)
    lines = []
    for who, interval in found.items():
        line = Series(who, styles[who])
        _add(line, who, [float(x[0]) for x in interval], runs=len(by_who[who]))
        lines.append(line)
    return Chart(
        id=f"iqm-{family}",
        title=f"{family}: interquartile mean of the scores",
        caption=f"{about} ({REPS} samples).",
        x_label="interquartile mean",
        y_label="",
        series=in_order(lines),
        kind="intervals",
        range_x=(0.0, 1.0),
    )


def _improvement(family: str, about: str, by_who: scores.Scores, styles: dict[str, int]) -> Chart:
    first = min(by_who, key=lambda who: styles[who])
    pairs = [(first, other) for other in by_who if other != first]
    found = scores.probability_of_improvement(by_who, pairs, IMPROVEMENT_REPS)
    lines = []
    for (_, other), interval in found.items():
        line = Series(f"over {other}", styles[other])
        numbers = [float(np.ravel(x)[0]) for x in interval]
        runs = min(len(by_who[first]), len(by_who[other]))
        _add(line, f"{first} over {other}", numbers, runs=runs)
        lines.append(line)
    return Chart(
        id=f"improvement-{family}",
        title=f"{family}: probability that {first} improves on the others",
        caption=f"How likely a run of {first} has the higher score on a task drawn at random. "
        f"{about} ({IMPROVEMENT_REPS} samples).",
        x_label="probability of improvement",
        y_label="",
        series=in_order(lines),
        kind="intervals",
        reference=0.5,
        range_x=(0.0, 1.0),
    )


def _profile(family: str, about: str, by_who: scores.Scores, styles: dict[str, int]) -> Chart:
    lines = []
    for who, interval in scores.performance_profile(by_who, THRESHOLDS, REPS).items():
        line = Series(who, styles[who])
        for x, y, low, high in zip(THRESHOLDS, *interval, strict=True):
            band = (float(low), float(high)) if len(by_who[who]) > 1 else (math.nan, math.nan)
            line.add(float(x), float(y), *band)
        lines.append(line)
    return Chart(
        id=f"profile-{family}",
        title=f"{family}: performance profile",
        caption=f"The share of runs with a score above τ. {about} ({REPS} samples).",
        x_label="score τ",
        y_label="share of runs above τ",
        series=in_order(lines),
        range_x=(0.0, 1.0),
        range_y=(0.0, 1.0),
    )
