"""Models that isl 0.1 saved: each is read as the agent it is today, and believes what it did.

Made by 0.1.0 with `hidden=(4, 4)`, a replay of 500 that was left out, and a few hundred steps:
`ISL("FrozenLake-v1")` and `ISL("CartPole-v1", ell_features=8)`, whose preset was `auto`, and
`ISL("deep_sea/3")` with `ell_ensemble=2, double_ell=True`, with `preset="deep_sea_tables"` and with
`sound=True`. The numbers are what 0.1.0 said of the first observations, and its greedy actions.
"""

from pathlib import Path

import numpy as np
import pytest

from isl import DQN, ISL, Seeker, load
from isl.errors import UnsupportedFormat, UsageError
from isl.model.classes import ISLAuthors, ISLTables

FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"
VECTORS = np.array([[0, 0, 0, 0], [0.1, -0.5, 0.05, 0.3], [-1, 1, 0.1, -1]], np.float32)
MODELS = {
    "isl-auto-table": (Seeker, np.arange(16), [2, 3, 0, 3, 0, 0, 2, 1, 3, 1, 0, 3, 1, 2, 2, 1]),
    "isl-auto-vector": (Seeker, VECTORS, [0, 0, 0]),
    "isl-authors": (ISLAuthors, np.arange(9), [1, 1, 0, 1, 0, 0, 0, 0, 1]),
    "isl-tables": (ISLTables, np.arange(9), [1, 0, 1, 1, 1, 1, 0, 1, 1]),
}
BELIEFS = {
    "isl-auto-table": {
        "q": [
            [0.025613, 0.0343432, 0.0477621, 0.0541586],
            [0.0510678, 0.30633, 0.348903, 0.0498753],
        ],
        "ell": [[34.4327, 61.8705, 69.8318, 62.6872], [69.8252, 50.0852, 47.3624, 73.5739]],
        "greedy": [
            [0.125862, 0.100116, 0.384471, 0.354445],
            [0.405583, 0.563515, 0.587988, 0.249872],
        ],
        "policy": [[0.0, 0.0, 0.955109, 0.0448909], [0.0, 0.0217909, 0.369275, 0.608934]],
    },
    "isl-auto-vector": {
        "q": [[1.09978, 1.55397], [1.36265, 1.07554], [2.01109, 5.75613]],
        "ell": [[1820.5, 1772.15], [2227.43, 1954.9], [1443.86, 1556.89]],
        "greedy": [[4.72308, 3.23648], [10.2805, 4.96615], [22.5668, 19.9559]],
        "policy": [[0.431843, 0.568157], [1.0, 0.0], [0.0, 1.0]],
    },
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
FIRST = {"isl-auto-table": slice(13, 15)}  # states that it knows something of


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_1_believes_and_does_what_it_did(name):
    kind, obs, actions = MODELS[name]
    path = FIXTURES / f"{name}.isl"
    model = load(path)
    assert type(model) is kind
    np.testing.assert_array_equal(model.predict(obs)[0], actions)
    seen = model.inspect(obs)
    for what, expected in BELIEFS[name].items():
        shown = seen[what][FIRST.get(name, slice(0, 3))]
        np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-5)
    for asked in (ISL, kind):  # the name of then, and that of today
        again = asked.load(path)
        assert type(again) is kind
        np.testing.assert_array_equal(again.predict(obs)[0], actions)
    with pytest.raises(UsageError, match=f"of agent '{kind.agent_name}', expected 'dqn'"):
        DQN.load(path)


def test_a_model_of_0_1_goes_on_learning():
    model = Seeker.load(FIXTURES / "isl-auto-table.isl", env="FrozenLake-v1")
    before = model.inspect(np.arange(16))["greedy"]
    model.learn(100, progress_bar=False)
    after = model.inspect(np.arange(16))["greedy"]
    assert np.isfinite(after).all()
    assert not np.array_equal(before, after)


def test_a_model_that_cannot_be_read_names_the_version_that_can():
    with pytest.raises(UnsupportedFormat, match=r"option 'sound'.*: use isl 0\.1") as error:
        load(FIXTURES / "isl-sound.isl")
    assert "\n" not in str(error.value)
