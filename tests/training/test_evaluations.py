"""When greedy evaluations are due, what they may take, and which policy is the best."""

import pytest

from isl.training.evaluations import Evaluated, Evaluations, Wish
from isl.training.greedy import Evaluation


class Script:
    """Plays episodes of given lengths; episode k of evaluation i returns `returns[i]`."""

    def __init__(self, length, returns=()):
        self.length, self.returns, self.asked = length, list(returns), []

    def play(self, learner, episodes, steps):
        self.asked.append((learner, episodes, steps))
        number = int(max(1, min(episodes, steps // self.length)))
        value = self.returns.pop(0) if self.returns else 0.0
        return Evaluation([value] * number, [self.length] * number, 0)

    def close(self):
        pass


def train(evaluations, steps, chunk, per_episode=10):
    """A training in chunks; the learner is the number of its steps."""
    for now in range(chunk, steps + 1, chunk):
        evaluations.look(lambda now=now: now, now, now // per_episode, now == steps)
    return evaluations


def test_left_alone_there_are_ten_over_the_budget():
    script = Script(length=10)
    rows = train(Evaluations(Wish(), 10_000, player=script), 10_000, 250).rows
    assert [row.steps for row in rows] == list(range(1_000, 10_001, 1_000))
    assert all(row.evaluated == 5 for row in rows)
    in_episodes = Evaluations(Wish(), 1_000, in_episodes=True, player=Script(length=10))
    assert [row.episodes for row in train(in_episodes, 10_000, 250).rows] == list(
        range(100, 1_001, 100)
    )


def test_they_wait_and_shrink_to_stay_within_their_share():
    """Episodes of 400 steps, a share of 1,000 steps: two at first, then what is left of it."""
    rows = train(Evaluations(Wish(), 100_000, player=Script(400)), 100_000, 1_000).rows
    assert [row.evaluated for row in rows] == [2, 3, 2, 3, 2, 3, 2, 3, 2, 3]
    rows = train(Evaluations(Wish(), 10_000, player=Script(400)), 10_000, 500).rows
    assert [(row.steps, row.evaluated) for row in rows] == [(1_000, 1), (8_000, 1), (10_000, 2)]


@pytest.mark.parametrize("length", [1, 7, 90, 400, 3_000, 50_000])
@pytest.mark.parametrize("steps", [2_000, 30_000, 100_000])
def test_a_tenth_of_the_steps_is_not_exceeded_by_more_than_two_evaluations(length, steps):
    rows = train(Evaluations(Wish(), steps, player=Script(length)), steps, 500, length).rows
    taken = [row.evaluated * row.length_mean for row in rows]
    assert sum(taken[:-1]) <= steps / 10 + length  # the one that turned out to be long
    assert taken[-1] <= max(steps / 10, 1_000, length)
    assert rows[-1].steps == steps


def test_what_is_asked_for_is_done():
    script = Script(length=5_000)
    rows = train(Evaluations(Wish(every=700, episodes=3), 3_000, player=script), 3_000, 100).rows
    assert [row.steps for row in rows] == [700, 1_400, 2_100, 2_800, 3_000]
    assert {row.evaluated for row in rows} == {3}
    assert train(Evaluations(Wish(episodes=0), 3_000, player=script), 3_000, 100).rows == []


def test_of_equally_good_policies_the_latest_is_the_best():
    script = Script(10, [0.5, 1.0, 1.0, 0.2])
    found = train(Evaluations(Wish(every=100), 400, player=script), 400, 100)
    assert found.best.return_mean == 1.0
    assert found.best.steps == found.best_learner == 300


def test_a_continued_training_goes_on_with_its_evaluations():
    whole = train(Evaluations(Wish(), 10_000, player=Script(400)), 10_000, 500)
    first = Evaluations(Wish(), 10_000, player=Script(400))
    for now in range(500, 3_001, 500):
        first.look(lambda now=now: now, now, now // 10, False)
    second = Evaluations(Wish(), 10_000, player=Script(400))
    second.restore(first.state(), first.best_learner)
    for now in range(3_500, 10_001, 500):
        second.look(lambda now=now: now, now, now // 10, now == 10_000)
    assert second.rows == whole.rows
    assert (second.best, second.best_learner) == (whole.best, whole.best_learner)


def test_steps_count_from_the_start_of_this_training():
    rows = Evaluations(Wish(), 1_000, player=Script(10), start=5_000)
    for now in range(5_100, 6_001, 100):
        rows.look(lambda: None, now, now // 10, now == 6_000)
    assert [row.steps for row in rows.rows] == list(range(5_100, 6_001, 100))
    assert isinstance(rows.rows[0], Evaluated)
