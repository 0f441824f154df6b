"""BSP: one update against its NumPy twin; masks, members and priors do what they are for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl.agents import boot_dqn
from isl.networks import Network, dummy_observation
from tests import twin
from tests.reference import agents as reference
from tests.reference.networks import adam_of, adam_step, forward, layers_of, rows_of

MEMBERS = 3
CONFIG = boot_dqn.Config(hidden=(7, 6), lr=0.1, gamma=0.9, ensemble=MEMBERS, prior_scale=2.0)


def learner_and_target(agent):
    learner = twin.in_training(agent.init(jax.random.key(0)))
    return learner, twin.in_training(agent.target(agent.init(jax.random.key(1))), seed=4)


def masked(space, members=MEMBERS):
    batch = twin.transitions(space)
    mask = np.random.default_rng(5).integers(0, 2, (len(batch.reward), members)).astype(bool)
    return boot_dqn.MaskedTransition(batch, jnp.asarray(mask))


def prior_layers(space, member):
    """The prior networks of `agent.init(key(0))`, which on Discrete keeps only their values."""
    network = Network(space, CONFIG.hidden, twin.ACTIONS)
    _, keys = jax.random.split(jax.random.key(0), (2, MEMBERS))
    return layers_of(network.init(keys[member], dummy_observation(space)))


@pytest.mark.parametrize("space", twin.SPACES.values(), ids=twin.SPACES)
def test_one_update_equals_the_twin(space):
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    learner, target = learner_and_target(agent)
    if not isinstance(space, Discrete):  # the stirred biases would change a prior that is a network
        learner = learner._replace(prior=agent.init(jax.random.key(0)).prior)
    batch = masked(space)

    after, _ = jax.jit(agent.update)(learner, target, batch, jax.random.key(2))

    plain = twin.plain(space, batch.transition)
    for k in range(MEMBERS):
        before = layers_of(learner.params, (k,))
        grads = reference.boot_dqn_member(
            before,
            prior_layers(space, k),
            layers_of(target, (k,)),
            plain,
            np.asarray(batch.mask)[:, k],
            CONFIG.gamma,
            CONFIG.prior_scale,
        )
        params, opt = adam_step(before, grads, adam_of(learner.opt, (k,)), CONFIG.lr)
        twin.assert_same_layers(layers_of(after.params, (k,)), params)
        twin.assert_same_adam(adam_of(after.opt, (k,)), opt)


@pytest.mark.parametrize("space", twin.SPACES.values(), ids=twin.SPACES)
def test_members_are_independent(space):
    """Member k trained alone is member k of the ensemble, to the rounding of XLA's batched sums."""
    together = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    alone = boot_dqn.make(CONFIG.replace({"ensemble": 1}), space, twin.ACTIONS)
    learner, target = learner_and_target(together)
    batch = masked(space)
    k = 1
    pick = lambda tree: jax.tree.map(lambda x: x[k : k + 1], tree)  # noqa: E731
    lone, lone_target = pick(learner), pick(target)
    lone_batch = batch._replace(mask=batch.mask[:, k : k + 1])
    update, update_lone = jax.jit(together.update), jax.jit(alone.update)
    for _ in range(20):
        learner, _ = update(learner, target, batch, jax.random.key(0))
        lone, _ = update_lone(lone, lone_target, lone_batch, jax.random.key(0))
    for one, other in zip(jax.tree.leaves(pick(learner)), jax.tree.leaves(lone), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_a_member_whose_mask_is_empty_gets_no_gradient():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    learner = agent.init(jax.random.key(0))
    batch = masked(space)
    batch = batch._replace(mask=batch.mask.at[:, 2].set(False))
    after, _ = jax.jit(agent.update)(learner, agent.target(learner), batch, jax.random.key(0))
    kernels = [x.params["params"]["head"]["kernel"] for x in (learner, after)]
    moved = [not np.array_equal(kernels[0][k], kernels[1][k]) for k in range(MEMBERS)]
    assert moved == [True, True, False]


def test_the_prior_keeps_still_and_its_table_holds_the_networks_values():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    learner = agent.init(jax.random.key(0))
    rows = rows_of(space, np.arange(5))
    for k in range(MEMBERS):
        twin.assert_same(learner.prior[k], forward(prior_layers(space, k), rows)[0])
    after, _ = jax.jit(agent.update)(
        learner, agent.target(learner), masked(space), jax.random.key(0)
    )
    np.testing.assert_array_equal(after.prior, learner.prior)


def test_masks_and_members_are_drawn_as_often_as_they_should():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG.replace({"mask_probability": 0.3}), space, twin.ACTIONS)
    learner = agent.init(jax.random.key(0))
    one = jax.tree.map(lambda x: x[0], twin.transitions(space))
    keys = jax.random.split(jax.random.key(1), 6_000)
    masks = jax.vmap(lambda key: agent.observe(learner, one, key)[1].mask)(keys)
    np.testing.assert_allclose(np.mean(masks, axis=0), [0.3] * MEMBERS, atol=0.02)
    members = np.asarray(jax.vmap(lambda key: agent.begin_episode(learner, key))(keys))
    np.testing.assert_allclose(np.bincount(members) / len(keys), [1 / 3] * 3, atol=0.02)


def test_the_drawn_member_acts_and_the_mean_is_exploited():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    learner = agent.init(jax.random.key(0))
    rows = rows_of(space, np.arange(5))
    q = np.stack(
        [
            forward(layers_of(learner.params, (k,)), rows)[0]
            + CONFIG.prior_scale * forward(prior_layers(space, k), rows)[0]
            for k in range(MEMBERS)
        ]
    )
    key = jax.random.key(2)
    for state in range(5):
        obs = jnp.int32(state)
        acts = [int(agent.act(learner, jnp.int32(k), obs, key)) for k in range(MEMBERS)]
        assert acts == list(q[:, state].argmax(axis=-1))
        assert int(agent.exploit(learner, obs)) == q.mean(axis=0)[state].argmax()
        seen = agent.inspect(learner, obs)
        twin.assert_same(seen["ell"], q[:, state].std(axis=0))
        twin.assert_same(seen["policy"], np.bincount(acts, minlength=twin.ACTIONS) / MEMBERS)
    assert len({tuple(row) for row in q.argmax(axis=-1)}) > 1  # the members do differ
