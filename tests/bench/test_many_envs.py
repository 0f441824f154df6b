"""`isl bench --what envs` measures what it says: speed, return and steps to the bar, by width."""

import pytest

from isl.bench import many_envs, solving
from isl.bench.solving import Attempt, Case

EASY = Case("CartPole-v1", bar=0, near=0, budget=400, every=100)  # any policy reaches the bar


def test_a_line_for_each_number_of_environments(monkeypatch, capsys):
    monkeypatch.setattr(many_envs, "speed", lambda case, turns: {w: 100 * w for w in (1, 4, 8, 16)})
    monkeypatch.setattr(many_envs, "greedy_return", lambda env, width, seed, steps: seed - width)
    monkeypatch.setattr(
        solving, "solve", lambda case, seed, width: Attempt(300 + width, 3.0, 1.0, seed > 1)
    )
    many_envs.compare(turns=2, cases=[EASY], seeds=(1, 2, 3))
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[3:]]
    assert [int(row[1]) for row in rows] == [1, 4, 8, 16]
    assert rows[2][2:] == ["800", "-6.0", "30,000", "0", "308", "2.0", "2 of 3"]


@pytest.mark.slow
def test_with_real_environments(monkeypatch):
    monkeypatch.setattr(many_envs, "WIDTHS", (1, 2))
    monkeypatch.setattr(many_envs, "STEPS", 60)
    assert all(speed > 0 for speed in many_envs.speed(EASY, turns=1).values())
    found = solving.solve(EASY, seed=0, num_envs=2)
    assert (found.steps, found.solved) == (100, True)
    assert many_envs.greedy_return("CartPole-v1", 2, seed=0, steps=100) > 0
