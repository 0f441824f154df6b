"""A measure against the number of the task, as in the paper: medians and quartiles over seeds.

Where a family has a single number, or none, its agents stand side by side instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from isl.analysis.scores import episodes_to_solve, quantile
from isl.envs.registry import family_of, has_goal
from isl.report.charts import CROSS, DOT, MEANING, ONE_RUN, SQUARE, Chart, Series, in_order
from isl.report.collect import Group, budget_of
from isl.storage.store import Run


def charts(groups: list[Group], styles: dict[str, int]) -> list[Chart]:
    """Episodes to solve for tasks with a goal, then the best return, a figure per family."""
    families: dict[str, list[Group]] = {}
    for group in groups:
        if group.finished:
            families.setdefault(group.family, []).append(group)
    solved = [_solved(name, some, styles) for name, some in families.items() if has_goal(name)]
    return solved + [_best(name, some, styles) for name, some in families.items()]


def _places(groups: list[Group], styles: dict[str, int]) -> tuple[list[float], list[str]]:
    """Where each group stands, and the names of the places; none if they are numbers."""
    numbers = [group.number for group in groups]
    if None not in numbers and len(set(numbers)) > 1:
        return [float(number or 0) for number in numbers], []
    names = sorted((group.who for group in groups), key=lambda who: styles[who])
    return [float(names.index(group.who)) for group in groups], names


def _solved(family: str, groups: list[Group], styles: dict[str, int]) -> Chart:
    series: dict[str, Series] = {}
    budgets = {budget_of(run) for group in groups for run in group.finished}
    places, categories = _places(groups, styles)
    for x, group in zip(places, groups, strict=True):
        line = series.setdefault(group.who, Series(group.who, styles[group.who]))
        budget = max(budget_of(run) for run in group.finished)
        took = episodes_to_solve((run.summary or {})["solved_episode"] for run in group.finished)
        add_solved(line, x, took, budget, f"{group.task}, {group.who}")
        for run, episodes in zip(group.finished, took, strict=True):
            own = budget_of(run)
            when = f"at episode {episodes:,g}" if math.isfinite(episodes) else f"not in {own:,}"
            line.runs.append((x, min(episodes, own), f"{_name(group, run)}: solved {when}"))
    chart = solved_chart(family, list(series.values()), budgets)
    return _standing(chart, groups, categories)


def _standing(chart: Chart, groups: list[Group], categories: list[str]) -> Chart:
    """The chart with what is written along its x-axis; a single task gives it its name."""
    if categories:
        chart.categories, chart.x_label, chart.ticks_x = categories, "agent", []
        family, _, rest = chart.title.partition(": ")
        chart.title = f"{groups[0].task or family}: {rest}"
    return chart


def add_solved(
    line: Series, x: float, took: Sequence[float], budget: float, said: str = ""
) -> None:
    """The point of a line for runs that took `took` episodes to solve the task at x.

    A censored run took longer than its budget: it is drawn there, and said to be.
    """
    solved = sum(map(math.isfinite, took))
    mark = DOT if solved == len(took) else SQUARE if solved else CROSS
    low, median, high = (quantile(took, q) for q in (0.25, 0.5, 0.75))
    beyond = not math.isfinite(median)
    shown = f"more than {budget:,g}" if beyond else f"{median:,g}"
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
        f"{ONE_RUN} A run that did not solve the task is drawn at its budget of episodes and "
        "counts as infinite; ↑ where the median lies beyond the budget.",
        x_label=_symbol(family),
        y_label="episodes to solve",
        series=in_order(series),
        log_y=True,
        bars=True,
        ceiling=float(next(iter(budgets))) if len(budgets) == 1 else None,
        log_x=log_x,
        ticks_x=_numbers(series),
        whole_x=True,
        whole_y=True,
    )


def _numbers(series: Sequence[Series]) -> list[float]:
    return sorted({x for line in series for x in line.x})


def _symbol(family: str) -> str:
    """What is on the axis of a family's numbers."""
    known = family_of(family)
    return known.symbol if known is not None and known.symbol else "number"


def _best(family: str, groups: list[Group], styles: dict[str, int]) -> Chart:
    """Against the number of the task; those of a single task side by side."""
    series: dict[str, Series] = {}
    places, categories = _places(groups, styles)
    for x, group in zip(places, groups, strict=True):
        line = series.setdefault(group.who, Series(group.who, styles[group.who]))
        returns = [(run, (run.summary or {})["best_return"]) for run in group.finished]
        best = [(run, float(r)) for run, r in returns if r is not None and math.isfinite(r)]
        if not best:
            continue
        add_best(line, x, [value for _, value in best], f"{group.task}, {group.who}")
        for run, value in best:
            line.runs.append((x, value, f"{_name(group, run)}: best return {value:.4g}"))
    return _standing(best_chart(family, list(series.values())), groups, categories)


def add_best(line: Series, x: float, returns: Sequence[float], said: str = "") -> None:
    """The point of a line for runs whose best episodes had these returns."""
    low, median, high = (quantile(returns, q) for q in (0.25, 0.5, 0.75))
    seeds = f"{len(returns)} seed{'s' * (len(returns) > 1)}"
    line.add(x, median, low, high, text=f"{said}: median best return {median:.4g} of {seeds}")


def best_chart(family: str, series: list[Series]) -> Chart:
    """The best return of an episode against the family's number."""
    return Chart(
        id=f"best-{family}",
        title=f"{family}: best return of an episode",
        caption="Median over seeds of each run's best episode, band between the quartiles. "
        f"{ONE_RUN}",
        x_label=_symbol(family),
        y_label="best return",
        series=in_order(series),
        ticks_x=_numbers(series),
        whole_x=True,
    )


def _name(group: Group, run: Run) -> str:
    return f"{group.task}, {group.who}, seed {run.seed}"
