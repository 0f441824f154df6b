"""Models that isl 0.1 saved: each is read as the agent it is today, and believes what it did.

Made by 0.1.0 with `hidden=(4, 4)`, a replay of 500 that was left out, and a few hundred steps:
`ISL("FrozenLake-v1")` and `ISL("CartPole-v1", ell_features=8)`, whose preset was `auto`, and
`ISL("deep_sea/3")` with `ell_ensemble=2, double_ell=True`, with `preset="deep_sea_tables"` and with
`sound=True`. The numbers are what 0.1.0 said of the first observations, and its greedy actions.
"""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from isl import DQN, ISL, load
from isl.errors import UnsupportedFormat, UsageError
from isl.model.classes import ISLAuthors, ISLTables

FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"
MODELS = {
    "isl-authors": (ISLAuthors, np.arange(9), [1, 1, 0, 1, 0, 0, 0, 0, 1]),
    "isl-tables": (ISLTables, np.arange(9), [1, 0, 1, 1, 1, 1, 0, 1, 1]),
}
BELIEFS = {
    "isl-authors": {
        "q": [[-0.00913567, 0.0778126], [-0.00813408, 0.148076], [0.0493314, -0.0526831]],
        "ell": [[50.0919, 51.378], [50.1532, 52.2181], [49.2357, 49.6354]],
        "policy": [[0.0, 1.0], [0.0, 1.0], [0.999997, 3.16955e-06]],
    },
    "isl-tables": {
        "q": [[-0.0125999, 0.00980748], [0.294215, 0.0707748], [-0.179845, -0.0461336]],
        "ell": [[52.8864, 49.7426], [42.7175, 65.7755], [66.0526, 35.96]],
        "policy": [[0.699, 0.301], [0.366689, 0.633311], [0.843382, 0.156618]],
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_1_believes_and_does_what_it_did(name):
    kind, obs, actions = MODELS[name]
    path = FIXTURES / f"{name}.isl"
    model = load(path)
    assert type(model) is kind
    np.testing.assert_array_equal(model.predict(obs)[0], actions)
    seen = model.inspect(obs)
    for what, expected in BELIEFS[name].items():
        shown = seen[what][:3]
        np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-5)
    for asked in (ISL, kind):  # the name of then, and that of today
        again = asked.load(path)
        assert type(again) is kind
        np.testing.assert_array_equal(again.predict(obs)[0], actions)
    with pytest.raises(UsageError, match=f"of agent '{kind.agent_name}', expected 'dqn'"):
        DQN.load(path)


class Walk(gymnasium.Env):
    """What `vector-dict.isl` was trained on, before finite products were tables."""

    observation_space = Dict(
        {"place": MultiDiscrete([3, 2], start=[1, 0]), "sign": Box(0, 7, (2,), np.int32)}
    )
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        self._at = 0
        return self.shown(0), {}

    def step(self, action):
        self._at = min(5, max(0, self._at + 2 * int(action) - 1))
        return self.shown(self._at), float(self._at == 5), self._at == 5, False, {}

    def shown(self, at):
        place = np.array([1 + at // 2, at % 2])
        return {"place": place, "sign": np.array([at, 7 - at], np.int32)}


def test_a_finite_space_that_was_a_vector_stays_one_in_a_model_of_then():
    """`DQN(Walk(), hidden=(4,), batch_size=8, learning_starts=32)`, 300 steps; q as then."""
    model = load(FIXTURES / "vector-dict.isl", env=Walk())
    told = [model.inspect(Walk().shown(at))["q"] for at in (0, 3, 5)]
    expected = [[-0.139091, 0.158913], [0.224077, -0.225506], [0.0378553, -1.304105]]
    np.testing.assert_allclose(told, expected, rtol=1e-4, atol=1e-5)
    model.learn(50, progress_bar=False)
    assert model._loop.state()["device"]["storage"].obs.shape == (50, 7)


def test_a_model_of_0_1_goes_on_learning():
    model = ISLTables.load(FIXTURES / "isl-tables.isl")
    before = model.inspect(np.arange(9))["q"]
    model.learn(100, progress_bar=False, n_eval_episodes=0)
    after = model.inspect(np.arange(9))["q"]
    assert np.isfinite(after).all()
    assert not np.array_equal(before, after)


UNREADABLE = {
    "isl-sound": r"option 'sound'.*: use isl 0\.1",
    "isl-auto-table": r"preset 'auto' of isl 0\.1, which Seeker has replaced: use isl 0\.1",
    "isl-auto-vector": r"preset 'auto' of isl 0\.1, which Seeker has replaced: use isl 0\.1",
}


@pytest.mark.parametrize(("name", "said"), UNREADABLE.items(), ids=UNREADABLE)
def test_a_model_that_cannot_be_read_names_the_version_that_can(name, said):
    with pytest.raises(UnsupportedFormat, match=said) as error:
        load(FIXTURES / f"{name}.isl")
    assert "\n" not in str(error.value)
