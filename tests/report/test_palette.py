"""One palette: every agent and series has a look of its own, the same on the page and in images."""

import re

import numpy as np

from isl.agents import AGENTS
from isl.report import canvas, page, palette
from isl.report.charts import MEANING, Chart, Series
from isl.report.figures import draw_lines


def test_agents_keep_their_style_whoever_else_is_drawn():
    assert palette.styles(["dqn", "isl"]) == {
        "isl": AGENTS["isl"].style,
        "dqn": AGENTS["dqn"].style,
    }
    with_others = palette.styles(["isl", "z", "isl kappa=2", "dqn"])
    assert with_others["dqn"] == AGENTS["dqn"].style
    assert len(set(with_others.values())) == 4
    assert min(with_others["z"], with_others["isl kappa=2"]) > max(e.style for e in AGENTS.values())


def test_forty_looks_before_one_returns():
    looks = [palette.look(style) for style in range(41)]
    assert len(set(map(str, looks[:40]))) == 40
    assert looks[40] == looks[0]


def test_no_marker_has_two_meanings():
    """Dot, square and cross say how many seeds solved a task, so that no agent has them."""
    assert not set(palette.MARKERS) & set(MEANING)
    assert not {palette.look(style).marker for style in range(40)} & {"o", "s", "x", "_"}


def test_the_page_is_given_the_same_colours_dashes_and_markers():
    html = page.html_page("t", "s", [], {})
    for place, colour in enumerate(palette.COLOURS):
        assert f"--s{place}: {colour}" in html
    assert re.search(r'"palette":\{"colours":8,"dashes":\["","8 4"', html)


def test_a_line_ends_where_medians_lie_beyond_the_budget_and_log_axes_have_plain_numbers():
    line = Series("a $name", 1)
    line.add(10, 100, 90, 110)
    line.add(20, 5000, 400, 5000, beyond=True)
    chart = Chart("id", "t", "c", "x", "y", [line], log_y=True, bars=True)
    with canvas.drawing():
        figure = canvas.figure(4, 3)
        axes = figure.subplots()
        draw_lines(axes, chart)
        svg = canvas.saved(figure, "svg").decode()
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [100, np.nan])  # a gap
    assert axes.lines[0].get_color() == palette.COLOURS[1]
    assert "mathdefault" not in svg
    assert "<!-- 1,000 -->" in svg
