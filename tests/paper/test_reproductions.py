from functools import lru_cache

import pytest

from isl.cli.main import main
from isl.errors import UsageError
from isl.paper.reproductions import REPRODUCTIONS, jobs


@lru_cache
def runs(name, quick):
    return [(job.spec, seed) for job in jobs(name, quick) for seed in job.seeds]


def test_the_papers_scale():
    sea = runs("deep_sea", quick=False)
    assert len(sea) == 21 * 5 * 10
    assert {spec.task for spec, _ in sea} == {f"deep_sea/{n}" for n in range(10, 51, 2)}
    assert all(spec.until_solved and spec.episodes == 10_000 for spec, _ in sea)
    assert len(runs("cartpole_swingup", quick=False)) == 20 * 5 * 10


def test_the_ablation_moves_one_hyper_parameter_at_a_time():
    found = {spec.task: [] for spec, _ in runs("ablation", quick=False)}
    for spec, seed in runs("ablation", quick=False):
        if seed == 0:
            found[spec.task].append(tuple(spec.hyper[n] for n in ("kappa", "eta1", "eta2")))
    preset = (13, 0.8, 0.7)
    for settings in found.values():
        # Nine κ, eleven η₁ and eleven η₂, of which the preset's own is in all three.
        assert len(settings) == len(set(settings)) == 9 + 11 + 11 - 2
        assert all(sum(a != b for a, b in zip(s, preset, strict=True)) <= 1 for s in settings)
        assert {s[0] for s in settings} == {13 * 2.0**k for k in range(-4, 5)}


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_the_quick_version_is_small_and_covers_every_agent(name):
    quick, full = runs(name, quick=True), runs(name, quick=False)
    assert len(quick) <= 50
    assert {spec.agent for spec, _ in quick} == {spec.agent for spec, _ in full}


def test_an_unknown_figure_is_one_line(capsys):
    assert main(["reproduce", "deep_see"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_tranches_are_parts_of_the_figure_cheap_ones_first():
    first = jobs("deep_sea", tranche=1)
    assert len(first) == 21 * 10
    # Seed by seed over all sizes, so that a tranche that is stopped has tried all of them.
    assert [job.seeds for job in first[:22]] == [(0,)] * 21 + [(1,)]
    assert [job.spec.task for job in first[:3]] == ["deep_sea/10", "deep_sea/12", "deep_sea/14"]
    # What is done for a tranche counts for the whole figure.
    whole = {(job.program, job.seeds) for job in jobs("deep_sea")}
    assert {(job.program, job.seeds) for job in first} <= whole
    assert {(job.program, job.seeds) for job in jobs("deep_sea", tranche=2)} <= whole
    capped = jobs("deep_sea", tranche=3)
    assert {job.spec.episodes for job in capped} == {2_000}
    biased = {tuple(job.spec.hyper[n] for n in ("ell_bias", "ell_ensemble"))
              for job in jobs("deep_sea", tranche=4)}  # fmt: skip
    assert biased == {(True, 1), (True, 2)}
    with pytest.raises(UsageError, match="tranches 1 to 7, got 8"):
        jobs("cartpole_swingup", tranche=8)
