"""Models trained on cases: rows in the same store as those of runs, pages from rows."""

import dataclasses
import sys
from pathlib import Path

import pytest
from gymnasium.utils.env_checker import check_env

from isl.cli.main import main
from isl.errors import DamagedFile, UsageError
from isl.model import Seeker
from isl.model.evaluation import evaluate_compiled
from isl.paper import cases, page, table, trials
from isl.paper.cases import Case
from isl.paper.comparisons import COMPARISONS, CONTROL, OURS, Comparison, Contestant, Tranche
from isl.paper.trial import Trial
from isl.paper.variants import Variant
from tests.support.trials import stay_here, trial

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TINY = [
    Case("lake", "FrozenLake-v1", 200, 0.0, {"is_slippery": False}, looks=1, last_look=2),
    Case("scaled", "FrozenLake-v1", 2_000, options={"is_slippery": False}, factor=100.0),
]


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    tranches = [Tranche([case], (CONTROL,), (0,)) for case in TINY]
    monkeypatch.setitem(COMPARISONS, "untuned", Comparison(tranches, tranches[0]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def isl(words):
    return main(words.split())


def test_rows_accumulate_pages_follow_and_repeating_does_nothing(tiny, capsys, monkeypatch):
    stay_here(monkeypatch)
    (tiny / "r").mkdir()
    marks = "<!-- begin untuned {} -->\n<!-- end -->\n"
    (tiny / "r/page.md").write_text(marks.format("final_returns") + marks.format("curves"))
    assert isl("reproduce untuned --cost --record r") == 0
    assert "2 left: about 0s of a core at the pace of earlier rows, and 2 runs of unknown" in (
        capsys.readouterr().out
    )
    assert isl("reproduce untuned --tranche 1 --record r") == 0
    (lake,) = table.read_kind(tiny / "r/untuned.csv", Trial)
    assert (lake.env, lake.agent, lake.preset, lake.steps) == ("lake", "stable_dqn", "", 200)
    assert lake.final_return is not None
    assert lake.random_return is not None
    assert lake.threshold_at == 20  # any return reaches 0 at the first evaluation
    assert lake.jax
    assert isl("reproduce untuned --record r") == 0
    _, scaled = table.read_kind(tiny / "r/untuned.csv", Trial)
    assert scaled.final_return is None
    assert len(scaled.points) == trials.PARTS
    assert all(-1 <= mean <= 1 for mean in scaled.points)  # without the factor
    assert 0 <= scaled.value_ratio < 100  # a mean value of stored observations, over 100 or so
    text = (tiny / "r/page.md").read_text()
    assert f"| lake | 200 steps | stable_dqn | 1 | {lake.final_return:g} |" in text
    assert f"| scaled | 0 | 100 | stable_dqn | {scaled.curve} |" in text
    assert {path.name for path in (tiny / "r").glob("untuned.*g")} == {"untuned.svg", "untuned.png"}
    stay_here(monkeypatch, lambda *_: pytest.fail("everything has a row"))
    assert isl("reproduce untuned --record r") == 0


def test_a_spent_budget_starts_nothing_more_and_conflicts_are_told(tiny, capsys, monkeypatch):
    made = [
        trial(0, env=case.name, factor=case.factor, agent=CONTROL.agent, steps=case.steps)
        for case in TINY
    ]
    stay_here(monkeypatch, lambda case, *_: made[TINY.index(case)])
    assert isl("reproduce untuned --record r --max-core-hours 1e-6") == 130
    assert table.read_kind(tiny / "r/untuned.csv", Trial) == made[:1]
    other = made[1]._replace(final_return=7.0)

    def overtaken(*_):
        table.add(tiny / "r/untuned.csv", [other])  # by another command, meanwhile
        return made[1]

    stay_here(monkeypatch, overtaken)
    assert isl("reproduce untuned --tranche 2 --record r") == 1
    assert "another result of this run, which stays" in capsys.readouterr().out
    assert other in table.read_kind(tiny / "r/untuned.csv", Trial)


def test_a_run_that_another_comparison_has_is_not_done_again(tiny, capsys, monkeypatch):
    done = trial(0, env="lake", agent=CONTROL.agent, steps=200)
    table.add(tiny / "r/seeker_ablation.csv", [done])
    stay_here(monkeypatch, lambda *_: pytest.fail("it has a row"))
    assert isl("reproduce untuned --tranche 1 --record r") == 0
    assert "1 rows are those of other comparisons" in capsys.readouterr().out
    assert table.read_kind(tiny / "r/untuned.csv", Trial) == [done]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("--workers 0", "--workers must be at least 1"),
        ("--cores 4", "leave out --cores"),
        ("--executor ray", "leave out --cores and the executor"),
        ("--tranche 9", "the tranches 1 to 2"),
        ("--quick --tranche 1", "not allowed"),
        ("--cases laek", "did you mean 'lake'"),
        ("--agents dqn", "no agent 'dqn' among these runs"),
        ("--check 1 --agents stable_dqn", "leave out --cases and --agents"),
    ],
)
def test_options_without_effect_are_refused(tiny, capsys, wrong, said):
    assert isl(f"reproduce untuned {wrong}") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err


