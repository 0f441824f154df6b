"""The image files: axes that say something however few the values, and no image without a chart."""

import pytest

from isl.report import canvas
from isl.report.charts import Chart, Series
from isl.report.figures import draw_lines, write_all


def labels(chart):
    """What is written along the axes, as drawn."""
    with canvas.drawing():
        figure = canvas.figure(6.4, 3.6)
        axes = figure.subplots()
        draw_lines(axes, chart, bounds=True)
        figure.canvas.draw()
    shown = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        shown.append([text.get_text() for place, text in ticks if low <= place <= high])
    return shown


def chart_of(points, **more):
    line = Series("isl", 0)
    for x, y in points:
        line.add(x, y, y, y)
    return Chart("id", "t", "c", "x", "y", [line], **more)


@pytest.mark.parametrize(
    ("points", "more"),
    [
        ([(20, 0.99)], {"whole_x": True}),
        ([(20, 0.99), (30, 0.990001)], {"whole_x": True}),
        ([(0, 0)], {"whole_x": True}),
        ([(1, 348)], {"whole_x": True, "log_y": True, "whole_y": True, "bars": True}),
        ([(0, 600)], {"categories": ["isl"], "log_y": True, "ceiling": 600.0}),
        ([(1, 5.0), (2, 5.0)], {"whole_x": True, "range_y": (5.0, 5.0)}),
        ([(20, 1.0), (50, 2.0)], {"ticks_x": [20.0, 50.0], "bars": True}),
    ],
)
def test_one_size_and_one_value_have_round_and_distinct_ticks(points, more):
    along_x, along_y = labels(chart_of(points, **more))
    for shown in (along_x, along_y):
        assert len(set(shown)) == len(shown)
        assert 1 <= len(shown) <= 9
        assert all(len(text) <= 8 for text in shown)
    assert len(along_y) > 1
    if more.get("whole_x"):
        assert all(float(text) == int(float(text)) for text in along_x)
    if "ticks_x" in more:
        assert along_x == ["20", "50"]
    if "categories" in more:
        assert along_x == ["isl"]


def test_an_image_of_an_earlier_report_does_not_stay(tmp_path):
    old, mine = tmp_path / "solved-lock.svg", tmp_path / "notes.svg"
    old.touch()
    mine.touch()
    chart = chart_of([(1, 1.0)])
    write_all({"best-deep_sea": [chart]}, tmp_path)
    assert not old.exists()
    assert mine.exists()
    assert (tmp_path / "best-deep_sea.svg").exists()
