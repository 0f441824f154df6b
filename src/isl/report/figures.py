"""The report's charts as image files: SVG, PNG and PDF, drawn by matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isl.report import canvas
from isl.report.charts import CROSS, DOT, SQUARE, Chart, Series
from isl.report.palette import look
from isl.storage import files

FORMATS = ("svg", "png", "pdf")
COLUMNS = 3  # of a figure with many panels
_MARKS = {DOT: "o", SQUARE: "s", CROSS: "x"}


def write_all(figures: Mapping[str, Sequence[Chart]], folder: Path) -> None:
    """Each figure, by its name, in every format; several charts become its panels."""
    files.make_folder(folder)
    used: set[str] = set()
    with canvas.drawing(**{"font.size": 9}):
        for name, charts in figures.items():
            safe = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:80].strip("-")
            while safe in used:
                safe += "-2"
            used.add(safe)
            drawn = _drawn(charts)
            for form in FORMATS:
                files.write_bytes(folder / f"{safe}.{form}", canvas.saved(drawn, form))


def _drawn(charts: Sequence[Chart]) -> Any:
    columns = min(COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    intervals = charts[0].kind == "intervals"
    wide, high = (6.4, 3.6) if len(charts) == 1 else (4.2, 2.7)
    if intervals:
        high = 1.1 + 0.34 * len(charts[0].series)
    figure = canvas.figure(wide * columns, high * rows)
    left = 0.2 + 0.08 * max(len(s.name[:40]) for s in charts[0].series) if intervals else 0.75
    figure.subplots_adjust(  # by hand: matplotlib's own layouts take longer than the drawing
        left=left / (wide * columns),
        right=1 - 0.15 / (wide * columns),
        bottom=0.5 / (high * rows),
        top=1 - 0.35 / (high * rows),
        hspace=0.85 / (high - 0.85),
        wspace=0.9 / (wide - 0.9),
    )
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in panels[len(charts) :]:
        axes.set_axis_off()
    for axes, chart in zip(panels, charts, strict=False):
        (_draw_intervals if intervals else draw_lines)(axes, chart)
        axes.set_title(chart.title, fontsize=9)
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        axes.grid(alpha=0.25)
    return figure


def draw_lines(axes: Any, chart: Chart) -> None:
    """A chart of kind "lines" without its title and grid, on some axes."""
    xs = [x for series in chart.series for x in series.x]
    span = max(xs, default=0.0) - min(xs, default=0.0)
    for place, series in enumerate(chart.series):
        # Bars at the same number stand side by side.
        aside = (place - (len(chart.series) - 1) / 2) * chart.bars
        shift = [x * 0.02 * aside if chart.log_x else span * 0.01 * aside for x in series.x]
        _draw_series(axes, series, [x + by for x, by in zip(series.x, shift, strict=True)], chart)
    if chart.ceiling is not None:
        axes.axhline(chart.ceiling, color="grey", lw=0.8, ls=":")
    for name, axis, logarithmic in (("x", axes.xaxis, chart.log_x), ("y", axes.yaxis, chart.log_y)):
        if logarithmic:
            axes.set(**{f"{name}scale": "log"})
            # Plain numbers: matplotlib's own are formulas, which names with a $ forbid.
            axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
            axis.set_minor_formatter(lambda value, _: "")
    if chart.log_x:
        axes.minorticks_off()
    if chart.categories:
        axes.set_xticks(range(len(chart.categories)), [name[:20] for name in chart.categories])
    elif chart.bars or chart.log_x:
        numbers = sorted(set(xs))
        axes.set_xticks(numbers if len(numbers) < 12 else [x for x in numbers if x % 10 == 0])
    if 1 < len(chart.series) <= 40:
        axes.legend(fontsize=6, ncols=1 + len(chart.series) // 12, loc="best")


def _draw_series(axes: Any, series: Series, xs: list[float], chart: Chart) -> None:
    colour, dash, marker = look(series.style)
    known = [i for i, beyond in enumerate(series.beyond) if not beyond]
    axes.plot(
        [xs[i] for i in known],
        [series.y[i] for i in known],
        color=colour,
        linestyle=dash,
        lw=1.4,
        marker=marker if len(xs) <= 30 and not series.mark else None,
        markersize=4,
        label=series.name[:60],
    )
    if chart.bars:
        axes.vlines(xs, series.low, series.high, color=colour, lw=1.2, alpha=0.7)
    elif len(xs) > 1 and not all(map(math.isnan, series.low)):
        axes.fill_between(xs, series.low, series.high, color=colour, alpha=0.15, lw=0)
    for mark in dict.fromkeys(series.mark):
        there = [i for i, m in enumerate(series.mark) if m == mark]
        face = {"facecolor": "white", "edgecolor": colour} if mark == SQUARE else {"c": colour}
        x, y = [xs[i] for i in there], [series.y[i] for i in there]
        axes.scatter(x, y, marker=_MARKS[mark], zorder=3, s=30, **face)
    if series.runs and not chart.bars:
        seeds = [(x, y) for x, y, _ in series.runs]
        axes.plot(*zip(*seeds, strict=True), "_", color=colour, alpha=0.6, markersize=6)


def _draw_intervals(axes: Any, chart: Chart) -> None:
    for row, series in enumerate(chart.series):
        colour, _, marker = look(series.style)
        axes.plot([series.low[0], series.high[0]], [row, row], color=colour, lw=6, alpha=0.35)
        axes.plot(series.x[0], row, marker=marker, color=colour)
    axes.set_yticks(range(len(chart.series)), [series.name[:40] for series in chart.series])
    axes.set_ylim(len(chart.series) - 0.5, -0.5)
    if chart.range_x is not None:
        axes.set_xlim(*chart.range_x)
    if chart.reference is not None:
        axes.axvline(chart.reference, color="grey", lw=0.8, ls=":")