def test_the_recorded_tables_are_read_and_belong_to_their_cases():
    for name in COMPARISONS:
        rows = table.read_kind(RESULTS / f"{name}.csv", Trial)
        wanted = {trials.key_of(*each) for each in COMPARISONS[name].chosen()}
        assert {row.key for row in rows} <= wanted
    assert page.update(RESULTS, table.read_folder(RESULTS)) == []


def test_damage_in_a_table_of_trials_is_named(tmp_path):
    path = tmp_path / "untuned.csv"
    table.add(path, [trial()])
    assert table.read_kind(path, Trial) == [trial()]
    good = path.read_text()
    for wrong, reason in ((good.replace("30000", "0"), "at least one step"),
                          (good.replace("0.5,,,", "0.5,,1 x,"), "could not convert"),
                          (good.replace("env", "task"), "other columns"),
                          (good.replace(",curve", ""), "other columns")):  # fmt: skip
        path.write_text(wrong)
        with pytest.raises(DamagedFile, match=reason):
            table.read_kind(path, Trial)


def test_a_table_without_later_columns_is_read_and_grows(tmp_path):
    path = tmp_path / "untuned.csv"
    path.write_text(
        "env,factor,agent,preset,seed,steps,final_return,threshold_at,curve,seconds,isl,commit,jax,"
        "cpu\nFrozenLake8x8-v1,1.0,seeker,,0,30000,0.5,,,30.0,0.1.0,abcdef012345,0.10.2,any\n"
    )
    assert table.read_kind(path, Trial) == [trial()]
    table.add(path, [trial(1, variant="no_averaging", value_ratio=1.5, diverged_at=7)])
    assert [row.value_ratio for row in table.read_kind(path, Trial)] == [None, 1.5]
    assert path.read_text().startswith(",".join(Trial._fields))


def test_a_case_wraps_and_scales_and_names_what_is_missing(monkeypatch):
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
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(UsageError, match=r"box2d, which is not installed: pip install 'isl\[box2d"):
        cases.LANDER.check_installed()


def test_the_control_has_the_same_networks_and_rates():
    case = cases.VECTORS[0]
    ours, control = (trials.model_of(who, 0, case.make()).config for who in (OURS, CONTROL))
    shared = ("gamma", "hidden", "batch_size", "replay_capacity", "learning_starts", "lr")
    for name in (*shared, "steps", "updates", "target_period", "averaging"):
        assert getattr(control, name) == getattr(ours, name), name


@pytest.mark.parametrize(("name", "best"), [("Knobs", 0.91), ("Keys", 0.984)])
def test_the_best_return_of_the_grids_is_what_the_cases_say(name, best):
    (case,) = [case for case in cases.UNTUNED if case.name == name]
    env = case.make()
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        right = [2, 2] if name == "Knobs" else env.unwrapped._right[env.unwrapped._at]
        _, reward, over, cut, _ = env.step(right)
        assert not cut
        total += reward
    assert total == pytest.approx(best)
    assert case.threshold < total


def test_a_compiled_task_is_trained_for_episodes_in_the_compiled_loop():
    case = Case("sea", "deep_sea/4", 160, 0.5, episodes=40, measure="median", looks=3, last_look=3)
    model = trials.model_of(OURS, 0, case.learnt_in())
    assert model._attached.kind == "compiled"
    found = trials.Measurements(case)
    trials._train(model, found)
    assert len(found.curve) == trials.PARTS
    assert model.episodes.finished >= 40
    assert found.curve[-1] == evaluate_compiled(model, 3).mean  # the task draws nothing
    with pytest.raises(UsageError, match="no compiled task"):
        evaluate_compiled(Seeker("FrozenLake-v1"), 3)


def test_what_is_left_after_divergence_is_measured(monkeypatch):
    def diverge(self, *_, **__):
        self.num_timesteps += 7
        raise FloatingPointError

    monkeypatch.setattr(Seeker, "learn", diverge)
    row = trials.run_trial(TINY[0], OURS, 0)
    assert row.diverged_at == 7
    assert len(row.points) == trials.PARTS
    assert row.value_ratio is None


def test_variants_are_options_or_agents_of_their_own(monkeypatch):
    case = TINY[0]
    monkeypatch.setitem(
        trials.VARIANTS, "other", Variant("all", {"diverge_at": 3}, "tests.support.counting_agent")
    )
    model = trials.model_of(Contestant("seeker", variant="other"), 0, case.make())
    assert model.agent_name == "tests.support.counting_agent"
    whole = trials.model_of(OURS, 0, case.make()).config
    greedy = trials.model_of(
        Contestant("seeker", variant="no_greedy_episodes"), 0, case.make()
    ).config
    assert greedy == dataclasses.replace(whole, greedy_share=0.0)


@pytest.mark.parametrize("variant", trials.VARIANTS)
def test_every_variant_can_be_made(variant):
    for case in cases.ABLATED[1:]:
        trials.model_of(Contestant("seeker", variant=variant), 0, case.learnt_in())
