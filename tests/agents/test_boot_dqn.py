"""BSP: one update against its NumPy twin; masks, members and priors do what they are for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl.agents import boot_dqn
from isl.nn.networks import Network, dummy_observation
from tests.reference import agents as reference
from tests.reference.networks import adam_step, forward, layers_of, rows_of
from tests.support import twin

MEMBERS = 3
CONFIG = boot_dqn.Config(hidden=(7, 6), lr=0.1, gamma=0.9, ensemble=MEMBERS, prior_scale=2.0)


def stored(agent, learner, batch):
    """The batch as `observe` stores it, with members' masks made by hand."""
    store = jax.vmap(lambda one: agent.observe(learner, one, jax.random.key(0))[1])
    mask = np.random.default_rng(5).integers(0, 2, (len(batch.reward), MEMBERS)).astype(bool)
    return twin.hurried(store)(batch)._replace(mask=jnp.asarray(mask))


def nets(trained, target=None):
    return twin.Nets(trained, {"q": MEMBERS}, target=target)


def prior_of(space, learner, member, obs):
    """The member's scaled prior at a batch of observations."""
    if isinstance(space, Discrete):
        return CONFIG.prior_scale * np.asarray(learner.prior)[np.asarray(obs), member]
    layers = layers_of(learner.prior, (member,))
    return CONFIG.prior_scale * forward(layers, rows_of(space, obs))[0]


@pytest.mark.parametrize(("space", "masked"), twin.CASES.values(), ids=twin.CASES)
def test_one_update_equals_the_twin(space, masked):
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    steps = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)
    batch = stored(agent, learner, steps)

    after, _ = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    for k in range(MEMBERS):
        before = nets(learner.q).layers("q", k)
        grads = reference.boot_dqn_member(
            before,
            nets(learner.q, target).layers("q", k),
            prior_of(space, learner, k, batch.transition.obs),
            prior_of(space, learner, k, batch.transition.next_obs),
            twin.plain(space, batch.transition),
            np.asarray(batch.mask)[:, k],
            CONFIG.gamma,
        )
        params, opt = adam_step(before, grads, nets(learner.q).adam("q", k), CONFIG.lr)
        twin.assert_same_layers(nets(after.q).layers("q", k), params)
        twin.assert_same_adam(nets(after.q).adam("q", k), opt)
    for one, other in zip(*map(jax.tree.leaves, (learner.prior, after.prior)), strict=True):
        np.testing.assert_array_equal(one, other)  # priors keep still


def test_members_are_independent():
    """Member k trained alone is member k of the ensemble, to the rounding of XLA's batched sums."""
    space = twin.SPACES["box"]
    together = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    alone = boot_dqn.make(CONFIG.replace({"ensemble": 1}), space, twin.ACTIONS)
    learner, target = twin.learner_and_target(together)
    batch, k = stored(together, learner, twin.transitions(space)), 1
    pick = lambda tree: jax.tree.map(lambda x: x[k : k + 1] if x.ndim else x, tree)  # noqa: E731
    lone, lone_target = pick(learner), pick(target)
    kept = {name: getattr(batch, name)[:, k : k + 1] for name in ("mask", "prior_tm1", "prior_t")}
    lone_batch = batch._replace(**kept)
    update, update_lone = twin.hurried(together.update), twin.hurried(alone.update)
    for _ in range(20):
        learner, _ = update(learner, target, batch, jax.random.key(0))
        lone, _ = update_lone(lone, lone_target, lone_batch, jax.random.key(0))
    for one, other in zip(jax.tree.leaves(pick(learner)), jax.tree.leaves(lone), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_the_start_differs_between_members_and_the_table_holds_the_prior_networks_values():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    network = Network(space, CONFIG.hidden, twin.ACTIONS)

    @twin.hurried
    def start(key):
        _, key_prior = jax.random.split(key)
        prior_keys = jax.random.split(key_prior, MEMBERS)
        prior = jax.vmap(network.init, (0, None))(prior_keys, dummy_observation(space))
        return agent.init(key), prior

    learner, prior = start(jax.random.key(0))
    rows = rows_of(space, np.arange(5))
    own = [np.asarray(prior["params"]["first"]["kernel"])[k] for k in range(MEMBERS)]
    networks = [layers_of(prior, (k,), own[k]) for k in range(MEMBERS)]
    values = [forward(layers, rows)[0] for layers in networks]
    twin.assert_same(learner.prior, np.moveaxis(values, 0, 1))
    kernels = [nets(learner.q).layers("q", k)[0].kernel.astype(np.float32) for k in range(MEMBERS)]
    drawn = [*kernels, *own]
    assert len({x.tobytes() for x in drawn}) == 2 * MEMBERS


def test_masks_and_members_are_drawn_as_often_as_they_should():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG.replace({"mask_probability": 0.3}), space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    one = jax.tree.map(lambda x: x[0], twin.transitions(space))

    @twin.hurried
    @jax.vmap
    def draw(key):
        return agent.observe(learner, one, key)[1].mask, agent.begin_episode(learner, key)

    masks, members = draw(jax.random.split(jax.random.key(1), 6_000))
    np.testing.assert_allclose(np.mean(masks, axis=0), [0.3] * MEMBERS, atol=0.02)
    np.testing.assert_allclose(np.bincount(members) / len(members), [1 / 3] * 3, atol=0.02)


def test_the_drawn_member_acts_and_the_mean_is_exploited():
    space = twin.SPACES["discrete"]
    agent = boot_dqn.make(CONFIG, space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    states = np.arange(5)
    q = np.stack(
        [
            forward(nets(learner.q).layers("q", k), rows_of(space, states))[0]
            + prior_of(space, learner, k, states)
            for k in range(MEMBERS)
        ]
    )

    @twin.hurried
    @jax.vmap
    def look(obs):
        acts = [agent.act(learner, jnp.int32(k), obs, jax.random.key(2)) for k in range(MEMBERS)]
        return jnp.stack(acts), agent.exploit(learner, obs), agent.inspect(learner, obs)

    acts, exploited, seen = look(jnp.asarray(states))
    np.testing.assert_array_equal(acts, q.argmax(axis=-1).T)
    np.testing.assert_array_equal(exploited, q.mean(axis=0).argmax(axis=-1))
    twin.assert_same(seen["q"], q.mean(axis=0))
    twin.assert_same(seen["ell"], q.std(axis=0))
    twin.assert_same(seen["policy"], np.eye(twin.ACTIONS)[q.argmax(axis=-1)].mean(axis=0))
    assert len({tuple(row) for row in q.argmax(axis=-1)}) > 1  # the members do differ
