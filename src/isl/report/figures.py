"""The report's charts as image files: SVG, PNG and PDF, drawn by matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isl.report import canvas
from isl.report.charts import CROSS, DOT, MEANING, SQUARE, Chart, Series
from isl.report.palette import look
from isl.storage import files

FORMATS = ("svg", "png", "pdf")
KINDS = ("solved", "best", "curve", "greedy", "iqm", "improvement", "profile")  # ids begin so
COLUMNS = 3  # of a figure with many panels
_MARKS = {DOT: "o", SQUARE: "s", CROSS: "x"}
_LEGEND = f"{', '.join(MEANING.values())}; ↑ median beyond the budget; bars: quartiles"


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
            drawn = panels(charts)
            for form in FORMATS:
                files.write_bytes(folder / f"{safe}.{form}", canvas.saved(drawn, form))
    _remove_others(folder, used)


def _remove_others(folder: Path, written: set[str]) -> None:
    """An image of an earlier report, whose runs are gone or fewer, would belong to no chart."""
    for path in folder.iterdir():
        ours = path.stem.partition("-")[0] in KINDS and path.suffix[1:] in FORMATS
        if ours and path.stem not in written:
            files.remove(path)


def panels(charts: Sequence[Chart]) -> Any:
    """A figure with a panel per chart; all are of one kind."""
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
        bottom=(0.95 if _slanted(charts[0]) else 0.5) / (high * rows),
        top=1 - (0.5 if charts[0].bars else 0.35) / (high * rows),
        hspace=0.85 / (high - 0.85),
        wspace=0.9 / (wide - 0.9),
    )
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in places[len(charts) :]:
        axes.set_axis_off()
    for axes, chart in zip(places, charts, strict=False):
        if intervals:
            _draw_intervals(axes, chart)
        else:
            draw_lines(axes, chart, bounds=True)
        axes.set_title(chart.title, fontsize=9)
        if any(series.mark for series in chart.series):
            axes.set_title(f"{chart.title}\n{_LEGEND}", fontsize=8)
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        axes.grid(alpha=0.25)
    return figure


def draw_lines(axes: Any, chart: Chart, bounds: bool = False, apart: bool = True) -> None:
    """A chart of kind "lines" without its title and grid, on some axes.

    With `bounds` an arrow says of a median beyond the budget that its mark is only a bound. With
    `apart` bars at the same number stand side by side; without, only the marks of runs that did
    not solve the task do, which would hide each other at the budget.
    """
    xs = [x for series in chart.series for x in series.x]
    span = max(xs, default=0.0) - min(xs, default=0.0)
    for place, series in enumerate(chart.series):
        moved = chart.bars and not chart.categories  # categories are apart already
        aside = (place - (len(chart.series) - 1) / 2) * moved
        own = list(series.x)
        for k, x in enumerate(series.x):
            if apart or (series.mark and series.mark[k] != DOT):
                own[k] += aside * (x * 0.02 if chart.log_x else span * 0.01)
        _draw_series(axes, series, own, chart, bounds)
    if chart.ceiling is not None:
        axes.axhline(chart.ceiling, color="grey", lw=0.8, ls=":")
    _set_axes(axes, chart)
    if 1 < len(chart.series) <= 40 and not chart.categories:
        axes.legend(fontsize=6, ncols=1 + len(chart.series) // 12, loc="best")


def _set_axes(axes: Any, chart: Chart) -> None:
    """Scales, limits and ticks; a single value stands in the middle of an axis of its size."""
    kinds = (
        ("x", axes.xaxis, chart.log_x, chart.whole_x, chart.range_x),
        ("y", axes.yaxis, chart.log_y, chart.whole_y, chart.range_y),
    )
    for name, axis, logarithmic, whole, limits in kinds:
        if logarithmic:
            axes.set(**{f"{name}scale": "log"})
        if limits is not None and limits[0] < limits[1]:
            margin = 0.05 * (limits[1] - limits[0]) * (name == "y")
            axes.set(**{f"{name}lim": (limits[0] - margin, limits[1] + margin)})
        else:
            _widen(axis, name, whole)
        _set_ticks(axis, logarithmic, whole)
    if chart.categories:
        slant = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"}
        slant = slant if _slanted(chart) else {}
        names = [name[:22] for name in chart.categories]
        axes.set_xticks(range(len(names)), names, **slant)
        axes.set_xlim(-0.5, len(names) - 0.5)
    elif chart.ticks_x and (chart.bars or chart.log_x or len(chart.ticks_x) < 12):
        numbers = chart.ticks_x
        axes.set_xticks(numbers if len(numbers) < 12 else [x for x in numbers if x % 10 == 0])
    if chart.log_x:
        axes.minorticks_off()


def _slanted(chart: Chart) -> bool:
    """Whether the names of categories are too long to stand side by side."""
    return max(map(len, chart.categories), default=0) * len(chart.categories) > 70


def _widen(axis: Any, name: str, whole: bool) -> None:
    """Where all values are one, as far as an eye can tell, show some room on either side."""
    low, high = sorted(axis.get_data_interval())
    size = max(abs(low), abs(high))
    if not (math.isfinite(size) and high - low <= 1e-3 * size):
        return
    logarithmic, middle = axis.get_scale() == "log", (low + high) / 2
    half = 1.0 if whole else 0.1 * size or 0.5
    limits = (low / 2, high * 2) if logarithmic else (middle - half, middle + half)
    axis.axes.set(**{f"{name}lim": limits})


def _set_ticks(axis: Any, logarithmic: bool, whole: bool) -> None:
    """Plain numbers: matplotlib's own may be formulas, which names with a $ forbid, or offsets."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = sorted(axis.get_view_interval())
    if logarithmic:
        few = high < 200 * low  # less than two powers of ten want ticks between them
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        axis.set_minor_formatter(lambda value, _: "")
    else:
        axis.set_major_locator(MaxNLocator(nbins=6, integer=whole, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda value, _: f"{0.0 if abs(value) < 1e-12 else value:,.10g}")


def _draw_series(axes: Any, series: Series, xs: list[float], chart: Chart, bounds: bool) -> None:
    colour, dash, marker = look(series.style)
    # A line has a gap where the value lies beyond the budget.
    known = [math.nan if b else y for y, b in zip(series.y, series.beyond, strict=True)]
    axes.plot(
        xs,
        known,
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
    for place, bound, beyond in zip(xs, series.y, series.beyond, strict=True):
        if beyond and bounds:
            arrow = {"arrowstyle": "<-", "color": colour, "shrinkB": 5}
            at, upwards = (place, bound), (0, 19)
            axes.annotate("", at, upwards, textcoords="offset points", arrowprops=arrow)
    if series.runs and not chart.bars:
        seeds = [(x, y) for x, y, _ in series.runs]
        axes.plot(*zip(*seeds, strict=True), "_", color=colour, alpha=0.6, markersize=6)


def _draw_intervals(axes: Any, chart: Chart) -> None:
    for row, series in enumerate(chart.series):
        colour, _, marker = look(series.style)
        ends = [series.low[0], series.high[0]]
        axes.plot(ends, [row, row], color=colour, lw=6, alpha=0.35, clip_on=False)
        axes.plot(series.x[0], row, marker=marker, color=colour, clip_on=False, zorder=3)
    axes.set_yticks(range(len(chart.series)), [series.name[:40] for series in chart.series])
    axes.set_ylim(len(chart.series) - 0.5, -0.5)
    if chart.range_x is not None:
        axes.set_xlim(*chart.range_x)
    if chart.reference is not None:
        axes.axvline(chart.reference, color="grey", lw=0.8, ls=":")
