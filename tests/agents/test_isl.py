"""The paper's ISL: one update against its NumPy twin, and how it acts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import isl
from isl.nn import approximators
from tests.support import isl_twin, twin

CASES = {
    "discrete": ("discrete", {}, False),
    "box": ("box", {}, False),
    "biases-box": ("box", {"ell_bias": True}, False),
    "masked-discrete": ("discrete", {}, True),
}


def config(**changes):
    rates = {"lr_q": 0.1, "lr_rho": 0.2, "lr_ell": 0.3}
    return isl.Config(hidden=(7, 6), gamma=0.9, eta1=0.4, eta2=0.3, **rates, **changes)


@pytest.mark.parametrize(("kind", "changes", "masked"), CASES.values(), ids=CASES)
def test_one_update_equals_the_twin(kind, changes, masked):
    cfg, space = config(**changes), twin.SPACES[kind]
    agent = isl.make(cfg, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))
    expected = isl_twin.expected_update(cfg, space, learner, target, batch)
    isl_twin.assert_same_update(after, metrics, expected)


def test_one_update_equals_the_twin_on_a_long_table(monkeypatch):
    monkeypatch.setattr(approximators, "SMALL_TABLE", 0)
    test_one_update_equals_the_twin("discrete", {}, False)


def test_it_acts_by_the_policy_it_shows():
    space = twin.SPACES["discrete"]
    agent = isl.make(config(kappa=20.0), space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    obs = jnp.int32(3)
    seen = twin.hurried(agent.inspect)(learner, obs)
    np.testing.assert_allclose(seen["policy"], twin.shares(agent, learner, obs), atol=0.015)
    assert int(twin.hurried(agent.exploit)(learner, obs)) == int(np.argmax(seen["q"]))
