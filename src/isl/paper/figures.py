"""The paper's figures, from the tables of results alone. Equal rows give equal files."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from isl.errors import UsageError
from isl.experiments import presets
from isl.paper.summary import FEW, Cell, cells, exponents, who
from isl.paper.table import Row, settings_of
from isl.storage import files

# Okabe and Ito's colours, told apart by everybody; lines and markers say it again without them.
LOOKS: dict[str, tuple[str, Any, str]] = {  # agent → colour, line, marker
    "isl": ("#0072B2", "-", "o"),
    "boot_dqn": ("#D55E00", "--", "s"),
    "ube": ("#009E73", "-.", "^"),
    "sbeed": ("#CC79A7", ":", "D"),
    "dqn": ("#4D4D4D", (0, (1, 3)), "v"),
}
OTHERS = ("#E69F00", "-", "P")
SETTINGS = ("#E69F00", "#56B4E9", "#999933")  # colours of an agent's other settings, in turn
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "isl",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
SYMBOLS = {"kappa": "κ", "eta1": "η₁", "eta2": "η₂"}


def draw(name: str, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the figure of a reproduction as `NAME.svg` and `NAME.png`; nothing without rows."""
    painter, family = FIGURES[name]
    if not cells(rows, family):
        return []
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UsageError(f"figures need {error.name}: pip install 'isl[report]'") from None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        painter(figure, rows, family)
        files.make_folder(folder)
        written = []
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            picture = io.BytesIO()
            figure.savefig(picture, format=kind, dpi=130, metadata=metadata)
            written.append(folder / f"{name}.{kind}")
            files.write_bytes(written[-1], picture.getvalue())
    return written


def _deep_sea(figure: Any, rows: Sequence[Row], family: str) -> None:
    """Episodes to solve against N: median and quartiles; dots, squares and crosses as in the paper.

    Presets, and settings made at as many sizes; those made at a few are compared in the text.
    """
    axes = figure.subplots()
    growth = exponents(rows, family)
    curves: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells(rows, family):
        curves.setdefault((cell.agent, cell.variant), []).append(cell)
    curves = {
        (agent, variant): own
        for (agent, variant), own in curves.items()
        if not variant or len(own) >= len(curves.get((agent, ""), own))
    }
    others = itertools.cycle(SETTINGS)
    for place, ((agent, variant), own) in enumerate(curves.items()):
        colour, line, _ = LOOKS.get(agent, OTHERS)
        colour = next(others) if variant else colour
        label, exponent = who(agent, variant), growth.get((agent, variant))
        if exponent is not None:
            label += f", ∝ N^{exponent.b:.2f}"
        # Side by side at the same size; the axis is logarithmic.
        aside = 1 + 0.02 * (place - (len(curves) - 1) / 2)
        known = [cell for cell in own if math.isfinite(cell.episodes.median)]
        axes.plot(
            [cell.size * aside for cell in known],
            [cell.episodes.median for cell in known],
            linestyle=line,
            color=colour,
            label=label,
        )
        for cell in own:
            _draw_cell(axes, cell, cell.size * aside, colour)
    axes.set(xscale="log", yscale="log", xlabel="size N", ylabel="episodes to the 10th goal visit")
    ticks = sorted({cell.size for own in curves.values() for cell in own})
    axes.set_xticks(ticks if len(ticks) < 12 else [n for n in ticks if n % 10 == 0])
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    title = "Deep Sea Stochastic" if family.endswith("stochastic") else "Deep Sea"
    meaning = "● all seeds solved   ■ some   ✕ none, at the budget; bars: quartiles"
    axes.set_title(f"{title}\n{meaning}", fontsize=10, loc="left")


def _draw_cell(axes: Any, cell: Cell, x: float, colour: str) -> None:
    q1, median, q3 = (min(value, cell.budget) for value in cell.episodes)
    shape = "o" if cell.solved == cell.seeds else "s" if cell.solved else "x"
    if cell.solved:
        axes.plot([x, x], [q1, q3], color=colour, lw=1.2, alpha=0.7)
    axes.plot([x], [median], shape, color=colour, ms=6)


def _cartpole(figure: Any, rows: Sequence[Row], family: str) -> None:
    """The best return of an episode against the difficulty n."""
    axes = figure.subplots()
    presets = [cell for cell in cells(rows, family) if not cell.variant]
    for agent in dict.fromkeys(cell.agent for cell in presets):
        own = [cell for cell in presets if cell.agent == agent]
        colour, line, marker = LOOKS.get(agent, OTHERS)
        style = {"color": colour, "ls": line, "marker": marker, "label": who(agent, "")}
        _draw_band(axes, [float(cell.size) for cell in own], own, style)
    axes.axhline(0, color="#999999", lw=0.8)
    axes.set(xlabel="difficulty n", ylabel="best return of an episode")
    axes.set_xticks(sorted({cell.size for cell in presets}))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    shown = "median, and each seed" if _few(presets) else "median and quartiles over seeds"
    axes.set_title(f"Cartpole Swingup: {shown}", fontsize=10, loc="left")


def _ablation(figure: Any, rows: Sequence[Row], family: str) -> None:
    """The best return against κ, η₁ and η₂ in turn, a line per difficulty; a ring is the preset."""
    import matplotlib

    panels = figure.subplots(1, 3, sharey=True)
    isl = [cell for cell in cells(rows, family) if cell.agent == "isl"]
    sizes = sorted({cell.size for cell in isl if cell.variant})
    colours = matplotlib.colormaps["viridis"]
    for axes, name in zip(panels, SYMBOLS, strict=True):
        values: set[float] = set()
        for place, size in enumerate(sizes):
            series = _series(isl, name, size)
            values.update(series)
            share = place / max(len(sizes) - 1, 1) * 0.9
            style = {"color": colours(share), "marker": "o", "label": f"n = {size}"}
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
    "deep_sea": (_deep_sea, "deep_sea"),
    "deep_sea_stochastic": (_deep_sea, "deep_sea_stochastic"),
    "cartpole_swingup": (_cartpole, "cartpole_swingup"),
    "ablation": (_ablation, "cartpole_swingup"),
}
