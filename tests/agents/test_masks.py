"""No agent takes an action outside a mask. That none enters a target is in each agent's own tests,
against twins from which masked actions are left out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl import agents
from isl.agents.base import allowed, among, greedy, sampled
from isl.theory.exploration import uc_policy, uc_value
from tests.support import twin

EXPLORING = {  # so that several actions are taken without a mask
    "isl": {"kappa": 20.0},
    "seeker": {"kappa": 20.0, "ell_min": 0.5},
    "isl_tables": {"kappa": 20.0},
    "isl_authors": {"kappa": 20.0},
    "boot_dqn": {"epsilon": 0.5, "ensemble": 3},
    "ube": {"beta": 5.0},
    "sbeed": {},
    "dqn": {"epsilon_start": 0.5, "epsilon_end": 0.5},
    "stable_dqn": {"epsilon_start": 0.5, "epsilon_end": 0.5},
}
MASKS = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], bool)
DRAWS = 400


@pytest.mark.parametrize("name", agents.AGENTS)
def test_no_action_outside_the_mask_is_taken(name):
    space = twin.SPACES["discrete"]
    module = agents.load(name)
    agent = module.make(module.Config().replace(EXPLORING[name]), space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    keys = jax.random.split(jax.random.key(1), DRAWS)
    states = jnp.arange(DRAWS, dtype=jnp.int32) % space.n

    @twin.hurried
    @jax.vmap
    def look(mask):
        def act(obs, key, mask):
            episode = agent.begin_episode(learner, key)
            return agent.act(learner, episode, obs, key, mask)

        free = jax.vmap(lambda obs, key: act(obs, key, None))(states, keys)
        within = jax.vmap(lambda obs, key: act(obs, key, mask))(states, keys)
        return free, within, jax.vmap(lambda obs: agent.exploit(learner, obs, mask))(states)

    free, within, exploited = look(jnp.asarray(MASKS))
    taken = np.unique(free)
    assert len(taken) > 1  # so that each mask but one forbids what is taken without it
    for mask, acts, best in zip(MASKS, np.asarray(within), np.asarray(exploited), strict=True):
        assert mask[acts].all()
        assert mask[best].all()
        if mask[taken].all():  # a mask of what is never taken changes nothing
            np.testing.assert_array_equal(np.unique(acts), taken)


def test_the_best_action_of_a_mask_is_exploited():
    values = jnp.asarray([3.0, 1.0, 2.0])
    for mask in MASKS:
        at = np.flatnonzero(mask)
        assert int(greedy(values, jnp.asarray(mask))) == at[np.asarray(values)[at].argmax()]


def test_a_mask_without_actions_allows_all_of_them():
    """A terminal state may have none: its value is multiplied by 0, which −∞ would not survive."""
    values = jnp.asarray([[3.0, 1.0], [2.0, 5.0]])
    found = among(values, jnp.asarray([[False, False], [True, False]]))
    np.testing.assert_array_equal(found, [[3.0, 1.0], [2.0, -np.inf]])


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_policy_and_value_are_those_without_the_masked_actions(size):
    rng = np.random.default_rng(0)
    for mask in MASKS:
        q = jnp.asarray(size * rng.normal(size=3), jnp.float32)
        ell = jnp.asarray(rng.uniform(0.5, 2.0, 3), jnp.float32)
        there = jnp.asarray(np.flatnonzero(mask))
        masked = allowed(q, ell, jnp.asarray(mask))
        policy, value = uc_policy(*masked, size), uc_value(*masked, size)
        np.testing.assert_allclose(policy[there], uc_policy(q[there], ell[there], size), atol=1e-6)
        assert float(policy[~mask].sum()) == 0.0
        np.testing.assert_allclose(value, uc_value(q[there], ell[there], size), rtol=1e-5)


def test_equal_actions_large_values_and_rounding_reach_no_masked_action():
    q, ell = jnp.full(3, 1e9), jnp.ones(3)
    policy = uc_policy(*allowed(q, ell, jnp.asarray([False, True, False])), 1.0)
    np.testing.assert_array_equal(policy, [0.0, 1.0, 0.0])
    # Probabilities that sum to less than a threshold: the last action is not the way out.
    short, mask = jnp.asarray([0.3, 0.2, 0.0]), jnp.asarray([True, True, False])
    keys = jax.random.split(jax.random.key(0), 200)
    drawn = jax.vmap(lambda key: sampled(short, key, mask))(keys)
    assert set(np.unique(drawn)) == {0, 1}
