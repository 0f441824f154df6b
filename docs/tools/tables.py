"""A hook of mkdocs: cells of wide tables carry the name of their column.

On a phone the stylesheet then sets a row as a block, so that no column is out of sight: a line per
cell, or short cells one after the other.
"""

from __future__ import annotations

import html
import itertools
import re
from typing import Any

COLUMNS = 4  # and more do not fit beside each other on a phone
WORDS = 38  # letters, nor do columns whose longest words have more together
SHORT = 22  # letters of a cell, in the mean
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<td(?=[ >])")
_TEXT = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def on_page_content(content: str, **_: Any) -> str:
    """Every table of a page."""
    return _TABLE.sub(lambda found: _named(found[0]), content)


def _named(table: str) -> str:
    names = [html.escape(html.unescape(_plain(head))) for head in _HEAD.findall(table)]
    cells = [_plain(cell) for cell in _TEXT.findall(table)]
    if len(names) < COLUMNS and _width(cells, len(names)) <= WORDS:
        return table
    lengths = [len(cell) for cell in cells]
    folds = "flow" if sum(lengths) <= SHORT * len(lengths) else "lines"

    def row(found: re.Match[str]) -> str:
        name = itertools.cycle(names)
        return _CELL.sub(lambda _: f'<td data-name="{next(name)}"', found[0])

    return _ROW.sub(row, table).replace("<table>", f'<table data-folds="{folds}">', 1)


def _width(cells: list[str], columns: int) -> int:
    """Letters of the longest word of each column, together: a line breaks between words only."""
    words = [max((len(word) for word in html.unescape(cell).split()), default=0) for cell in cells]
    return sum(max(words[k::columns], default=0) for k in range(columns))


def _plain(cell: str) -> str:
    return _TAG.sub("", cell).strip()
