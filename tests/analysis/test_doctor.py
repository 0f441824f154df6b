"""The doctor: runs broken on purpose get the right name, a healthy one gets none."""

from __future__ import annotations

import math

import pytest

from isl.analysis import doctor
from isl.cli.main import main
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.storage import run_folder, tensorboard

pytestmark = pytest.mark.slow  # trains a run for each fault

SMALL = {"batch_size": 32, "learning_starts": 64, "replay_capacity": 20_000, "hidden": [16]}
QUICK = {"lr_q": 3e-3, "lr_rho": 3e-3, "lr_ell": 3e-3}  # a small Deep Sea in a short time

# Without discount, and without an end that it can reach: there is no value to converge to.
ENDLESS = {"gamma": 1.0, "target_period": 1, "steps": 1, "lr_q": 0.05}


def run(tmp_path, task, episodes, **changes):
    budget = {"timesteps": 3_000} if task == "MountainCar-v0" else {"episodes": episodes}
    spec = resolve(task, "isl", SMALL | QUICK | changes, preset="deep_sea", **budget)
    run_cohort(spec, [0], tmp_path)
    return run_folder.run_path(tmp_path, spec.to_dict(), 0)


@pytest.mark.parametrize(
    ("task", "changes", "cause"),
    [
        ("deep_sea/12", {"ell_max": 1e-3}, "ℓ saturated"),
        ("deep_sea/30", {"lr_ell": 0.1, "ell_bias": True}, "ℓ collapsed before reward was seen"),
        (
            "MountainCar-v0",
            {"gamma": 1.0, "target_period": 1, "steps": 1, "lr_q": 0.05},
            "values diverging",
        ),
        ("deep_sea/30", {"kappa": 1e-7, "lr_ell": 1e-5}, "policy deterministic too early"),
        ("deep_sea/12", {"replay_capacity": 64}, "replay too small"),
    ],
)
def test_what_was_broken_is_what_is_named_first(tmp_path, task, changes, cause):
    found = doctor.diagnose(doctor.read(run(tmp_path, task, 300, **changes)))
    assert [finding.name for finding in found][:1] == [cause]


@pytest.mark.parametrize(("rate", "advice"), [(0.01, "lower lr_codes"), (0.0, "let states share")])
def test_the_advice_depends_on_what_was_shared(rate, advice):
    log = [doctor.Row(step, {"ell/q90": 1e-5}) for step in (100, 200)]
    hyper = {"ell_max": 100.0, "lr_codes": rate, "replay_capacity": 10_000}
    (found,) = doctor.diagnose(doctor.Evidence(log, hyper, 300, 30, 1.0, None, "done"))
    assert found.name == "ℓ collapsed before reward was seen"
    assert found.advice.startswith(advice)


@pytest.mark.parametrize(("eta2", "advice"), [(1.0, "lower eta2"), (0.7, "lower lr_q")])
def test_of_values_that_diverge_eta2_is_blamed_only_where_it_leaves_no_error(eta2, advice):
    log = [doctor.Row(step, {"q/greedy": 10.0**step}) for step in range(8)]
    evidence = doctor.Evidence(log, {"eta2": eta2, "replay_capacity": 99}, 9, 3, 1.0, 2, "done")
    (found,) = doctor.diagnose(evidence)
    assert found.name == "values diverging"
    assert found.advice.startswith(advice)


def test_a_healthy_run_gets_a_clean_bill(tmp_path, capsys):
    path = run(tmp_path, "deep_sea/5", 600)
    assert doctor.diagnose(doctor.read(path)) == []
    assert main(["doctor", str(tmp_path)]) == 0
    assert "nothing looks wrong" in capsys.readouterr().out


def test_the_beliefs_logged_are_finite(tmp_path):
    path = run(tmp_path, "deep_sea/30", 300, kappa=1e-7, lr_ell=1e-5)
    rows = doctor.read(path).rows
    assert len(rows) > 5
    assert all(math.isfinite(row.values["policy/entropy"]) for row in rows)


def test_no_run_is_one_line(tmp_path, capsys):
    assert main(["doctor", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("isl: no finished run in")


def test_a_torn_log_is_read_as_far_as_it_goes(tmp_path):
    path = run(tmp_path, "deep_sea/3", 100)
    (file,) = (path / "tensorboard").iterdir()
    rows = tensorboard.read(file.parent)
    file.write_bytes(file.read_bytes()[:-5])
    assert tensorboard.read(file.parent) == rows[:-1]
