"""`isl report`: everything that a folder of runs has to say, in one file that needs no network.

    collect      runs and episodes, through the store
    scaling, curves, statistics    what is to be drawn, as `charts.Chart`
    headline, tables, beliefs      what is to be read, what the agents believed
    page, figures                  the HTML file; the same charts as SVG, PNG and PDF

Nothing here imports JAX.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from isl import __version__
from isl.report import beliefs, curves, figures, headline, scaling, statistics, tables
from isl.report.charts import Chart
from isl.report.collect import Collected, collect_runs
from isl.report.page import html_page, table_html, utf8
from isl.report.palette import styles
from isl.storage import files

__all__ = ["inspection_page", "report_page", "write_report"]

_TROUBLE = ("diverged", "failed", "damaged")
log = logging.getLogger(__name__)


class _Contents(NamedTuple):
    """All that a report shows."""

    found: Collected
    charts: dict[str, list[Chart]]  # by section
    believed: list[beliefs.Item]
    tables: list[tables.Table]


def _contents(root: Path) -> _Contents:
    found = collect_runs(root)
    looks = styles(group.who for group in found.groups)
    scaled = scaling.charts(found.groups, looks)
    charts = {
        "scaling": [c for c in scaled if c.id.startswith("solved")],
        "curves": curves.charts(found, looks),
        "best": [c for c in scaled if c.id.startswith("best")],
        "statistics": statistics.charts(found.groups, looks),
    }
    kinds = (tables.configurations, tables.runs, tables.provenance, tables.commands)
    return _Contents(found, charts, beliefs.items(found), [kind(found) for kind in kinds])


def report_page(root: Path) -> str:
    """The page alone, as HTML."""
    return _page(_contents(root))


def write_report(root: Path, out: Path) -> Path:
    """Write index.html, figures/ and tables/ into `out`; the path of the page."""
    contents = _contents(root)
    files.make_folder(out / "tables")
    for table in contents.tables:
        files.write_bytes(out / "tables" / f"{table.id}.csv", utf8(table.csv()))
    figures.write_all(_figures(contents.charts), out / "figures")
    index = out / "index.html"
    files.write_bytes(index, utf8(_page(contents)))
    for problem in contents.found.problems:
        log.warning("%s", problem)
    return index


def _figures(charts: dict[str, list[Chart]]) -> dict[str, list[Chart]]:
    """An image per chart, but the learning curves of a family as the panels of one."""
    named: dict[str, list[Chart]] = {}
    for section, some in charts.items():
        for chart in some:
            family = chart.id.rpartition("/")[0] or chart.id
            named.setdefault(family if section == "curves" else chart.id, []).append(chart)
    return named


def _page(contents: _Contents) -> str:
    found, charts, believed, made = contents
    configurations, runs, provenance, commands = made
    hosts = {name: f'<div id="charts-{name}" class="panels"></div>' for name in charts}
    hosts["curves"] = '<div id="charts-curves"></div>'
    sections = [("overview", "Overview", _overview(found))]
    headings = {
        "scaling": "Episodes to solve",
        "curves": "Learning curves",
        "best": "Best return",
        "statistics": "Statistics",
    }
    sections += [(name, text, hosts[name]) for name, text in headings.items() if charts[name]]
    if believed:
        sections.append(("inside", "Inside the agent", '<div id="beliefs" class="card"></div>'))
    sections.append(("all-runs", "Runs", table_html(configurations) + table_html(runs)))
    origin = table_html(provenance, wide=["value"]) + table_html(commands, wide=["command"])
    sections.append(("origin", "Where it comes from", origin))
    data = {
        "charts": {k: [dataclasses.asdict(c) for c in some] for k, some in charts.items()},
        "beliefs": believed,
        "csv": {table.id: table.csv() for table in made},
    }
    number = sum(found.counts.values())
    subtitle = f"{number:,} run{'s' * (number > 1)} in {found.root}, isl {__version__}"
    return html_page("Report of runs", subtitle, sections, data)


def _overview(found: Collected) -> str:
    tiles = "".join(
        f'<div class="tile{" bad" * (name in _TROUBLE)}"><b>{count:,}</b><span>{name}</span></div>'
        for name, count in sorted(found.counts.items(), key=lambda item: item[0] != "done")
    )
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in found.problems)
    listed = f'<div class="card problems"><h3>Problems</h3><ul>{problems}</ul></div>'
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in headline.sentences(found))
    said = f'<div class="headline">{said}</div>'
    return said + f'<div class="tiles">{tiles}</div>' + (listed if problems else "")


def inspection_page(title: str, subtitle: str, believed: Sequence[beliefs.Item]) -> str:
    """The inside of agents alone, as a page of its own."""
    inside = '<div id="beliefs" class="card"></div>'
    data: dict[str, Any] = {"charts": {}, "beliefs": list(believed), "csv": {}}
    return html_page(title, subtitle, [("inside", "What the agent believes", inside)], data)
