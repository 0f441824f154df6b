"""Who is compared on what: tranches, filters and bars."""

import pytest

from isl.errors import UsageError
from isl.paper.cases import LANDER, SWING_UPS, UNTUNED, Bar
from isl.paper.comparisons import COMPARISONS, PEERS, key_of, name_of

UNTUNED_RUNS = COMPARISONS["untuned"]


@pytest.mark.parametrize("name", COMPARISONS)
def test_tranches_are_parts_that_do_not_overlap(name):
    whole = [key_of(*run) for run in COMPARISONS[name].chosen()]
    parts = [
        key_of(*run)
        for number in range(1, len(COMPARISONS[name].tranches) + 1)
        for run in COMPARISONS[name].chosen(tranche=number)
    ]
    assert whole == parts
    assert len(set(whole)) == len(whole)
    assert COMPARISONS[name].chosen(quick=True)


def test_seeker_and_its_control_are_on_every_case_with_all_seeds():
    runs = UNTUNED_RUNS.chosen()
    for case in UNTUNED:
        for agent in ("seeker", "stable_dqn"):
            seeds = [r.seed for r in runs if (r.case, name_of(r.contestant)) == (case, agent)]
            assert sorted(seeds) == list(range(3 if case is LANDER else 5))
    on_swing_up = {run.contestant.agent for run in runs if run.case in SWING_UPS}
    assert not on_swing_up & set(PEERS)
    assert {run.seed for run in runs if run.contestant.agent in PEERS} == {0, 1, 2}


def test_runs_are_chosen_by_case_agent_and_variant():
    runs = UNTUNED_RUNS.chosen(cases=["Knobs", "Keys"], agents=["seeker"])
    assert [(run.case.name, run.seed) for run in runs] == [
        (name, seed) for name in ("Knobs", "Keys") for seed in range(5)
    ]
    ablated = COMPARISONS["seeker_ablation"].chosen(agents=["seeker", "seeker:no_averaging"])
    assert {name_of(run.contestant) for run in ablated} == {"seeker", "seeker:no_averaging"}
    assert {run.case.episodes for run in ablated} == {None, 300}
    with pytest.raises(UsageError, match="did you mean 'seeker:no_averaging'"):
        COMPARISONS["seeker_ablation"].chosen(agents=["no_averaging"])


@pytest.mark.parametrize(
    ("bar", "finals", "others", "met"),
    [
        (Bar(mean=475, each=450), [500, 500, 500, 500, 449], {}, False),
        (Bar(mean=475, each=450), [475, 500, 500, 500, 450], {}, True),
        (Bar(mean=475, each=450), [475, 500], {}, None),
        (Bar(each=700, on=4), [700, 700, 700, 700, 0], {}, True),
        (Bar(each=700, on=4), [700, 700, 700, 0, 0], {}, False),
        (Bar(of=3, beside=("a",)), [1, 2, 3], {"a": [2, 2]}, True),
        (Bar(of=3, beside=("a",)), [1, 2, 3], {"a": [2.1]}, False),
        (Bar(of=3, beside=("a", "b")), [1, 2, 3], {"a": [2]}, None),
    ],
)
def test_a_bar_is_met_missed_or_open(bar, finals, others, met):
    assert bar.met(finals, others) is met


def test_bars_in_words():
    assert Bar(mean=-95, each=-110).text == "mean ≥ -95, every seed ≥ -110"
    assert Bar(each=7, on=4).text == "≥ 7 on 4 of 5"
    assert Bar(beside=("a", "b")).text == "mean not below that of a or b"
