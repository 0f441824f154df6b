"""What is to be drawn, apart from how: the page and the image files draw the same charts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# Marks say it without colours: solved by all, by some, by none of the seeds. No agent has them.
DOT, SQUARE, CROSS = "dot", "square", "cross"
MEANING = {DOT: "● all seeds solved it", SQUARE: "□ some did", CROSS: "× none did"}
ONE_RUN = "A dash is one run."


@dataclass
class Series:
    """A line, point by point; `low` and `high` bound its band, `text` is shown when pointed at."""

    name: str
    style: int  # the same in every chart (isl.report.palette)
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    mark: list[str] = field(default_factory=list)  # empty: the style's own marker
    text: list[str] = field(default_factory=list)
    beyond: list[bool] = field(default_factory=list)  # y is the budget, the value lies beyond it
    runs: list[tuple[float, float, str]] = field(default_factory=list)  # single seeds: x, y, text

    def add(
        self,
        x: float,
        y: float,
        low: float,
        high: float,
        *,
        mark: str | None = None,
        text: str | None = None,
        beyond: bool = False,
    ) -> None:
        """The next point of the line."""
        for values, value in ((self.x, x), (self.y, y), (self.low, low), (self.high, high)):
            values.append(short(value))
        self.beyond.append(beyond)
        if mark is not None:
            self.mark.append(mark)
        if text is not None:
            self.text.append(text)


@dataclass
class Chart:
    """One figure. `kind` is "lines" or "intervals" (a row per series, a point and its interval)."""

    id: str
    title: str
    caption: str
    x_label: str
    y_label: str
    series: list[Series]
    kind: str = "lines"
    log_x: bool = False
    log_y: bool = False
    bars: bool = False  # image files draw quartiles as bars side by side instead of bands
    ceiling: float | None = None  # a line at the budget: what is drawn on it took longer
    reference: float | None = None  # a vertical line in a chart of intervals
    range_x: tuple[float, float] | None = None
    range_y: tuple[float, float] | None = None
    categories: list[str] = field(default_factory=list)  # names of x = 0, 1, 2 …
    ticks_x: list[float] = field(default_factory=list)  # the numbers to write; empty: round ones
    whole_x: bool = False  # x counts something: no tick between whole numbers
    whole_y: bool = False
    panel: str = ""  # charts of equal panels are looked at together


def in_order(series: Iterable[Series]) -> list[Series]:
    """By their styles: the legends of all charts read alike."""
    return sorted(series, key=lambda each: each.style)


def short(value: float) -> float:
    """Five digits are more than a screen can show. What is not finite has no place in a chart."""
    return float(f"{value:.5g}") if math.isfinite(value) else math.nan


def plain(value: Any) -> Any:
    """A chart as JSON: NaN, which JSON lacks, as null."""
    if isinstance(value, dict):
        return {name: plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
