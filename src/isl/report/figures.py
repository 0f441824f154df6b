"""The report's charts as image files: SVG, PNG and PDF, drawn by matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isl.errors import UsageError
from isl.report.charts import CROSS, DOT, SQUARE, Chart, Series
from isl.storage import files

FORMATS = ("svg", "png", "pdf")
COLUMNS = 3  # of a figure with many panels
# Told apart without red and green, and by dashes and markers besides.
_COLOURS = ("#0072b2", "#d55e00", "#008a66", "#a8458f", "#5f6670", "#b97700", "#3a8fc4", "#882255")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 3)), (0, (1.5, 2)), (0, (7, 2, 1.5, 2)), (0, (4, 2)))
_MARKERS = ("o", "s", "^", "D", "P")
_MARKS = {DOT: "o", SQUARE: "s", CROSS: "x"}


def write_all(figures: Mapping[str, Sequence[Chart]], folder: Path) -> None:
    """Each figure, by its name, in every format; several charts become its panels."""
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        raise UsageError("figures need matplotlib: pip install 'isl[report]'") from None
    files.make_folder(folder)
    # parse_math: names come from configs, a dollar sign in them is no formula.
    settings: Any = {"svg.hashsalt": "isl", "font.size": 9, "text.parse_math": False}
    used: set[str] = set()
    with matplotlib.rc_context(settings):
        for name, charts in figures.items():
            safe = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:80].strip("-")
            while safe in used:
                safe += "-2"
            used.add(safe)
            for form, data in _drawn(charts).items():
                files.write_bytes(folder / f"{safe}.{form}", data)


def _drawn(charts: Sequence[Chart]) -> dict[str, bytes]:
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    intervals = charts[0].kind == "intervals"
    wide, high = (6.4, 3.6) if len(charts) == 1 else (4.2, 2.7)
    if intervals:
        high = 1.1 + 0.34 * len(charts[0].series)
    figure = Figure(figsize=(wide * columns, high * rows))
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
        (_draw_intervals if intervals else _draw_lines)(axes, chart)
        axes.set_title(chart.title, fontsize=9)
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        axes.grid(alpha=0.25)
    return {form: _saved(figure, form) for form in FORMATS}


def _saved(figure: Any, form: str) -> bytes:
    """Without the date, so that the same runs give the same file."""
    buffer = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    figure.savefig(buffer, format=form, dpi=130, metadata=undated)
    return buffer.getvalue()


def _draw_lines(axes: Any, chart: Chart) -> None:
    for series in chart.series:
        colour, dash, marker = _style(series)
        axes.plot(
            series.x,
            series.y,
            color=colour,
            linestyle=dash,
            lw=1.4,
            marker=marker if len(series.x) <= 30 and not series.mark else None,
            markersize=4,
            label=series.name[:60],
        )
        if len(series.x) > 1:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, lw=0)
        for mark in dict.fromkeys(series.mark):
            there = [i for i, m in enumerate(series.mark) if m == mark]
            look = {"facecolor": "white", "edgecolor": colour} if mark == SQUARE else {"c": colour}
            x, y = [series.x[i] for i in there], [series.y[i] for i in there]
            axes.scatter(x, y, marker=_MARKS[mark], zorder=3, s=30, **look)
        if series.runs:
            seeds = [(x, y) for x, y, _ in series.runs]
            axes.plot(*zip(*seeds, strict=True), ".", color=colour, alpha=0.35, markersize=3)
    if chart.ceiling is not None:
        axes.axhline(chart.ceiling, color="grey", lw=0.8, ls=":")
    if chart.categories:
        axes.set_xticks(range(len(chart.categories)), [name[:20] for name in chart.categories])
    if chart.log_y:
        axes.set_yscale("log")
    if 1 < len(chart.series) <= 40:
        axes.legend(fontsize=6, ncols=1 + len(chart.series) // 12, loc="best")


def _draw_intervals(axes: Any, chart: Chart) -> None:
    for row, series in enumerate(chart.series):
        colour, _, marker = _style(series)
        axes.plot([series.low[0], series.high[0]], [row, row], color=colour, lw=6, alpha=0.35)
        axes.plot(series.x[0], row, marker=marker, color=colour)
    axes.set_yticks(range(len(chart.series)), [series.name[:40] for series in chart.series])
    axes.set_ylim(len(chart.series) - 0.5, -0.5)
    if chart.range_x is not None:
        axes.set_xlim(*chart.range_x)
    if chart.reference is not None:
        axes.axvline(chart.reference, color="grey", lw=0.8, ls=":")


def _style(series: Series) -> tuple[str, Any, str]:
    place = series.style
    return _COLOURS[place % 8], _DASHES[place % len(_DASHES)], _MARKERS[place % len(_MARKERS)]
