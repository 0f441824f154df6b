"""One HTML file with everything in it: it asks nobody for anything.

Whatever comes from a run is escaped: `html.escape` in the markup, `<` written as \\u003c in the
data, and a content security policy that admits our one script by its hash and no connection.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from isl.report import palette
from isl.report.charts import plain
from isl.report.tables import Cell, Table

SCRIPTS = ("scales.js", "charts.js", "majorant.js", "maps.js", "beliefs.js", "report.js")
MOST_LETTERS = 80  # of a cell, unless its column is wide; the rest is shown when pointed at
_OPTION = re.compile(r"--\S+(?: (?!--)\S+)*")  # of a command: its name and values


def html_page(
    title: str, subtitle: str, sections: Sequence[tuple[str, str, str]], data: dict[str, Any]
) -> str:
    """The file: sections are (id, heading, HTML), `data` is what the script draws."""
    data = {**data, "palette": palette.for_script()}
    script = "".join(_asset(name) for name in SCRIPTS).replace('"use strict";\n', "")
    script = f'"use strict";\n{script}'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    links = "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text, _ in sections)
    body = "".join(
        f'<section id="{name}"><h2>{escape(text)}</h2>{content}</section>'
        for name, text, content in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{palette.css()}{_asset("report.css")}</style>
</head>
<body>
<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>
<nav aria-label="sections"><div>{links}</div></nav>
<main>{body}
<noscript><p class="card">The figures need JavaScript; the tables do not.</p></noscript>
</main>
<footer>Made by isl. This file is complete: it loads nothing from anywhere.</footer>
<script type="application/json" id="data">{embedded(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (importlib.resources.files("isl.report") / "assets" / name).read_text(encoding="utf-8")


def utf8(text: str) -> bytes:
    """The text as a file's content; half characters, which JSON can hold, become question marks."""
    return text.encode("utf-8", "replace")


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: no text in it can end that element."""
    text = json.dumps(plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def table_html(table: Table, wide: Sequence[str] = ()) -> str:
    """A table that can be read as it is, and sorted, filtered and saved with the script."""
    kinds = {column: _kind(table, column, wide) for column in _filled(table)}
    head = "".join(f"<th{k}>{escape(table.columns[column])}</th>" for column, k in kinds.items())
    rows = "".join(
        "<tr>" + "".join(_cell(row[column], k) for column, k in kinds.items()) + "</tr>\n"
        for row in table.rows
    )
    long = len(table.rows) > 12
    find = f'<input class="filter" data-table="{table.id}" placeholder="filter" hidden>' * long
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="card">{_names_on_a_phone(table, list(kinds))}'
        f'<div class="bar"><h3>{escape(table.title)}</h3>{find}'
        f'<button type="button" class="csv" data-table="{table.id}" hidden>CSV</button></div>'
        f'<div class="scroll"><table class="sortable" id="{table.id}">'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{note}</div>"
    )


def _filled(table: Table) -> list[int]:
    """The columns that say something of at least one row; all of them if there are no rows."""
    every = range(len(table.columns))
    return [c for c in every if any(row[c] not in (None, "") for row in table.rows)] or list(every)


def _css_string(text: str) -> str:
    """Text in quotes, as CSS reads it; nothing in it ends the string or the style."""
    escaped = "".join(f"\\{ord(c):x} " if c in '"\\<>\n' else c for c in text)
    return f'"{escaped}"'


def _names_on_a_phone(table: Table, columns: Sequence[int]) -> str:
    """Style that writes a column's name before each of its cells, where a row is a block."""
    rules = "".join(
        f"#{table.id} td:nth-child({place})::before{{content:{_css_string(table.columns[column])}}}"
        for place, column in enumerate(columns, start=1)
    )
    return f"<style>@media (max-width:700px){{{rules}}}</style>"


def _kind(table: Table, column: int, wide: Sequence[str]) -> str:
    """The class of a column's cells: text is set to the left, wide text may break."""
    if table.columns[column] in wide:
        return ' class="text wrap"'
    number = all(not isinstance(row[column], str) or row[column] == "∞" for row in table.rows)
    return "" if number else ' class="text"'


def _cell(value: Cell, kind: str) -> str:
    if value is None:
        return f"<td{kind}></td>"
    if isinstance(value, str) and len(value) > MOST_LETTERS and "wrap" not in kind:
        shown = escape(value[: MOST_LETTERS - 1])
        return f'<td{kind} title="{escape(value)}">{shown}…</td>'
    if isinstance(value, str) and "wrap" in kind:  # lines break between options, not inside
        shown = _OPTION.sub(r"<span>\g<0></span>", escape(value))
        return f"<td{kind}>{shown}</td>"
    if isinstance(value, str):
        return f"<td{kind}>{escape(value)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td{kind} data-value="{value!r}">{shown}</td>'
