"""The paper's figures, from the tables of results alone. Equal rows give equal files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from isl.agents import AGENTS
from isl.envs.registry import TASKS
from isl.experiments import presets
from isl.paper.summary import FEW, Cell, cells, exponents, who
from isl.paper.table import Row, settings_of
from isl.report import canvas
from isl.report.charts import Chart, Series
from isl.report.figures import draw_lines
from isl.report.palette import look, styles
from isl.report.scaling import add_best, add_solved, best_chart, solved_chart
from isl.storage import files

SYMBOLS = {"kappa": "κ", "eta1": "η₁", "eta2": "η₂"}
_MARKS = "● all seeds solved   □ some   ✕ none, at the budget; bars: quartiles"


def draw(name: str, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the figure of a reproduction as `NAME.svg` and `NAME.png`; nothing without rows."""
    painter, family = FIGURES[name]
    if not cells(rows, family):
        return []
    written = []
    with canvas.drawing():
        figure = canvas.figure(7.2, 4.4, layout="constrained")
        painter(figure, rows, family)
        files.make_folder(folder)
        for form in ("svg", "png"):
            written.append(folder / f"{name}.{form}")
            files.write_bytes(written[-1], canvas.saved(figure, form))
    return written


def _solved(figure: Any, rows: Sequence[Row], family: str) -> None:
    """Episodes to solve against N: median and quartiles; dots, squares and crosses as in the paper.

    Presets, and settings made at as many sizes; those made at a few are compared in the text.
    """
    growth = exponents(rows, family)
    curves: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells(rows, family):
        curves.setdefault((cell.agent, cell.variant), []).append(cell)
    lines: dict[tuple[str, str], str] = {}  # agent and variant → label
    for (agent, variant), own in curves.items():
        if not variant or len(own) >= len(curves.get((agent, ""), own)):
            exponent = growth.get((agent, variant))
            note = "" if exponent is None else f", ∝ N^{exponent.b:.2f}"
            lines[agent, variant] = _in_words(agent, variant) + note
    style = styles(agent if not variant else label for (agent, variant), label in lines.items())
    tables = [label for (agent, variant), label in lines.items() if _is_tables(agent, variant)]
    style |= {label: AGENTS["isl_tables"].style + place for place, label in enumerate(tables)}
    series = []
    for (agent, variant), label in lines.items():
        line = Series(label, style[label if variant else agent])
        for cell in curves[agent, variant]:
            add_solved(line, float(cell.size), cell.took, cell.budget)
        series.append(line)
    chart = solved_chart(family, series, set(), log_x=True)
    chart.series = series  # settings beside their agent
    chart.y_label = "episodes to the 10th goal visit"
    _draw_chart(figure, chart, f"{TASKS[family].title}\n{_MARKS}")


def _is_tables(agent: str, variant: str) -> bool:
    """Runs of `isl_tables` are recorded as ISL with a rate of the tables."""
    return agent == "isl" and "lr_codes=" in variant


def _in_words(agent: str, variant: str) -> str:
    """`ISL, tables, rate 0.0005, T = 2`"""
    if not _is_tables(agent, variant):
        return who(agent, variant)
    words = variant.replace("lr_codes=", "rate ").replace("steps=", "T = ")
    return ", ".join([AGENTS["isl_tables"].label, *words.replace(" T", "|T").split("|")])


def _best(figure: Any, rows: Sequence[Row], family: str) -> None:
    """The best return of an episode against the difficulty n."""
    shown = [cell for cell in cells(rows, family) if not cell.variant]
    style = styles(cell.agent for cell in shown)
    series = []
    for agent in dict.fromkeys(cell.agent for cell in shown):
        own = [cell for cell in shown if cell.agent == agent]
        line = Series(who(agent, ""), style[agent])
        for cell in own:
            add_best(line, float(cell.size), cell.returns)
            if _few(own):
                line.low[-1] = line.high[-1] = math.nan  # no band
                line.runs += [(float(cell.size), value, "") for value in cell.returns]
        series.append(line)
    few = "median, and each seed" if _few(shown) else "median and quartiles over seeds"
    chart = best_chart(family, series)
    _draw_chart(figure, chart, f"{TASKS[family].title}: {few}")
    (axes,) = figure.axes
    axes.axhline(0, color="#999999", lw=0.8)
    axes.set_ylabel("best return of an episode")
    axes.set_xticks(sorted({cell.size for cell in shown}))


