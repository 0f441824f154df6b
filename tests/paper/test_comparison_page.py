"""Tables and curves of a comparison, from rows."""

import dataclasses

import pytest

from isl.paper import comparison_figure, comparison_page, table
from isl.paper.cases import Bar, Case, swing_up
from isl.paper.comparisons import CONTROL
from isl.paper.trial import Trial
from tests.support.trials import trial

CASE = Case("FrozenLake8x8-v1", "FrozenLake8x8-v1", 30_000, 0.5, bar=Bar(mean=0.5, of=3))


def rows(agent="seeker", **changes):
    return [trial(seed, agent=agent, **changes) for seed in range(3)]


def cells(text):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]


def test_seeker_is_compared_with_every_agent():
    pytest.importorskip("rliable")
    ours = rows(final_return=0.9, threshold_at=6000)
    worse, control = rows("dqn", final_return=0.1), rows(CONTROL.agent, final_return=0.95)
    table = cells(comparison_page.final_returns([*worse, *control, *ours], [CASE]))
    assert [line[2] for line in table] == ["seeker", "stable_dqn", "dqn"]
    assert table[0][4:7] == ["0.9 0.9 0.9", "0.9", "0.5: 6000 6000 6000"]
    assert [line[-1] for line in table] == ["", "0.00 [0.00, 0.00]", "1.00 [1.00, 1.00]"]
    (_, alone) = cells(comparison_page.final_returns([ours[0], worse[0]], [CASE]))
    assert alone[-1] == "1.00"  # one seed has no interval
    short = dataclasses.replace(CASE, steps=10)
    assert cells(comparison_page.final_returns(ours, [short])) == []  # rows of another budget


def test_bars_say_what_was_kept_and_how_large_values_were():
    ours = [
        trial(0, curve="0.5 1 0.95", final_return=0.95, value_ratio=0.5),
        trial(1, curve="0.5 1 0.6", final_return=0.6, value_ratio=2.25, random_return=0.1),
        trial(2, curve="0.1 0.1 0.1", final_return=0.1, value_ratio=None),
    ]
    assert [row.kept(0.1) for row in ours] == [
        pytest.approx(0.85 / 0.9),
        pytest.approx(5 / 9),
        None,
    ]
    (line,) = cells(comparison_page.bars(ours, [CASE]))
    assert line[2:] == ["mean ≥ 0.5", "0.95 0.6 0.1", "yes", "1 of 3", "**2.25**"]
    (line,) = cells(comparison_page.bars(ours[:1], [CASE]))
    assert line[4:] == ["1 of 3 seeds", "", "0.50"]  # nobody knows what random actions get
    gone = [*ours[:2], ours[2]._replace(diverged_at=500)]
    (line,) = cells(comparison_page.bars(gone, [CASE]))
    assert line[3] == "0.95 0.6 0.1×"
    assert line[6] == "not finite"
    beside = dataclasses.replace(CASE, bar=Bar(of=3, beside=("stable_dqn",)))
    (line,) = cells(comparison_page.bars(ours, [beside]))
    assert line[4] == "not compared yet"


def test_an_ablation_is_a_line_per_variant():
    case = swing_up(0, episodes=300)
    own = {"env": case.name, "steps": case.steps, "final_return": 700.0, "curve": "0 700"}
    whole = [trial(seed, **own, random_return=-20.0, value_ratio=1.0) for seed in range(2)]
    part = trial(0, **own | {"variant": "no_averaging", "final_return": 3.0, "curve": "9 3"})
    text = comparison_page.ablations([*whole, part], [CASE, case])
    assert text.splitlines()[0].endswith("| cartpole_swingup/0, 300 episodes |")
    assert cells(text) == [
        ["nothing", "", "700 700; kept 2 of 2; values 1.00"],
        ["averaged parameters", "", "3; kept 0 of 1; values"],
    ]


def test_curves_are_drawn_alike_for_equal_rows(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    own = {"env": "CartPole-v1", "agent": "seeker", "final_return": 500.0}
    some = [
        trial(0, **own, curve="10 500"),
        trial(1, **own, curve="30 100"),
        trial(0, **own | {"agent": "sb3_ppo"}, curve="20 200"),
    ]
    case = Case("CartPole-v1", "CartPole-v1", 30_000, 475)
    (chart,) = comparison_figure.charts_of(some, [case])
    seeker, peer = chart.series
    assert (seeker.name, peer.name) == ("Seeker", "SB3 PPO")
    assert (seeker.x, seeker.y) == ([15_000, 30_000], [20, 300])
    assert (seeker.low, seeker.high) == ([10, 100], [30, 500])
    assert comparison_figure.name_in_figures("seeker:no_averaging") == "Seeker, no averaging"
    assert comparison_figure.draw("untuned", tmp_path) == []
    table.add(tmp_path / "untuned.csv", some)
    first = [path.read_bytes() for path in comparison_figure.draw("untuned", tmp_path)]
    again = [path.read_bytes() for path in comparison_figure.draw("untuned", tmp_path)]
    assert len(first) == 2
    assert first == again
    assert table.read_kind(tmp_path / "untuned.csv", Trial)
