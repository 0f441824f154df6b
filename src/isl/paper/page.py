"""The generated parts of the pages in docs/results: tables and exponents between two marks.

    <!-- begin deep_sea exponents -->
    …
    <!-- end -->

The text around them is written by hand and is left as it is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from isl.envs.registry import has_goal
from isl.errors import UsageError
from isl.paper.comparison_page import TRIAL_BLOCKS
from isl.paper.comparisons import COMPARISONS
from isl.paper.summary import FEW, Cell, Quartiles, cells, exponent_text, exponents, who
from isl.paper.table import Row, read_kind, settings_of
from isl.paper.trial import Trial
from isl.storage import files

MAX_PAGE_BYTES = 4 << 20
_BLOCK = re.compile(r"(<!-- begin (\w+) (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def update(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Write the generated parts of every page of a folder anew; the pages that changed."""
    changed = []
    trials = {name: read_kind(folder / f"{name}.csv", Trial) for name in COMPARISONS}
    for path in sorted(folder.glob("*.md")):
        before = files.read_bytes(path, MAX_PAGE_BYTES).decode()
        after = filled(before, rows, trials)
        if after != before:
            files.write_bytes(path, after.encode())
            changed.append(path)
    return changed


def filled(page: str, rows: Sequence[Row], trials: Mapping[str, Sequence[Trial]]) -> str:
    """The page with what the rows say between its marks; `trials` are by comparison."""

    def replaced(match: re.Match[str]) -> str:
        begin, name, kind, end = match.groups()
        if kind in BLOCKS:
            text = BLOCKS[kind](rows, name)
        elif kind in TRIAL_BLOCKS and name in COMPARISONS:
            text = TRIAL_BLOCKS[kind](trials.get(name, ()), COMPARISONS[name].cases)
        else:
            known = ", ".join([*BLOCKS, *TRIAL_BLOCKS])
            raise UsageError(f"a page asks for {kind!r} of {name!r}: known are {known}")
        return f"{begin}\n{text}\n\n{end}"

    return _BLOCK.sub(replaced, page)


def solved(rows: Sequence[Row], family: str) -> str:
    """Presets: a line per size, a column per agent."""
    return _matrix([c for c in cells(rows, family) if not c.variant], _solved_text, "N")


def returns(rows: Sequence[Row], family: str) -> str:
    """Presets: the best return, a line per difficulty, a column per agent."""
    return _matrix([c for c in cells(rows, family) if not c.variant], _return_text, "n")


def variants(rows: Sequence[Row], family: str) -> str:
    """Other settings than the presets', and the preset at the same sizes to compare with."""
    found = cells(rows, family)
    sizes = {(cell.agent, cell.size) for cell in found if cell.variant}
    compared = [cell for cell in found if (cell.agent, cell.size) in sizes]
    if has_goal(family):  # many sizes, few settings
        return _matrix(compared, _solved_text, "N")
    lines = ["| agent | setting | size | result |", "|---|---|---|---|"]
    for cell in sorted(compared, key=_by_value):
        told = who(cell.agent, ""), cell.variant or "preset", str(cell.size), _return_text(cell)
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines)


def growth(rows: Sequence[Row], family: str) -> str:
    """Exponents of the episodes against size, over the paper's sizes and over the larger half."""
    lines = ["| agent | episodes to solve, N ≤ 50 | 30 ≤ N ≤ 50 |", "|---|---|---|"]
    large = exponents(rows, family, smallest=30)
    lines += [
        f"| {who(*key)} | {exponent_text(exponent)} | {exponent_text(large.get(key))} |"
        for key, exponent in exponents(rows, family).items()
    ]
    return "\n".join(lines)


def origin(rows: Sequence[Row], family: str) -> str:
    """How many rows there are, what they cost, and where they come from."""
    own = [row for row in rows if row.family == family]
    hours = sum(row.seconds for row in own) / 3600
    made = Counter((row.jax, row.cpu, row.commit) for row in own)
    lines = [f"{len(own)} runs, {hours:.1f} core-hours without compilation.", ""]
    lines += [
        f"- {count} with JAX {jax} on {cpu}, commit {commit or 'unknown'}"
        for (jax, cpu, commit), count in sorted(made.items())
    ]
    return "\n".join(lines)


BLOCKS: dict[str, Callable[[Sequence[Row], str], str]] = {
    "solved": solved,
    "returns": returns,
    "variants": variants,
    "exponents": growth,
    "origin": origin,
}


def _by_value(cell: Cell) -> tuple[str, int, list[tuple[str, float]]]:
    """Settings in the order of their numbers, 3.25 before 208."""
    settings = settings_of(cell.variant).items()
    numbers = [(name, value if isinstance(value, int | float) else 0.0) for name, value in settings]
    return cell.agent, cell.size, numbers


def _matrix(found: Sequence[Cell], text: Callable[[Cell], str], size: str) -> str:
    columns = list(dict.fromkeys((cell.agent, cell.variant) for cell in found))
    by_place = {(cell.size, cell.agent, cell.variant): text(cell) for cell in found}
    lines = [f"| {size} | {' | '.join(who(*column) for column in columns)} |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for number in sorted({cell.size for cell in found}):
        row = (by_place.get((number, *column), "") for column in columns)
        lines.append(f"| {number} | {' | '.join(row)} |")
    return "\n".join(lines)


def _solved_text(cell: Cell) -> str:
    """`10/10: 367 (348 to 380)`; what is beyond the budget is only known to be more."""
    if not cell.solved:
        return f"0/{cell.seeds} in {cell.budget:,}"
    return f"{cell.solved}/{cell.seeds}: {_quartiles(cell.episodes, cell.budget)}"


def _return_text(cell: Cell) -> str:
    """`820, 843`, seed by seed; of many seeds `831 (826 to 837) [10]`."""
    note = f"; {cell.diverged}/{cell.seeds} diverged" if cell.diverged else ""
    if cell.seeds < FEW:
        return ", ".join(map(_number, cell.returns)) + note
    return f"{_quartiles(cell.best_return, math.inf)} [{cell.seeds}]{note}"


def _number(value: float) -> str:
    """`820`, but `-0.4`: near 0 a whole number would hide the sign."""
    return f"{value:.0f}" if value.is_integer() or abs(value) >= 10 else f"{value:.1f}"


def _quartiles(values: Quartiles, budget: float) -> str:
    q1, median, q3 = (
        _number(value) if math.isfinite(value) else f">{budget:.0f}" for value in values
    )
    return f"{median} ({q1} to {q3})"
