"""`isl bench --what envs` measures what it says: speed by width, and steps to the bar."""

from typing import ClassVar

import pytest

from isl.bench import many_envs
from isl.bench.many_envs import Case
from isl.training.evaluations import Evaluated

EASY = Case("CartPole-v1", 0, 400, 100)  # any policy reaches the bar


class Fake:
    """Steps take no time; the bar is reached at step 300."""

    made: ClassVar[list] = []

    def __init__(self, env, num_envs=1, seed=0):
        self.num_timesteps, self.evaluations, self.width = 0, [], num_envs
        self.made.append((env, num_envs, seed))

    def learn(self, steps, reset_num_timesteps, progress_bar, eval_freq=None, n_eval_episodes=5):
        assert not reset_num_timesteps
        self.num_timesteps += steps
        if eval_freq is not None:
            value = 10.0 if self.num_timesteps >= 300 else 0.0
            self.evaluations.append(Evaluated(self.num_timesteps, 1, value, value, value, 1, 1))


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(many_envs, "Seeker", Fake)
    monkeypatch.setattr(Fake, "made", [])


@pytest.mark.usefixtures("fake")
def test_a_line_for_each_number_of_environments(capsys):
    many_envs.compare(turns=2, cases=[Case("Some-v0", 5, 1000, 100)], seeds=(1, 2))
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[0]) for line in lines[2:]] == [1, 4, 8, 16]
    assert all(line.split()[2] == "300" and line.endswith("2 of 2") for line in lines[2:])
    assert {width for _, width, _ in Fake.made} == {1, 4, 8, 16}


@pytest.mark.usefixtures("fake")
def test_a_bar_that_is_not_reached():
    found = many_envs.to_the_bar(Case("Some-v0", 11, 500, 100), 4, seed=0)
    assert (found.steps, found.solved) == (500, False)


@pytest.mark.slow
def test_with_real_environments(monkeypatch):
    monkeypatch.setattr(many_envs, "WIDTHS", (1, 2))
    monkeypatch.setattr(many_envs, "STEPS", 60)
    assert all(speed > 0 for speed in many_envs.speed(EASY, turns=1).values())
    found = many_envs.to_the_bar(EASY, 2, seed=0)
    assert (found.steps, found.solved) == (100, True)
