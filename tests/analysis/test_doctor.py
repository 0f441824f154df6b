"""The doctor: runs broken on purpose get the right name, a healthy one gets none."""

from __future__ import annotations

import math

import polars as pl
import pytest

from isl import agents
from isl.analysis import doctor
from isl.cli.main import main
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.storage import run_folder, tensorboard
from tests.support import made_runs

trains = pytest.mark.slow  # a run for each fault

SMALL = {"batch_size": 32, "learning_starts": 64, "replay_capacity": 20_000, "hidden": [16]}
QUICK = {"lr_q": 3e-3, "lr_rho": 3e-3, "lr_ell": 3e-3}  # a small Deep Sea in a short time


def run(tmp_path, task, episodes, **changes):
    budget = {"timesteps": 3_000} if task == "MountainCar-v0" else {"episodes": episodes}
    spec = resolve(task, "isl", SMALL | QUICK | changes, preset="deep_sea", **budget)
    run_cohort(spec, [0], tmp_path)
    return run_folder.run_path(tmp_path, spec.to_dict(), 0)


@trains
@pytest.mark.parametrize(
    ("task", "changes", "cause"),
    [
        ("deep_sea/12", {"ell_max": 1e-3}, "ℓ saturated"),
        ("deep_sea/30", {"lr_ell": 0.1, "ell_bias": True}, "ℓ collapsed before reward was seen"),
        (  # without discount, and without an end that it can reach: no value to converge to
            "MountainCar-v0",
            {"gamma": 1.0, "target_period": 1, "steps": 1, "lr_q": 0.05},
            "values diverging",
        ),
        ("deep_sea/30", {"kappa": 1e-7, "lr_ell": 1e-5}, "policy deterministic too early"),
        ("deep_sea/12", {"replay_capacity": 64}, "replay too small"),
    ],
)
def test_what_was_broken_is_what_is_named_first(tmp_path, task, changes, cause):
    evidence = doctor.read(run(tmp_path, task, 300, **changes))
    names = [finding.name for finding in doctor.diagnose(evidence)]
    if evidence.unrewarded:  # comes before all causes of it
        assert names.pop(0) == "no reward was seen"
    assert names[0] == cause


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
    hyper = {"eta2": eta2, "lr_q": 1e-3, "replay_capacity": 99}
    evidence = doctor.Evidence(log, hyper, 9, 3, 1.0, 2, "done")
    (found,) = doctor.diagnose(evidence)
    assert found.name == "values diverging"
    assert found.advice.startswith(advice)


def by_possible(value, possible, status="done", **more):
    values = {"q/greedy": value, "q/possible": possible}
    log = [doctor.Row(step, values) for step in range(8)]
    hyper = {"lr": 0.1, "target_period": 1, "replay_capacity": 99}
    return doctor.diagnose(doctor.Evidence(log, hyper, 9, 3, 1e9, 2, status, **more))


def test_values_are_measured_by_what_the_rewards_seen_make_possible():
    """Not by the largest return of an episode, which no value need ever reach."""
    assert by_possible(29.0, 10.0) == []
    (found,) = by_possible(-4e4, 10.0)
    assert found.name == "values diverging"
    assert "valued at 4e+04 on average, 4e+03 times what the rewards seen make poss" in found.told
    assert found.advice.startswith("lower lr (now 0.1), raise target_period (now 1)")
    assert by_possible(5.0, 0.0) == []  # no reward: nothing to measure by
    assert [f.name for f in by_possible(5.0, 0.0, "diverged")] == ["values diverging"]


def test_a_run_that_never_saw_a_reward_is_told_so_first(tmp_path):
    hyper = {"replay_capacity": 8}
    path = made_runs.make(tmp_path, agent="dqn", solves_at=None, hyper=hyper)
    log_of_learn(path / "tensorboard", {100: {"q/greedy": 0.01}})
    first, second = doctor.diagnose(doctor.read(path))
    assert first.name == "no reward was seen"
    assert first.told == "the goal was not reached in 600 episodes"
    assert first.advice.startswith("an agent that explores, such as seeker")
    assert second.name == "replay too small"


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"return": [-0.1, -0.3], "goal_visits": [0, 0]}, "the goal was not reached in 2 episodes"),
        ({"return": [-0.1, -0.3], "goal_visits": [0, 1]}, ""),
        ({"return": [-2.0, -3.0], "rewarded_steps": [0, 0]}, "no step was rewarded in 2 episodes"),
        ({"return": [0.0, 0.0]}, "each of 2 episodes returned 0"),
        ({"return": [-200.0, -200.0]}, "each of 2 episodes returned -200"),
        ({"return": [-200.0, -199.0]}, ""),
        ({"return": [500.0, 500.0]}, ""),
        ({"return": []}, ""),
    ],
)
def test_what_shows_that_no_reward_was_seen(columns, told):
    table = pl.DataFrame(columns)
    assert doctor._unrewarded(table) == told
    assert doctor._unrewarded(table) == "" or doctor._rewarded_at(table) is None


