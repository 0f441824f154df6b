"""Stable-Baselines3's agents as contestants, by a stand-in: the real ones need PyTorch."""

import dataclasses
import importlib.util
import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from isl.errors import UsageError
from isl.paper import sb3, trials
from isl.paper.cases import VECTORS
from isl.paper.comparisons import Contestant, Wanted

KNOBS = dataclasses.replace(VECTORS[3], steps=50, looks=1, last_look=2)


class StandIn:
    """Steps the environment without learning, as SB3's do: a callback after each step."""

    made: ClassVar[list["StandIn"]] = []

    def __init__(self, policy, env, seed, device, verbose):
        assert (policy, device, verbose) == ("MlpPolicy", "cpu", 0)
        self.env, self.seed, self.num_timesteps = env, seed, 0
        self.observation_space = env.observation_space
        self.made.append(self)

    def predict(self, observation, deterministic):
        assert deterministic
        best = 8 if hasattr(self.env.action_space, "n") else np.array([2, 2])
        return best, None

    def learn(self, total_timesteps, callback):
        self.env.reset(seed=self.seed)
        for _ in range(total_timesteps + 3):  # PPO ends with a whole rollout
            self.num_timesteps += 1
            self.env.step(self.env.action_space.sample())
            assert callback({}, {})


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(StandIn, "made", [])
    package = SimpleNamespace(DQN=StandIn, PPO=StandIn, __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "stable_baselines3", package)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(set_num_threads=lambda _: None))
    monkeypatch.setattr(sb3, "version", lambda: "stable-baselines3 0")


@pytest.mark.parametrize("agent", sb3.CLASSES)
def test_a_peer_is_trained_in_one_call_and_measured_at_each_tenth(stand_in, agent):
    row = trials.run_trial(KNOBS, Contestant(agent), 2)
    (model,) = StandIn.made
    assert model.seed == 2
    assert row.points == [0.91] * trials.PARTS
    assert row.threshold_at == 5
    assert row.peer == "stable-baselines3 0"
    assert row.value_ratio is None
    assert row.random_return < 0.9
    assert hasattr(model.env.action_space, "n") == (agent == "sb3_dqn")  # it takes nothing else


def test_without_the_package_it_is_said_in_a_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"sb3_dqn needs .* pip install 'isl\[peers\]'"):
        Wanted(KNOBS, Contestant("sb3_dqn"), 0).check_installed()


@pytest.mark.parametrize("agent", sb3.CLASSES)
def test_the_real_ones(agent):
    pytest.importorskip("stable_baselines3")
    row = trials.run_trial(KNOBS, Contestant(agent), 0)
    assert len(row.points) == trials.PARTS
