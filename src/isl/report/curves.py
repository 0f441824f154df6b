"""Learning curves: the return over training, a figure per task."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isl.report.charts import Chart, Series, in_order
from isl.report.collect import Collected, Group

POINTS = 160  # of a curve


def charts(found: Collected, styles: dict[str, int]) -> list[Chart]:
    """One chart for each task that has finished episodes."""
    made = []
    for task, some in groupby(found.groups, key=lambda group: group.task):
        groups = list(some)
        longest = max((table.height for g in groups for table in _tables(found, g)), default=0)
        if longest < 2:
            continue
        width = math.ceil(longest / POINTS)
        lines = [_curve(found, group, width, styles[group.who]) for group in groups]
        made.append(
            Chart(
                id=f"curve-{task}",
                title=f"{task}: return over training",
                caption=f"Means over {width} episode{'s' * (width > 1)} of each run; median over "
                "seeds, band between the quartiles. A curve ends where fewer than half of its runs "
                "are left.",
                x_label="episode",
                y_label="return",
                series=in_order(line for line in lines if line.x),
            )
        )
    return made


def _tables(found: Collected, group: Group) -> list[pl.DataFrame]:
    return [found.episodes[run.path] for run in group.runs if run.path in found.episodes]


def _curve(found: Collected, group: Group, width: int, style: int) -> Series:
    returns = [table["return"].to_numpy() for table in _tables(found, group)]
    binned = [_means(values, width) for values in returns if len(values)]
    line = Series(group.who, style)
    if not binned:
        return line
    table = np.full((len(binned), max(map(len, binned))), np.nan)
    for row, values in zip(table, binned, strict=True):
        row[: len(values)] = values
    for place, column in enumerate(table.T):
        here = column[~np.isnan(column)]
        if 2 * len(here) < len(binned):
            break
        low, median, high = np.quantile(here, (0.25, 0.5, 0.75))
        line.add((place + 1.0) * width, float(median), float(low), float(high))
    return line


def _means(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The mean of each `width` values; the last few too, if they are at least half of that."""
    starts = np.arange(0, len(values), width)
    if len(starts) > 1 and 2 * (len(values) - starts[-1]) < width:
        values, starts = values[: starts[-1]], starts[:-1]
    counts = np.diff([*starts, len(values)])
    means: NDArray[np.float64] = np.add.reduceat(values, starts) / counts
    return means
