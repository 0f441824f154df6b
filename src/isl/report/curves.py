"""Learning curves of each task: the return of the behaviour, and that of the greedy policy.

The behaviour is what the agent did while it learned, exploration included. The greedy policy is
what it would have done if it had been used then; runs that were evaluated on the way have it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from isl.report.charts import Chart, Series, in_order
from isl.report.collect import Collected, Group

POINTS = 160  # of a curve
_OVER_SEEDS = (
    "Median over seeds, band between the quartiles. A curve ends where fewer than half of its runs "
    "are left."
)

Values = NDArray[np.float64]


def charts(found: Collected, styles: dict[str, int]) -> list[Chart]:
    """For each task the behaviour of its finished runs, then their evaluations, if they have any.

    Both charts of a task have the same axes: they are to be compared.
    """
    made = []
    for task, some in groupby(found.groups, key=lambda group: group.task):
        groups = list(some)
        own = [_behaviour(found, task, groups, styles), _greedy(found, task, groups, styles)]
        for chart in own:
            chart.series = in_order(line for line in chart.series if line.x)
        shown = [chart for chart in own if chart.series]
        returns = [y for c in shown for s in c.series for y in (*s.low, *s.high) if y == y]
        last = max((x for c in shown for s in c.series for x in s.x), default=0.0)
        for chart in shown[: len(shown) * (len(shown) > 1)]:
            chart.range_x, chart.range_y = (0.0, last), (min(returns), max(returns))
        made += shown
    return made


def _chart(name: str, task: str, title: str, caption: str, series: list[Series]) -> Chart:
    return Chart(
        id=f"{name}-{task}",
        title=f"{task}: {title}",
        caption=f"{caption} {_OVER_SEEDS}",
        x_label="episode",
        y_label="return",
        series=series,
        whole_x=True,
        panel=task,
    )


def _behaviour(found: Collected, task: str, groups: list[Group], styles: dict[str, int]) -> Chart:
    returns = {
        group.who: [
            found.episodes[run.path]["return"].to_numpy()
            for run in group.runs
            if run.path in found.episodes
        ]
        for group in groups
    }
    longest = max((len(values) for own in returns.values() for values in own), default=0)
    width = max(1, math.ceil(longest / POINTS))
    lines = []
    for who, own in returns.items():
        binned = [_means(values, width) for values in own if len(values)]
        # A last bin that is not full ends where the longest run does.
        ends = [min((k + 1.0) * width, max(map(len, own))) for k in range(_most(binned))]
        lines.append(_medians(Series(who, styles[who]), ends, binned))
    about = f"Means over {width} episode{'s' * (width > 1)} of each run, exploration included."
    return _chart("curve", task, "return of the behaviour", about, lines)


def _greedy(found: Collected, task: str, groups: list[Group], styles: dict[str, int]) -> Chart:
    lines, counts = [], set[int]()
    for group in groups:
        own = []
        for run in group.finished:
            if run.path in found.evaluations:
                table = found.evaluations[run.path]
                counts.update(table["evaluated"].to_list())
                # The loop may go on after the last episode that counts.
                after = table["episodes"].clip(upper_bound=(run.summary or {})["episodes"])
                own.append((after.to_numpy(), table["return_mean"].to_numpy()))
        lines.append(_steps(Series(group.who, styles[group.who]), own))
    played = "–".join(f"{n:,}" for n in sorted({min(counts), max(counts)})) if counts else ""
    about = (
        f"Mean of {played} episode{'s' * (counts != {1})} that the policy played greedily, without "
        "learning from them. Every run counts with its latest evaluation."
    )
    return _chart("greedy", task, "return of the greedy policy", about, lines)


def _steps(line: Series, own: Sequence[tuple[NDArray[np.int64], Values]]) -> Series:
    """Median and quartiles of what each run's latest evaluation gave, wherever one has another.

    Runs are evaluated after as many steps, hence after different numbers of episodes.
    """
    places = sorted({int(place) for after, _ in own for place in after})
    for place in places[:: math.ceil(len(places) / POINTS) or 1]:
        here = [
            returns[np.searchsorted(after, place, side="right") - 1]
            for after, returns in own
            if len(after) and after[0] <= place <= after[-1]
        ]
        if 2 * len(here) >= len(own):
            low, median, high = np.quantile(here, (0.25, 0.5, 0.75))
            line.add(float(place), float(median), float(low), float(high))
        elif line.x:
            break
    return line


def _most(own: Sequence[NDArray[np.generic]]) -> int:
    return max(map(len, own), default=0)


def _medians(line: Series, places: Sequence[float], own: Sequence[Values]) -> Series:
    """A point at each place: median and quartiles of what the runs have there."""
    for k, place in enumerate(places):
        here = [values[k] for values in own if len(values) > k and not math.isnan(values[k])]
        if 2 * len(here) < len(own):
            break
        low, median, high = np.quantile(here, (0.25, 0.5, 0.75))
        line.add(place, float(median), float(low), float(high))
    return line


def _means(values: Values, width: int) -> Values:
    """The mean of each `width` values; the last few too, if they are at least half of that."""
    starts = np.arange(0, len(values), width)
    if len(starts) > 1 and 2 * (len(values) - starts[-1]) < width:
        values, starts = values[: starts[-1]], starts[:-1]
    counts = np.diff([*starts, len(values)])
    means: Values = np.add.reduceat(values, starts) / counts
    return means
