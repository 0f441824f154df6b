"""Learning curves of a comparison: a panel per case, from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from isl.agents import label
from isl.paper.cases import Case
from isl.paper.comparison_page import of_case
from isl.paper.comparisons import COMPARISONS, PEERS
from isl.paper.table import read_kind
from isl.paper.trial import Trial
from isl.report import canvas
from isl.report.charts import Chart, Series
from isl.report.figures import panels
from isl.report.palette import styles
from isl.storage import files

MARGIN = 0.35  # inches on the right, for half of the last number of an axis
ROW = 0.24  # inches of a row of names below
TICKS = 4  # of the x axis; more numbers of six digits would touch each other
LABELS = {"mean": "greedy return", "median": "median greedy return", "share paid": "share rewarded"}


def draw(name: str, folder: Path) -> list[Path]:
    """Write `NAME.svg` and `NAME.png`; nothing without greedy returns."""
    rows = read_kind(folder / f"{name}.csv", Trial)
    charts = charts_of(rows, COMPARISONS[name].cases)
    if not charts:
        return []
    written = []
    with canvas.drawing(**{"font.size": 11}):  # the site shows the panels at three quarters
        figure = panels(charts)
        figure.subplots_adjust(right=1 - MARGIN / figure.get_figwidth())
        for axes in figure.axes:
            axes.locator_params(axis="x", nbins=TICKS)
        if max(len(chart.series) for chart in charts) > 1:
            _name_below(figure)
        for form in ("svg", "png"):
            written.append(folder / f"{name}.{form}")
            files.write_bytes(written[-1], canvas.saved(figure, form))
    return written


def _name_below(figure: Any) -> None:
    """One legend below all panels instead of one in each, which would lie on the curves."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        marks, names = axes.get_legend_handles_labels()
        named |= dict(zip(names, marks, strict=True))
        if axes.get_legend() is not None:
            axes.get_legend().remove()
    columns = max(1, int(figure.get_figwidth() / 2.4))
    rows = -(-len(named) // columns)
    high, bottom, top = figure.get_figheight(), figure.subplotpars.bottom, figure.subplotpars.top
    taller = high + rows * ROW
    figure.set_figheight(taller)
    figure.subplots_adjust(
        bottom=(bottom * high + rows * ROW) / taller, top=1 - (1 - top) * high / taller
    )
    figure.legend(
        named.values(), named, loc="lower center", ncols=columns, fontsize=9, frameon=False
    )


def charts_of(rows: Sequence[Trial], cases: Sequence[Case]) -> list[Chart]:
    """A chart per case that has rows; an agent looks alike in all of them."""
    found = [(case, of_case(rows, case)) for case in cases]
    style = styles(who for _, own in found for who in own)
    return [
        _chart(case, [_series(who, style[who], case, runs) for who, runs in own.items()])
        for case, own in found
        if own
    ]


def _chart(case: Case, series: list[Series]) -> Chart:
    unit = "steps" if case.episodes is None else "episodes"
    measure = LABELS.get(case.measure, case.measure)
    caption = "Median, and from the lowest to the highest seed."
    chart = Chart(case.name, case.name, caption, unit, measure, series)
    chart.ceiling = case.threshold
    return chart


def _series(who: str, style: int, case: Case, runs: Sequence[Trial]) -> Series:
    """The median over seeds after each tenth, with the lowest and the highest seed as its band."""
    series = Series(name_in_figures(who), style)
    curves = [run.points for run in runs]
    parts = min(map(len, curves))
    for part in range(parts):
        values = [curve[part] for curve in curves]
        budget = case.steps if case.episodes is None else case.episodes
        series.add(budget * (part + 1) / parts, median(values), min(values), max(values))
    return series


def name_in_figures(who: str) -> str:
    """`Seeker`, `Seeker, no averaging`, `SB3 DQN`."""
    agent, _, variant = who.partition(":")
    name = PEERS.get(agent) or label(agent)
    return f"{name}, {variant.replace('_', ' ')}" if variant else name
