"""`isl bench --what solve`: the clock stands still during looks and ends at the bar."""

import dataclasses
import os
from types import SimpleNamespace

import pytest

from isl.bench import compiling, solving
from isl.bench.solving import Attempt, Case

ANY = Case("CartPole-v1", bar=0, near=0, budget=400, every=100)  # any policy reaches the bar
TUNED = {"learning_starts": 50, "policy_kwargs": {"net_arch": [8]}}


def test_spans_within_spans_count_once():
    counted = compiling.Compiling()
    for start, end in ((1.0, 2.0), (3.0, 4.0), (0.5, 5.0), (6.0, 7.0), (6.5, 8.0)):
        counted.heard("/jax/core/compile/backend_compile_duration", start, end, fun_name="f")
    counted.heard("/jax/something/else", 0.0, 100.0)
    assert counted.seconds == pytest.approx(4.5 + 2.0)


def test_looks_are_off_the_clock(monkeypatch):
    now = [0.0]

    def solves(case, policy):
        now[0] += 100
        return policy == "good"

    monkeypatch.setattr(solving, "solves", solves)
    clock = SimpleNamespace(perf_counter=lambda: now[0], process_time=lambda: now[0] / 2)
    monkeypatch.setattr(solving, "time", clock)
    trial = solving.Trial(ANY)
    now[0] += 3
    assert trial.look(100, "bad")
    now[0] += 4
    assert not trial.look(200, "good")
    assert trial.attempt == (200, 7.0, 0.0, True, 3.5)


def test_all_episodes_are_played_where_the_first_come_near(monkeypatch):
    played = []

    class Found:
        def __init__(self, mean):
            self.mean = mean

    def play(policy, env, episodes):
        played.append(episodes)
        return Found(policy[episodes])

    monkeypatch.setattr(solving, "evaluate", play)
    case = dataclasses.replace(ANY, bar=475, near=400)
    assert not solving.solves(case, {10: 399, 100: 500})
    assert not solving.solves(case, {10: 500, 100: 474})
    assert solving.solves(case, {10: 400, 100: 475})
    assert played == [10, 10, 100, 10, 100]


def test_a_table_of_attempts_and_medians(monkeypatch, capsys):
    took = {
        ("Seeker", 0): Attempt(200, 9.0, 4.0, True, 8.0),
        ("Seeker", 1): Attempt(300, 5.0, 4.0, True, 4.5),
        ("Seeker", 2): Attempt(400, 3.0, 0.0, False),
    }
    never = Attempt(400, 20.0, 0.0, False)
    monkeypatch.setattr(solving.sb3, "version", lambda: "stable-baselines3 0")
    monkeypatch.setattr(
        solving, "in_a_process", lambda case, name, seed, core: took.get((name, seed), never)
    )
    solving.compare(core=0, cases=[ANY])
    lines = capsys.readouterr().out.splitlines()[3:]
    assert lines[0] == "| CartPole-v1 | 0 | Seeker | 0 | 200 | 9.0 | 5.0 | 8.0 |"
    assert lines[1].endswith("| SB3 DQN, tuned | 0 | not within 400 | – | – | – |")
    assert lines[-2].endswith("| Seeker | median (2 of 3 solved) | 300 | 9.0 | 5.0 | 8.0 |")
    assert lines[-1].endswith("| median (0 of 3 solved) | not within 400 | – | – | – |")


@pytest.mark.slow
def test_seeker_in_a_process_of_its_own():
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    found = solving.in_a_process(dataclasses.replace(ANY, every=600), "Seeker", 0, core)
    assert (found.steps, found.solved) == (600, True)
    assert 0 < found.compiling < found.seconds


@pytest.mark.slow
def test_the_real_peer_stops_at_the_bar():
    pytest.importorskip("stable_baselines3", reason="needs the extra `peers`")
    found = solving.solve_tuned(dataclasses.replace(ANY, tuned=TUNED), 0)
    assert (found.steps, found.solved) == (100, True)
    found = solving.solve_tuned(dataclasses.replace(ANY, bar=501, near=501, tuned=TUNED), 0)
    assert (found.steps, found.solved) == (400, False)


@pytest.mark.slow
@pytest.mark.parametrize("case", solving.CASES, ids=lambda case: case.env)
def test_the_peer_takes_the_tuned_settings(case):
    pytest.importorskip("stable_baselines3", reason="needs the extra `peers`")
    small = dataclasses.replace(case, budget=40, every=20, near=1_000)
    assert solving.solve_tuned(small, 0).steps >= 40  # whole rollouts of `train_freq` steps
