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

MOST_NAMES = 6  # that a legend in a panel may have; more would hide the curves
ROW = 0.2  # inches of a row of names below


def draw(name: str, folder: Path) -> list[Path]:
    """Write `NAME.svg` and `NAME.png`; nothing without greedy returns."""
    rows = read_kind(folder / f"{name}.csv", Trial)
    charts = charts_of(rows, COMPARISONS[name].cases)
    if not charts:
        return []
    written = []
    with canvas.drawing(**{"font.size": 9}):
        figure = panels(charts)
        if max(len(chart.series) for chart in charts) > MOST_NAMES:
            _name_below(figure)
        for form in ("svg", "png"):
            written.append(folder / f"{name}.{form}")
            files.write_bytes(written[-1], canvas.saved(figure, form))
    return written


def _name_below(figure: Any) -> None:
    """One legend below all panels instead of one in each."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        marks, names = axes.get_legend_handles_labels()
        named |= dict(zip(names, marks, strict=True))
        if axes.get_legend() is not None:
            axes.get_legend().remove()
    columns = max(1, int(figure.get_figwidth() / 2))
    rows = -(-len(named) // columns)
    high, bottom, top = figure.get_figheight(), figure.subplotpars.bottom, figure.subplotpars.top
    taller = high + rows * ROW
    figure.set_figheight(taller)
    figure.subplots_adjust(
        bottom=(bottom * high + rows * ROW) / taller, top=1 - (1 - top) * high / taller
    )
    figure.legend(
        named.values(), named, loc="lower center", ncols=columns, fontsize=7, frameon=False
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
    measure = f"greedy return ({case.measure} of episodes)"
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
