"""ISL on plain tables: the paper's update on one number per state and action, and what it keeps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl.agents import isl, isl_tables
from isl.agents.base import Transition
from isl.errors import UsageError
from tests.support import isl_twin, twin

SPACE = twin.SPACES["discrete"]
SHARED = {"gamma": 0.9, "kappa": 0.7, "ell_min": 0.01, "ell_max": 10.0}


@pytest.mark.parametrize("masked", [False, True], ids=["all actions", "masked"])
def test_one_update_equals_the_twin(masked):
    cfg = isl_tables.Config(lr_codes=0.1, eta1=0.4, eta2=0.3, **SHARED)
    agent = isl_tables.make(cfg, SPACE, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.masked(twin.transitions(SPACE)) if masked else twin.transitions(SPACE)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))
    expected = isl_twin.expected_update(cfg, SPACE, learner, target, batch, rate=cfg.lr_codes)
    isl_twin.assert_same_update(after, metrics, expected)


def episode_ends(n: int = 32) -> Transition:
    """Steps that end their episode, in all states but the last."""
    draw = np.random.default_rng(3)
    return Transition(
        obs=jnp.asarray(draw.integers(0, SPACE.n - 1, n), jnp.int32),
        action=jnp.asarray(draw.integers(0, twin.ACTIONS, n), jnp.int32),
        reward=jnp.asarray(draw.normal(size=n), jnp.float32),
        discount=jnp.zeros(n),
        next_obs=jnp.asarray(draw.integers(0, SPACE.n, n), jnp.int32),
    )


def test_what_was_never_tried_keeps_its_uncertainty_to_the_bit():
    batch = episode_ends()
    tried = np.zeros((SPACE.n, twin.ACTIONS), bool)
    tried[batch.obs, batch.action] = True
    kept = {}
    for module, cfg in (
        (isl_tables, isl_tables.Config(lr_codes=0.01, **SHARED)),
        (isl, isl.Config(**SHARED)),
    ):
        agent = module.make(cfg, SPACE, twin.ACTIONS)
        start = agent.init(jax.random.key(0))
        before, after = (
            twin.everywhere(agent, learner, SPACE.n)["ell"]
            for learner in (start, twin.trained(agent, start, batch, 500))
        )
        assert not np.array_equal(before[tried], after[tried])
        kept[module] = np.array_equal(before[~tried], after[~tried])
    assert kept == {isl_tables: True, isl: False}


def test_other_observations_are_refused():
    with pytest.raises(UsageError, match="isl_tables reads Discrete observations, not Box"):
        isl_tables.make(isl_tables.Config(), Box(-1, 1, (2,), np.float32), 2)
    isl_tables.make(isl_tables.Config(), Discrete(3), 2)
