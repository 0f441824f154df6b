"""What tables of results say in few numbers, in figures and on pages."""

import math
import re

import pytest

from isl.errors import UsageError
from isl.paper import figures, page
from isl.paper.summary import cells, chosen, exponents, who
from tests.support.results import row, sea, swingup


@pytest.fixture
def rows():
    made = []
    for size in (10, 20, 30):
        made += sea(size, "isl", [20 * size, 21 * size, 23 * size])
        made += sea(size, "boot_dqn", [size**2, 2 * size**2, None if size == 30 else size**2])
        made += sea(size, "dqn", [None, None], budget=2_000)
    made += sea(30, "isl", [700, None, None], variant="ell_bias=true")
    for n in (0, 10):
        made += swingup(n, "isl", [900.0 - n, 800.0, 700.0])
        made += swingup(n, "sbeed", [0.0, 0.0])
    made += swingup(10, "isl", [500.0, 400.0], variant="kappa=52.0")
    made += swingup(10, "isl", [450.0, 410.0], variant="kappa=208.0")
    made += swingup(10, "isl", [300.0, -5.0], variant="eta2=1.0", status="diverged")
    return made


def test_cells(rows):
    found = {(c.agent, c.variant, c.size): c for c in cells(rows, "deep_sea")}
    assert [c.agent for c in cells(rows, "deep_sea")][::4] == ["isl", "boot_dqn", "dqn"]
    bsp = found["boot_dqn", "", 30]
    assert (bsp.seeds, bsp.solved, bsp.budget) == (3, 2, 10_000)
    assert bsp.episodes == (1350, 1800, math.inf)
    assert found["dqn", "", 10].episodes.median == math.inf
    assert found["isl", "ell_bias=true", 30].solved == 1
    (best,) = [c for c in cells(rows, "cartpole_swingup") if c.variant == "eta2=1.0"]
    assert best.diverged == 2
    assert best.best_return.median == 147.5


def test_of_two_budgets_the_longer_one_counts():
    """A run that was first cut off and then done in full is one run."""
    short, full = row(0, budget=2_000, solved_episode=None), row(0, solved_episode=5_000)
    assert chosen([short, full], "deep_sea") == chosen([full, short], "deep_sea") == [full]


def test_exponents_tell_linear_from_square_and_from_nothing(rows):
    found = exponents([*rows, *sea(100, "isl", [None] * 3)], "deep_sea")
    linear, square = found["isl", ""], found["boot_dqn", ""]
    assert linear.b == pytest.approx(1.0, abs=0.01)  # N = 100 is beyond the paper's sizes
    assert square.low < 2.1 < square.high
    assert square.b > 1.8
    assert square.censored == 1
    assert found["dqn", ""] is None
    assert [who(*key) for key in found] == ["ISL", "ISL ell_bias=true", "BSP", "DQN (control)"]


def test_exponents_of_the_large_sizes_alone():
    flat = [run for size in (10, 20) for run in sea(size, "isl", [300, 301, 302])]
    steep = [run for size in (30, 40, 50) for run in sea(size, "isl", [size**2, size**2 + 1])]
    assert exponents([*flat, *steep], "deep_sea")["isl", ""].b < 1.9
    assert exponents([*flat, *steep], "deep_sea", 30)["isl", ""].b == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_are_the_same_for_the_same_rows(rows, tmp_path, name):
    if name == "deep_sea_stochastic":
        rows = [r._replace(task=r.task.replace("deep_sea/", "deep_sea_stochastic/")) for r in rows]
    first = figures.draw(name, rows, tmp_path / "a")
    again = figures.draw(name, rows[::-1], tmp_path / "b")
    assert [path.name for path in first] == [f"{name}.svg", f"{name}.png"]
    for one, two in zip(first, again, strict=True):
        assert one.read_bytes() == two.read_bytes()
    if "deep_sea" in name:
        fewer = [r for r in rows if r.agent != "dqn"]
    else:
        fewer = [r for r in rows if r.variant != "kappa=52.0" and r.agent != "sbeed"]
    other = figures.draw(name, fewer, tmp_path / "c")
    assert other[0].read_bytes() != first[0].read_bytes()
    assert figures.draw(name, [], tmp_path / "d") == []


