"""The largest discounted return seen, beside the sum written out."""

import json

import numpy as np
import pytest

from isl.training.loop import Steps
from isl.training.returns import Returns


def taken(reward, last, env=None):
    reward, last = np.asarray(reward, np.float32), np.asarray(last, bool)
    return Steps(None, reward, last, {}, None if env is None else np.asarray(env))


def written_out(gamma, reward, last, env):
    """|Σ γ^k r| from every step to the end of its episode, the sums as they are defined."""
    found = [0.0]
    for e in np.unique(env):
        mine, ends = reward[env == e].astype(float), np.flatnonzero(last[env == e])
        for episode in np.split(mine, ends + 1):
            for t in range(len(episode)):
                powers = gamma ** np.arange(len(episode) - t)
                found.append(abs(float(powers @ episode[t:])))
    return max(found)


@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("width", [1, 3])
def test_it_is_what_the_definition_says_however_the_steps_are_cut(gamma, width):
    rng = np.random.default_rng(width)
    for _ in range(5):
        reward = rng.normal(size=300).astype(np.float32)
        last, env = rng.random(300) < 0.05, rng.integers(width, size=300)
        cuts = np.sort(rng.integers(300, size=7))
        returns = Returns(gamma, width)
        for part in np.split(np.arange(300), cuts):
            returns.add(taken(reward[part], last[part], env[part]))
            saved = json.loads(json.dumps(returns.state()))
            returns = Returns(gamma, width)
            returns.restore(saved)
        returns.include_open()
        assert returns.largest == pytest.approx(written_out(gamma, reward, last, env), rel=1e-9)


def test_where_an_episode_pays_once_it_is_that_reward():
    returns = Returns(0.99)
    returns.add(taken([0, 0, 0, 0, 5], [False] * 4 + [True]))
    assert returns.possible == returns.largest == 5  # not 5 / (1 − γ)
    assert returns.longest == 5


def test_an_endless_episode_costs_no_more_memory_and_is_not_underrated():
    returns = Returns(0.9)
    for _ in range(20):
        returns.add(taken(np.ones(100), np.zeros(100)))
        assert len(returns.state()["open"][0]) < 400
    returns.include_open()
    assert returns.largest == pytest.approx(10, rel=1e-3)
    assert returns.longest == 2_000
    returns.add(taken([1.0], [True]))
    assert returns.ended[-1] == (2_000, 1.0)  # its average counts what was dropped


def test_values_go_on_where_episodes_are_cut_off():
    returns = Returns(0.99)
    returns.add(taken(np.ones(10), [False] * 9 + [True]))
    assert returns.possible == pytest.approx(9.56, abs=0.01)
    assert returns.horizon == 10
    returns.cut_off(returns.take_ended())
    assert returns.possible == pytest.approx(100)  # one reward a step, for ever
    assert returns.take_ended() == []
    endless = Returns(1.0)
    endless.add(taken(-np.ones(10), [False] * 9 + [True]))
    endless.cut_off(endless.take_ended())
    assert endless.possible == 10  # without discount no value is finite: the return it is
