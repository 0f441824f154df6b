"""How a series looks: the same colour, dashes and marker in every figure of the project.

A style is a whole number: a built-in agent's is written in its registry (isl.agents), other series
get the numbers after those. The page, its image files and the paper's figures all ask here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from isl.agents import AGENTS

# The hues of Okabe and Ito, which colour-blind readers can tell apart, dark enough for text on
# white; on a dark page the same hues, lighter.
COLOURS = ("#0072b2", "#d55e00", "#008a66", "#a8458f", "#5f6670", "#b97700", "#3a8fc4", "#882255")
ON_DARK = ("#56b4e9", "#ff8a4c", "#2fc99a", "#e59ad0", "#b3bac4", "#f0c24b", "#9ad4f5", "#ee7fa8")
# Dashes in pixels and markers tell series apart without colours: forty looks before one returns.
DASHES: tuple[tuple[int, ...], ...] = ((), (8, 4), (2, 3), (10, 3, 2, 3), (5, 3))
# Dot, square and cross are not among them: they say how many seeds solved a task (charts.MEANING).
MARKERS = ("diamond", "triangle", "wedge", "star", "plus")
_IN_MATPLOTLIB = {"diamond": "D", "triangle": "^", "wedge": "v", "star": "*", "plus": "P"}
_POINTS_PER_PIXEL = 0.75


class Look(NamedTuple):
    """A style as matplotlib takes it."""

    colour: str
    line: Any
    marker: str


def look(style: int) -> Look:
    """The look of a style."""
    dash = tuple(_POINTS_PER_PIXEL * length for length in DASHES[style % len(DASHES)])
    marker = _IN_MATPLOTLIB[MARKERS[style % len(MARKERS)]]
    return Look(COLOURS[style % len(COLOURS)], (0, dash) if dash else "-", marker)


def styles(names: Iterable[str]) -> dict[str, int]:
    """A style for each series by name: built-in agents their own, the others those that follow."""
    wanted = set(names)
    found = {name: entry.style for name, entry in AGENTS.items() if name in wanted}
    first = 1 + max(entry.style for entry in AGENTS.values())
    return found | {name: first + k for k, name in enumerate(sorted(wanted - set(found)))}


def css() -> str:
    """The colours as the page's variables --s0, --s1 …"""
    light, dark = (
        " ".join(f"--s{place}: {colour};" for place, colour in enumerate(colours))
        for colours in (COLOURS, ON_DARK)
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def for_script() -> dict[str, Any]:
    """The rest as the page's script reads it."""
    dashes = [" ".join(map(str, dash)) for dash in DASHES]
    return {"colours": len(COLOURS), "dashes": dashes, "markers": list(MARKERS)}