def test_few_seeds_are_drawn_one_by_one_and_many_as_a_band(tmp_path):
    for best in ([700.0, 800.0, 900.0], [700.0, 800.0, 900.0, 800.0, 850.0]):
        rows = swingup(0, "isl", best) + swingup(10, "isl", best)
        drawing, _ = figures.draw("cartpole_swingup", rows, tmp_path)
        bands = drawing.read_text(encoding="utf-8").count("FillBetweenPolyCollection")
        assert bands == (len(best) == 5)


def test_a_setting_made_at_all_sizes_has_a_curve_of_its_own(rows, tmp_path):
    for size in (10, 20, 30):
        rows += sea(size, "isl", [9 * size, 10 * size], variant="lr_codes=0.001")
    drawing, _ = figures.draw("deep_sea", rows, tmp_path)
    labels = re.findall(r"<!-- (.*), ∝", drawing.read_text(encoding="utf-8"))
    assert labels == ["ISL", "ISL, tables, rate 0.001", "BSP"]  # but not ell_bias=true, at one size


def test_pages_are_filled_between_their_marks(rows, tmp_path):
    path = tmp_path / "deep-sea.md"
    text = "# Title\n\n<!-- begin deep_sea solved -->\nold\n<!-- end -->\n\nBy hand.\n"
    path.write_text(text + "<!-- begin deep_sea exponents -->\n<!-- end -->\n")
    assert page.update(tmp_path, rows) == [path]
    lines = path.read_text().splitlines()
    assert "| N | ISL | BSP | DQN (control) |" in lines
    assert "| 30 | 3/3: 630 (615 to 660) | 2/3: 1800 (1350 to >10000) | 0/2 in 2,000 |" in lines
    assert "| DQN (control) | too few solved runs | too few solved runs |" in lines
    assert "old" not in lines
    assert "By hand." in lines
    assert page.update(tmp_path, rows) == []  # nothing to change the second time
    with pytest.raises(UsageError, match="asks for 'solve'"):
        page.filled("<!-- begin deep_sea solve -->\n<!-- end -->", rows, {})


def test_blocks_of_variants_returns_and_origin(rows):
    variants = page.variants(rows, "cartpole_swingup").splitlines()[2:]
    assert variants[0] == "| ISL | preset | 10 | 890, 800, 700 |"
    assert "| ISL | eta2=1.0 | 10 | 300, -5; 2/2 diverged |" in variants
    assert [line.split(" | ")[1] for line in variants[-2:]] == ["kappa=52.0", "kappa=208.0"]
    seas = page.variants(rows, "deep_sea").splitlines()
    assert seas[0] == "| N | ISL | ISL ell_bias=true |"
    assert seas[2:] == ["| 30 | 3/3: 630 (615 to 660) | 1/3: >10000 (>10000 to >10000) |"]
    returns = page.returns(rows, "cartpole_swingup")
    assert "| 0 | 900, 800, 700 | 0, 0 |" in returns
    hard = swingup(19, "isl", [-4.3, -0.4, 0.0])
    assert "| 19 | -4.3, -0.4, 0 |" in page.returns(hard, "cartpole_swingup")
    many = swingup(0, "isl", [100.0, 200.0, 300.0, 400.0, 500.0])
    assert "| 0 | 300 (200 to 400) [5] |" in page.returns(many, "cartpole_swingup")
    origin = page.origin(rows, "deep_sea")
    assert origin.startswith("27 runs, ")
    assert "27 with JAX 0.10.2 on AMD, of some kind, commit abcdef012345" in origin
