"""Comparisons on Gymnasium environments: cases as data, rows in the same store, pages from rows."""

import dataclasses
from pathlib import Path

import pytest

from isl.cli.main import main
from isl.errors import DamagedFile, UsageError
from isl.paper import cases, page, table, trials
from isl.paper.cases import COMPARISONS, CONTROL, OURS, Case, Comparison
from isl.paper.table import Trial

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TINY = [
    Case("lake", "FrozenLake-v1", 200, 0.0, {"is_slippery": False}),
    Case("scaled", "FrozenLake-v1", 2_000, options={"is_slippery": False}, factor=100.0),
]


def trial(seed=0, **changes):
    """A run of the untuned table, with some columns changed."""
    values = {
        "env": "FrozenLake8x8-v1", "factor": 1.0, "agent": OURS[0], "preset": OURS[1],
        "seed": seed, "steps": 30_000, "final_return": 0.5, "threshold_at": None, "curve": "",
        "seconds": 30.0, "isl": "0.1.0", "commit": "abcdef012345", "jax": "0.10.2", "cpu": "any",
    }  # fmt: skip
    return Trial(**(values | changes))


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    small = Comparison(TINY, (CONTROL,), (0,), (["lake"], ["scaled"]), quick="lake")
    monkeypatch.setitem(COMPARISONS, "untuned", small)
    monkeypatch.setattr(trials, "LAST_EPISODES", 2)
    monkeypatch.setattr(trials, "EPISODES", 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def isl(words):
    return main(words.split())


def test_rows_accumulate_pages_follow_and_repeating_does_nothing(tiny, capsys, monkeypatch):
    (tiny / "r").mkdir()
    marks = "<!-- begin untuned {} -->\n<!-- end -->\n"
    (tiny / "r/page.md").write_text(marks.format("final_returns") + marks.format("curves"))
    assert isl("reproduce untuned --cost --record r") == 0
    assert "2 left: about 0s at the pace of earlier rows, and 2 runs of unknown" in (
        capsys.readouterr().out
    )
    assert isl("reproduce untuned --tranche 1 --record r") == 0
    (lake,) = table.read_kind(tiny / "r/untuned.csv", Trial)
    assert (lake.env, lake.agent, lake.preset, lake.steps) == ("lake", "dqn", "matched", 200)
    assert lake.final_return is not None
    assert lake.threshold_at == 20  # any return reaches 0 at the first evaluation
    assert lake.jax
    assert isl("reproduce untuned --record r") == 0
    _, scaled = table.read_kind(tiny / "r/untuned.csv", Trial)
    assert scaled.final_return is None
    assert len(scaled.curve.split()) == trials.PARTS
    assert all(-1 <= float(mean) <= 1 for mean in scaled.curve.split())  # without the factor
    text = (tiny / "r/page.md").read_text()
    assert f"| lake | 200 | dqn | 1 | {lake.final_return:g} | 0: 20 |  |" in text
    assert f"| scaled | 0 | 100 | dqn | {scaled.curve} |" in text
    monkeypatch.setattr(trials, "run_trial", lambda *_: pytest.fail("everything has a row"))
    assert isl("reproduce untuned --record r") == 0


def test_a_spent_budget_starts_nothing_more_and_conflicts_are_told(tiny, capsys, monkeypatch):
    made = [trial(seed, env=case.name, steps=case.steps) for seed, case in enumerate(TINY)]
    monkeypatch.setattr(trials, "run_trial", lambda case, *_: made[TINY.index(case)])
    assert isl("reproduce untuned --record r --max-core-hours 1e-6") == 130
    assert table.read_kind(tiny / "r/untuned.csv", Trial) == made[:1]
    other = made[1]._replace(final_return=7.0)
    table.add(tiny / "r/untuned.csv", [other])
    assert isl("reproduce untuned --tranche 2 --record r") == 1
    assert "another result of this run, which stays" in capsys.readouterr().out
    assert other in table.read_kind(tiny / "r/untuned.csv", Trial)


@pytest.mark.parametrize(
    "wrong", ["--workers 2", "--cores 4", "--executor ray", "--tranche 9", "--quick --tranche 1"]
)
def test_options_without_effect_are_refused(tiny, capsys, wrong):
    assert isl(f"reproduce untuned {wrong}") == 2
    assert capsys.readouterr().err.count("\n") == 1


def missing_of(name, rows):
    """What was asked for and has no row, where what is Seeker now was ISL with `auto` in 0.1."""
    wanted = COMPARISONS[name].chosen(False, None)
    older = [(case, ("isl", "auto") if who == OURS else who, seed) for case, who, seed in wanted]
    return trials.missing(older, rows)


def test_the_recorded_tables_are_read_and_complete():
    untuned = table.read_kind(RESULTS / "untuned.csv", Trial)
    assert len(untuned) >= 90
    assert not missing_of("untuned", untuned)
    assert not missing_of("reward_scale", table.read_kind(RESULTS / "reward_scale.csv", Trial))
    (taxi,) = [row for row in untuned if (row.env, row.agent, row.seed) == ("Taxi-v4", "isl", 4)]
    assert (taxi.final_return, taxi.threshold_at, taxi.seconds) == (-35.84, 48_000, 38.7)
    assert page.update(RESULTS, table.read_folder(RESULTS)) == []


def test_damage_in_a_table_of_trials_is_named(tmp_path):
    path = tmp_path / "untuned.csv"
    table.add(path, [trial()])
    assert table.read_kind(path, Trial) == [trial()]
    good = path.read_text()
    for wrong, reason in ((good.replace("30000", "0"), "at least one step"),
                          (good.replace("0.5,,,", "0.5,,1 x,"), "could not convert"),
                          (good.replace("env", "task"), "other columns")):  # fmt: skip
        path.write_text(wrong)
        with pytest.raises(DamagedFile, match=reason):
            table.read_kind(path, Trial)


def test_an_agent_is_compared_with_the_control():
    case = Case("FrozenLake8x8-v1", "FrozenLake8x8-v1", 30_000, 0.5)
    older = {"agent": "isl", "preset": "auto"}
    ours = [trial(seed, final_return=0.9, threshold_at=6000, **older) for seed in range(3)]
    newer = [trial(seed, final_return=0.1, agent="seeker", preset="") for seed in range(3)]
    control = [trial(seed, agent="dqn", preset="matched", final_return=0.2) for seed in range(3)]
    pytest.importorskip("rliable")
    lines = page.final_returns([*control, *ours, *newer], [case]).splitlines()[2:]
    assert [line.split(" | ")[2] for line in lines] == ["isl", "seeker", "dqn"]
    assert "| 0.9 0.9 0.9 | 0.5: 6000 6000 6000 | 1.00 [1.00, 1.00] |" in lines[0]
    assert "never never never | 0.00 [0.00, 0.00] |" in lines[1]
    short = dataclasses.replace(case, steps=10)
    assert page.final_returns(ours, [short]).count("\n") == 1  # rows of another budget are not its


def test_a_case_wraps_and_scales_and_names_what_is_missing():
    env = TINY[1].make()
    env.reset(seed=0)
    down, right = 1, 2
    rewards = [env.step(action)[1] for action in (down, down, right, right, down, right)]
    assert rewards == [0, 0, 0, 0, 0, 100.0]
    flat = Case("f", "CartPole-v1", 10, wrappers=("gymnasium.wrappers:FlattenObservation",)).make()
    assert type(flat).__name__ == "FlattenObservation"
    with pytest.raises(UsageError, match="odd needs the package nowhere"):
        Case("odd", "CartPole-v1", 10, wrappers=("nowhere:Wrapper",)).make()
    with pytest.raises(UsageError, match="odd needs the package nowhere"):
        Case("odd", "nowhere:CartPole-v1", 10).make()


def test_the_control_has_the_same_networks_and_rates():
    case = cases.UNTUNED[0]
    ours = trials.model_of(case, OURS, 0, case.make()).config
    control = trials.model_of(case, CONTROL, 0, case.make()).config
    for name in trials.SHARED:
        if name != "lr_codes":  # it is the rate of tables, and this is a vector
            assert getattr(control, name) == getattr(ours, name), name
    assert control.lr == ours.lr_q
    assert control.epsilon_steps == case.steps // 10
