"""A measure against the number of the task, as in the paper: medians and quartiles over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isl.analysis.scores import episodes_to_solve, quantile
from isl.envs.registry import family_of, has_goal
from isl.report.charts import CROSS, DOT, MEANING, SQUARE, Chart, Series, in_order
from isl.report.collect import Group
from isl.storage.store import Run


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
        took = episodes_to_solve((run.summary or {})["solved_episode"] for run in group.finished)
        add_solved(line, x, took, budget, f"{group.task}, {group.who}")
        for run, episodes in zip(group.finished, took, strict=True):
            when = f"at episode {episodes:g}" if math.isfinite(episodes) else f"not in {budget:g}"
            line.runs.append((x, min(episodes, budget), f"{_name(group, run)}: solved {when}"))
    return solved_chart(family, list(series.values()), budgets)


def add_solved(
    line: Series, x: float, took: Sequence[float], budget: float, said: str = ""
) -> None:
    """The point of a line for runs that took so many episodes to solve the task at x.

    A censored run took longer than its budget: it is drawn there, and said to be.
    """
    solved = sum(map(math.isfinite, took))
    mark = DOT if solved == len(took) else SQUARE if solved else CROSS
    low, median, high = (quantile(took, q) for q in (0.25, 0.5, 0.75))
    beyond = not math.isfinite(median)
    shown = f"more than {budget:g}" if beyond else f"{median:g}"
    text = f"{said}: {solved} of {len(took)} solved, median {shown} episodes"
    y, low, high = (min(value, budget) for value in (median, low, high))
    line.add(x, y, low, high, mark=mark, text=text, beyond=beyond)


def solved_chart(
    family: str, series: list[Series], budgets: set[int], log_x: bool = False
) -> Chart:
    """Episodes to solve a family's tasks against their number."""
    known = family_of(family)
    goal = "goal" if known is None else known.goal_name
    return Chart(
        id=f"solved-{family}",
        title=f"{family}: episodes to the tenth {goal}",
        caption=f"Median over seeds, band between the quartiles. {', '.join(MEANING.values())}. "
        "A run that did not solve the task is drawn at its budget of episodes.",
        x_label=_symbol(family),
        y_label="episodes to solve",
        series=in_order(series),
        log_y=True,
        bars=True,
        ceiling=float(next(iter(budgets))) if len(budgets) == 1 else None,
        log_x=log_x,
    )


def _symbol(family: str) -> str:
    """What is on the axis of a family's numbers."""
    known = family_of(family)
    return known.symbol if known is not None and known.symbol else "number"


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
        add_best(line, x, [value for _, value in best], f"{group.task}, {group.who}")
        for run, value in best:
            line.runs.append((x, value, f"{_name(group, run)}: best return {value:.4g}"))
    categories = [] if numbered else [group.who for group in groups]
    return best_chart(family, list(series.values()), categories)


def add_best(line: Series, x: float, returns: Sequence[float], said: str = "") -> None:
    """The point of a line for runs whose best episodes had these returns."""
    low, median, high = (quantile(returns, q) for q in (0.25, 0.5, 0.75))
    text = f"{said}: median best return {median:.4g} of {len(returns)} seeds"
    line.add(x, median, low, high, text=text)


def best_chart(family: str, series: list[Series], categories: Sequence[str] = ()) -> Chart:
    """The best return of an episode against the family's number, or side by side."""
    return Chart(
        id=f"best-{family}",
        title=f"{family}: best return of an episode",
        caption="Median over seeds of each run's best episode, band between the quartiles.",
        x_label="agent" if categories else _symbol(family),
        y_label="best return",
        series=in_order(series),
        categories=list(categories),
    )


def _name(group: Group, run: Run) -> str:
    return f"{group.task}, {group.who}, seed {run.seed}"
