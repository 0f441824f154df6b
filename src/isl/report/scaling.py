"""The paper's figures: a measure against the size of the task, medians and quartiles over seeds."""

from __future__ import annotations

import math

from isl.analysis.scores import quantile
from isl.envs import has_goal
from isl.report.charts import CROSS, DOT, MEANING, SQUARE, Chart, Series, in_order
from isl.report.collect import Group
from isl.storage.store import Run

_NUMBER = {"deep_sea": "size N", "deep_sea_stochastic": "size N", "cartpole_swingup": "difficulty"}


def charts(groups: list[Group], styles: dict[str, int]) -> list[Chart]:
    """Episodes to solve for tasks with a goal, then the best return, a figure per family."""
    families: dict[str, list[Group]] = {}
    for group in groups:
        if group.finished:
            families.setdefault(group.family, []).append(group)
    solved = [_solved(name, some, styles) for name, some in families.items() if has_goal(name)]
    return solved + [_best(name, some, styles) for name, some in families.items()]


def _solved(family: str, groups: list[Group], styles: dict[str, int]) -> Chart:
    series: dict[str, Series] = {}
    budgets = {run.config["episodes"] for group in groups for run in group.finished}
    for group in groups:
        line = series.setdefault(group.who, Series(group.who, styles[group.who]))
        x = float(group.number or 0)
        budget = max(run.config["episodes"] for run in group.finished)
        took = [_episodes_to_solve(run) for run in group.finished]
        solved = sum(map(math.isfinite, took))
        mark = DOT if solved == len(took) else SQUARE if solved else CROSS
        median, low, high = (quantile(took, q) for q in (0.5, 0.25, 0.75))
        shown = f"{median:g}" if math.isfinite(median) else f"more than {budget:g}"
        text = f"{group.task}, {group.who}: {solved} of {len(took)} solved, median {shown} episodes"
        # A censored run took longer than its budget: drawn there, and said to be.
        y, low, high = (min(value, budget) for value in (median, low, high))
        line.add(x, y, low, high, mark=mark, text=text)
        for run, episodes in zip(group.finished, took, strict=True):
            when = f"at episode {episodes:g}" if math.isfinite(episodes) else f"not in {budget:g}"
            line.runs.append((x, min(episodes, budget), f"{_name(group, run)}: solved {when}"))
    return Chart(
        id=f"solved-{family}",
        title=f"{family}: episodes to the tenth treasure",
        caption=f"Median over seeds, band between the quartiles. {', '.join(MEANING.values())}. "
        "A run that did not solve the task is drawn at its budget of episodes.",
        x_label=_NUMBER.get(family, "number"),
        y_label="episodes to solve",
        series=in_order(series.values()),
        log_y=True,
        ceiling=float(budgets.pop()) if len(budgets) == 1 else None,
    )


def _best(family: str, groups: list[Group], styles: dict[str, int]) -> Chart:
    """Against the number of the task; a task without a number has its agents side by side."""
    numbered = groups[0].number is not None
    series: dict[str, Series] = {}
    for place, group in enumerate(groups):
        line = series.setdefault(group.who, Series(group.who, styles[group.who]))
        x = float(group.number or 0) if numbered else float(place)
        best = [
            (run, float(run.summary["best_return"]))
            for run in group.finished
            if run.summary is not None and run.summary["best_return"] is not None
        ]
        if not best:
            continue
        low, median, high = (quantile([value for _, value in best], q) for q in (0.25, 0.5, 0.75))
        text = f"{group.task}, {group.who}: median best return {median:.4g} of {len(best)} seeds"
        line.add(x, median, low, high, text=text)
        for run, value in best:
            line.runs.append((x, value, f"{_name(group, run)}: best return {value:.4g}"))
    return Chart(
        id=f"best-{family}",
        title=f"{family}: best return of an episode",
        caption="Median over seeds of each run's best episode, band between the quartiles.",
        x_label=_NUMBER.get(family, "number") if numbered else "agent",
        y_label="best return",
        series=in_order(series.values()),
        categories=[] if numbered else [group.who for group in groups],
    )


def _episodes_to_solve(run: Run) -> float:
    episode = run.summary["solved_episode"] if run.summary else None
    return math.inf if episode is None else float(episode)


def _name(group: Group, run: Run) -> str:
    return f"{group.task}, {group.who}, seed {run.seed}"
