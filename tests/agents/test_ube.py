"""UBE: one update against its NumPy twin, Sherman–Morrison, and the Thompson policy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import ube
from tests.reference import agents as reference
from tests.reference.networks import adam_step, forward, rows_of
from tests.support import twin

NETS = {"q": None, "u": None}
CONFIG = ube.Config(hidden=(7, 6), lr_q=0.1, lr_u=0.2, gamma=0.9, mu=4.0, beta=1.5)


def fresh(agent):
    """A learner in training whose Σ is still at its start, and a target."""
    learner, target = twin.learner_and_target(agent)
    start = np.stack([CONFIG.mu * np.eye(CONFIG.hidden[-1], dtype=np.float32)] * twin.ACTIONS)
    return learner._replace(sigma=jnp.asarray(start)), target


def observed(agent, learner, batch, times=1):
    """The learner after it saw the batch's transitions one by one."""
    observe = twin.hurried(lambda state, one: agent.observe(state, one, jax.random.key(0))[0])
    for _ in range(times):
        for i in range(len(batch.reward)):
            learner = observe(learner, jax.tree.map(lambda x, i=i: x[i], batch))
    return learner


@pytest.mark.parametrize(("space", "masked"), twin.CASES.values(), ids=twin.CASES)
def test_one_update_equals_the_twin(space, masked):
    agent = ube.make(CONFIG, space, twin.ACTIONS)
    batch = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)
    learner, target = fresh(agent)
    learner = observed(agent, learner, batch)

    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    before, frozen, later = (
        twin.Nets(state.nets, NETS, target=held)
        for state, held in ((learner, None), (learner, target), (after, None))
    )
    q, u = before.layers("q"), before.layers("u")
    d_q, d_u, figures = reference.ube(
        q,
        u,
        frozen.layers("q"),
        frozen.layers("u"),
        np.asarray(learner.sigma, np.float64),
        twin.plain(space, batch),
        CONFIG.gamma,
    )
    q, opt_q = adam_step(q, d_q, before.adam("q"), CONFIG.lr_q)
    u, opt_u = adam_step(u, d_u, before.adam("u"), CONFIG.lr_u)
    twin.assert_same_layers(later.layers("q"), q)
    twin.assert_same_layers(later.layers("u"), u)
    twin.assert_same_adam(later.adam("q"), opt_q)
    twin.assert_same_adam(later.adam("u"), opt_u)
    np.testing.assert_array_equal(after.sigma, learner.sigma)  # it moves with steps, not updates
    for name, value in figures.items():
        twin.assert_same(metrics[name], value)


@pytest.mark.parametrize("space", twin.SPACES.values(), ids=twin.SPACES)
def test_sigma_is_the_inverse_of_the_accumulated_matrix(space):
    agent = ube.make(CONFIG, space, twin.ACTIONS)
    start, _ = fresh(agent)
    batch, times = twin.transitions(space), 5
    learner = observed(agent, start, batch, times)

    phi = forward(twin.Nets(start.nets, NETS).layers("q"), rows_of(space, batch.obs))[1][-1]
    for a in range(twin.ACTIONS):
        matrix = np.eye(CONFIG.hidden[-1]) / CONFIG.mu
        for i in np.flatnonzero(np.asarray(batch.action) == a):
            matrix += times * np.outer(phi[i], phi[i])
        twin.assert_same(learner.sigma[a], np.linalg.inv(matrix))


def test_sigma_starts_as_mu_times_the_identity():
    agent = ube.make(CONFIG, twin.SPACES["discrete"], twin.ACTIONS)
    sigma = twin.hurried(lambda key: agent.init(key).sigma)(jax.random.key(0))
    for a in range(twin.ACTIONS):
        np.testing.assert_array_equal(sigma[a], CONFIG.mu * np.eye(CONFIG.hidden[-1]))


def test_sigma_stays_an_inverse_over_thousands_of_steps():
    """Rounding must not pile up: Σ is carried on for a whole run, never computed anew."""
    phis = np.abs(np.random.default_rng(0).normal(size=(5_000, 6))).astype(np.float32)
    sigma, _ = jax.lax.scan(
        lambda sigma, phi: (ube.sherman_morrison(sigma, phi), None),
        10.0 * jnp.eye(6),
        jnp.asarray(phis),
    )
    exact = np.linalg.inv(np.eye(6) / 10.0 + phis.T.astype(np.float64) @ phis)
    np.testing.assert_allclose(sigma, exact, rtol=0, atol=1e-3 * np.abs(exact).max())


def test_actions_are_thompson_samples_and_the_inspected_policy_says_how_often():
    space = twin.SPACES["discrete"]
    agent = ube.make(CONFIG, space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    policy = twin.hurried(agent.inspect)(learner, jnp.int32(3))["policy"]
    np.testing.assert_allclose(policy, twin.shares(agent, learner, jnp.int32(3)), atol=0.015)


@pytest.mark.parametrize(
    ("mean", "std", "policy"),
    [
        ([1.0, 1.0], [2.0, 0.5], [0.5, 0.5]),  # equal means: a coin, whatever the spreads
        ([1.0, 0.0], [3.0, 4.0], [0.5793, 0.4207]),  # Φ(1 / √(3² + 4²))
        ([0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),  # certain: greedy
    ],
)
def test_thompson_policy_by_hand(mean, std, policy):
    shown = twin.hurried(ube.thompson_policy)(jnp.array(mean), jnp.array(std))
    np.testing.assert_allclose(shown, policy, atol=2e-3)