@pytest.mark.parametrize(
    ("agent", "option"), [("isl", "kappa"), ("boot_dqn", "prior_scale"), ("ube", "beta")]
)
def test_more_exploration_is_an_option_that_the_agent_has(agent, option):
    hyper = agents.load(agent).Config().to_dict()
    evidence = doctor.Evidence([], hyper, 0, 0, 0.0, None, "", agent, "nothing was found")
    (found,) = doctor.diagnose(evidence)
    assert f"raise {option} (now {hyper[option]:g})" in found.advice


def log_of_learn(folder, rows, about=None):
    log = tensorboard.Log(folder, 0)
    for step, values in rows.items():
        log.add(step, values)
    log.close()
    if about is not None:
        tensorboard.describe(folder, about)


def test_the_log_of_a_learn_is_enough(tmp_path, capsys):
    """What it cannot tell is said; a run's own log is not taken for one of learn."""
    returns = {"return/mean": -200.0, "return/best": -200.0, "episodes/finished": 15}
    values = {"q/greedy": -9e4, "q/possible": 87.0, "episodes/longest": 200}
    about = {"agent": "dqn", "task": "MountainCar-v0", "hyper": {"lr": 1.0, "replay_capacity": 99}}
    log_of_learn(tmp_path / "DQN_1", {1_000: returns | values, 3_000: returns | values}, about)
    log_of_learn(tmp_path / "DQN_2", {1_000: {"return/mean": 3.0, "return/best": 9.0}})
    run_path = made_runs.make(tmp_path / "runs")
    log_of_learn(run_path / "tensorboard", {100: {"q/greedy": 0.01}})
    assert main(["doctor", str(tmp_path)]) == 0
    run, first, second = capsys.readouterr().out.split(str(tmp_path))[1:]
    assert run.startswith("/runs/deep_sea/8/isl/")
    assert first.startswith("/DQN_1:\n  no reward was seen: each of 15 episodes returned -200\n")
    assert "values diverging: at step 3000 the best actions were valued at 9e+04" in first
    assert "replay too small: it holds 99 steps, 0.5 of the longest episodes" in first
    assert "not known: single episodes" in first
    assert "hyper-parameters" not in first
    assert second.startswith("/DQN_2: nothing looks wrong\n")
    assert "not known: the hyper-parameters" in second
    assert "not known: whether the values are possible" in second
    (tmp_path / "DQN_1" / "about.json").write_text("{}")
    assert main(["doctor", str(tmp_path / "DQN_1")]) == 1
    assert "about.json" in capsys.readouterr().err


@trains
def test_a_healthy_run_gets_a_clean_bill(tmp_path, capsys):
    path = run(tmp_path, "deep_sea/5", 600)
    assert all("q/possible" in row.values for row in doctor.read(path).rows[1:])
    assert doctor.diagnose(doctor.read(path)) == []
    assert main(["doctor", str(tmp_path)]) == 0
    assert "nothing looks wrong" in capsys.readouterr().out


@trains
def test_the_beliefs_logged_are_finite(tmp_path):
    path = run(tmp_path, "deep_sea/30", 300, kappa=1e-7, lr_ell=1e-5)
    rows = doctor.read(path).rows
    assert len(rows) > 5
    assert all(math.isfinite(row.values["policy/entropy"]) for row in rows)


def test_no_run_is_one_line(tmp_path, capsys):
    assert main(["doctor", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("isl: no finished run in")


@trains
def test_a_torn_log_is_read_as_far_as_it_goes(tmp_path):
    path = run(tmp_path, "deep_sea/3", 100)
    (file,) = (path / "tensorboard").iterdir()
    rows = tensorboard.read(file.parent)
    file.write_bytes(file.read_bytes()[:-5])
    assert tensorboard.read(file.parent) == rows[:-1]
