"""Draw the README's charts from the tables in docs/results: speed, and episodes against size.

python docs/tools/draw_charts.py [--out docs/figures]
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from isl.report import canvas
from isl.report.palette import COLOURS, ON_DARK, look

RESULTS = Path(__file__).parents[1] / "results"
OTHERS = "#8b949e"
MODES = {"": canvas.ON_LIGHT, "-dark": canvas.ON_DARK}

# Like with like: the same algorithm, batch and widths on the same task.
SPEED = {
    "Bootstrapped DQN, 20 members": {
        "boot_dqn": "isl (BSP)",
        "bsuite boot_dqn": "bsuite",
    },
    "DQN": {
        "dqn": "isl (DQN)",
        "bsuite dqn": "bsuite",
        "SB3 dqn": "Stable-Baselines3",
        "SBX dqn": "SBX",
        "rejax dqn": "rejax",
    },
}
TASK = "deep_sea/20"

# (agent, variant) in the table → label, style and where its name stands: the distance from
# its last point, to the right and up.
LINES = {
    ("seeker", ""): ("Seeker", 5, (6, -3)),
    ("isl", ""): ("ISL, networks", 0, (-24, 8)),
    ("isl", "lr_codes=0.001"): ("ISL, tables", 6, (6, -3)),
    ("boot_dqn", ""): ("BSP", 1, (-30, 4)),
}
CHANCE_SIZES = (10, 11, 12, 13)  # 2^N leaves the figure after these


def speed(dark: bool) -> Any:
    """Steps per second of the same algorithm in several libraries."""
    measured = json.loads((RESULTS / "bench.json").read_text())["peers"]
    figure = canvas.figure(6.4, 3.1, layout="constrained")
    heights = [len(group) for group in SPEED.values()]
    panels = figure.subplots(len(SPEED), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, (title, group) in zip(panels, SPEED.items(), strict=True):
        rates = [measured[f"{name} {TASK}"]["env_steps_per_second"] for name in group]
        ours = (ON_DARK if dark else COLOURS)[0]
        bars = axes.barh(list(group.values()), rates, color=[ours] + [OTHERS] * (len(rates) - 1))
        texts = [f"{rates[0]:,.0f} steps/s"]
        texts += [f"{rate:,.0f}  (isl is {rates[0] / rate:.0f}× as fast)" for rate in rates[1:]]
        axes.bar_label(bars, texts, padding=4)
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
        axes.set(xticks=[], xlim=(0, 1.35 * max(rates)))
        axes.spines[["bottom", "left"]].set_visible(False)
        axes.tick_params(length=0)
        axes.invert_yaxis()
    return figure


def medians(rows: Iterable[dict[str, str]], agent: str, variant: str) -> dict[int, float]:
    """Median episodes to solve by size; infinite where half of the runs or more are unsolved."""
    took: dict[int, list[float]] = {}
    for row in rows:
        if (row["agent"], row["variant"]) == (agent, variant):
            size = int(row["task"].partition("/")[2])
            took.setdefault(size, []).append(float(row["solved_episode"] or "inf"))
    return {size: median(runs) for size, runs in sorted(took.items())}


def scaling(dark: bool) -> Any:
    """Episodes to the tenth treasure against the size of Deep Sea."""
    with (RESULTS / "deep_sea.csv").open() as table:
        rows = list(csv.DictReader(table))
    figure = canvas.figure(6.4, 3.6, layout="constrained")
    axes = figure.subplots()
    colours = ON_DARK if dark else COLOURS
    for (agent, variant), (label, style, offset) in LINES.items():
        known = {n: t for n, t in medians(rows, agent, variant).items() if t < float("inf")}
        colour, drawn = colours[style % len(colours)], look(style)
        axes.plot(
            list(known), list(known.values()), color=colour, marker=drawn.marker, ms=4, lw=1.6
        )
        at = (max(known), known[max(known)])
        axes.annotate(label, at, offset, textcoords="offset points", color=colour, weight="bold")
    chance = [2.0**n for n in CHANCE_SIZES]
    axes.plot(CHANCE_SIZES, chance, color=OTHERS, ls=":", lw=1.6)
    at = (CHANCE_SIZES[-1], chance[-1])
    axes.annotate(
        "random moves, 1st treasure: 2ᴺ", at, (6, -8), textcoords="offset points", color=OTHERS
    )
    axes.set(xscale="log", yscale="log", xlim=(9.3, 135), ylim=(70, 9000))
    axes.set_xticks([10, 20, 30, 50, 100], ["10", "20", "30", "50", "100"])
    axes.set_yticks([100, 300, 1000, 3000], ["100", "300", "1,000", "3,000"])
    axes.minorticks_off()
    axes.set(xlabel="size N of Deep Sea", ylabel="episodes to the 10th treasure")
    axes.grid(alpha=0.25)
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in {"speed": speed, "scaling": scaling}.items():
        for suffix, style in MODES.items():
            with canvas.drawing(**style):
                (out / f"{name}{suffix}.svg").write_bytes(canvas.saved(draw(bool(suffix)), "svg"))
        print(out / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