def _draw_chart(figure: Any, chart: Chart, title: str) -> None:
    """A chart alone on a figure, its legend beside it."""
    axes = figure.subplots()
    draw_lines(axes, chart, apart=False)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(title, fontsize=10, loc="left")


def _ablation(figure: Any, rows: Sequence[Row], family: str) -> None:
    """The best return against κ, η₁ and η₂ in turn, a line per difficulty; a ring is the preset."""
    panels = figure.subplots(1, 3, sharey=True)
    isl = [cell for cell in cells(rows, family) if cell.agent == "isl"]
    sizes = sorted({cell.size for cell in isl if cell.variant})
    for axes, name in zip(panels, SYMBOLS, strict=True):
        values: set[float] = set()
        for place, size in enumerate(sizes):
            series = _series(isl, name, size)
            values.update(series)
            seen = look(place)
            style = {"color": seen.colour, "ls": seen.line, "marker": "o", "label": f"n = {size}"}
            _draw_band(axes, list(series), list(series.values()), style)
            for value, cell in series.items():
                if not cell.variant:
                    ring = {"mfc": "none", "color": "black", "ms": 12}
                    axes.plot([value], [cell.best_return.median], "o", **ring)
        axes.set(xlabel=SYMBOLS[name])
        if name == "kappa":
            axes.set_xscale("log", base=4)
            some = sorted(values)[:: 1 if len(values) <= 5 else 2]
            axes.set_xticks(some, [f"{value:g}" for value in some], fontsize=8)
        else:
            axes.set_xticks([0, 0.5, 1])
        axes.axhline(0, color="#999999", lw=0.8)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("best return of an episode")
    if sizes:
        panels[-1].legend(frameon=False, fontsize=9)
    figure.suptitle("Cartpole Swingup, ISL: one hyper-parameter at a time", fontsize=10)


def _series(isl: Sequence[Cell], name: str, size: int) -> dict[float, Cell]:
    """Cells by the value of one hyper-parameter, the others the preset's, which is in it too."""
    preset = presets.load("cartpole_swingup")["isl"][name]
    found = {}
    for cell in (cell for cell in isl if cell.size == size):
        settings = settings_of(cell.variant)
        if set(settings) <= {name}:
            found[float(settings.get(name, preset))] = cell
    return dict(sorted(found.items()))


def _draw_band(axes: Any, xs: list[float], own: Sequence[Cell], style: dict[str, Any]) -> None:
    """Medians, with quartiles as a band; of few seeds each as a dash."""
    low, middle, high = zip(*(cell.best_return for cell in own), strict=True)
    axes.plot(xs, middle, **style)
    if not _few(own):
        axes.fill_between(xs, low, high, color=style["color"], alpha=0.15, lw=0)
        return
    for x, cell in zip(xs, own, strict=True):
        axes.plot([x] * cell.seeds, cell.returns, "_", color=style["color"], ms=8, mew=1.2)


def _few(own: Sequence[Cell]) -> bool:
    return any(cell.seeds < FEW for cell in own)


FIGURES: dict[str, tuple[Callable[[Any, Sequence[Row], str], None], str]] = {
    "deep_sea": (_solved, "deep_sea"),
    "deep_sea_stochastic": (_solved, "deep_sea_stochastic"),
    "cartpole_swingup": (_best, "cartpole_swingup"),
    "ablation": (_ablation, "cartpole_swingup"),
}
