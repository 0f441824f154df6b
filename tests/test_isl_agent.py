"""ISL's deep agent: one update against its NumPy twin, and a table that equals one-hot × matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import isl
from isl.networks import Dense, Table
from tests import twin
from tests.reference import agents as reference
from tests.reference.networks import adam_of, adam_step, layers_of

# Each way to form the targets once, on one of the two kinds of observation (compiling takes time).
VARIANTS = {
    "paper-discrete": ("discrete", {}),
    "paper-box": ("box", {}),
    "biases-box": ("box", {"ell_bias": True}),
    "double-discrete": ("discrete", {"double_ell": True}),
    "sound-box": ("box", {"sound": True}),
}


def config(**variant):
    rates = {"lr_q": 0.1, "lr_rho": 0.2, "lr_ell": 0.3}
    return isl.Config(hidden=(7, 6), gamma=0.9, eta1=0.4, eta2=0.3, **rates, **variant)


def expected_update(cfg, space, learner, target, batch, member):
    """(params, opt) of q, of ρ and of each action's ℓ after the twin's update."""
    per_action = [(member, a) for a in range(twin.ACTIONS)]
    q, rho = layers_of(learner.params.q), layers_of(learner.params.rho)
    ell = [layers_of(learner.params.ell, index) for index in per_action]
    d_q, d_rho, d_ell, figures = reference.isl(
        q,
        rho,
        ell,
        layers_of(target.q),
        [layers_of(target.ell, index) for index in per_action],
        twin.plain(space, batch),
        cfg,
    )
    return (
        adam_step(q, d_q, adam_of(learner.opt.q), cfg.lr_q),
        adam_step(rho, d_rho, adam_of(learner.opt.rho), cfg.lr_rho),
        [
            adam_step(ell[a], d_ell[a], ell_adam(learner.opt.ell, member, a), cfg.lr_ell)
            for a in range(twin.ACTIONS)
        ],
        figures,
    )


def ell_adam(state, member, action):
    """Adam's state of one ℓ network; a member's networks share one count."""
    moments = state[0]
    index = (member, action)
    counts = np.asarray(moments.count)
    return adam_of(
        (moments._replace(count=np.broadcast_to(counts[:, None], (len(counts), 9))),), index
    )


@pytest.mark.parametrize(("kind", "variant"), VARIANTS.values(), ids=VARIANTS)
def test_one_update_equals_the_twin(kind, variant):
    cfg, space = config(**variant), twin.SPACES[kind]
    agent = isl.make(cfg, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.transitions(space)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    (q, opt_q), (rho, opt_rho), ell, figures = expected_update(
        cfg, space, learner, target, batch, member=0
    )
    twin.assert_same_layers(layers_of(after.params.q), q)
    twin.assert_same_layers(layers_of(after.params.rho), rho)
    twin.assert_same_adam(adam_of(after.opt.q), opt_q)
    twin.assert_same_adam(adam_of(after.opt.rho), opt_rho)
    for a, (layers, opt) in enumerate(ell):
        twin.assert_same_layers(layers_of(after.params.ell, (0, a)), layers)
        twin.assert_same_adam(ell_adam(after.opt.ell, 0, a), opt)
    for name, value in figures.items():
        twin.assert_same(metrics[name], value)


def test_of_two_ell_approximators_only_the_drawn_one_moves():
    cfg = config(ell_ensemble=2)
    space = twin.SPACES["discrete"]
    agent = isl.make(cfg, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.transitions(space)
    update = twin.hurried(agent.update)
    drawn = set()
    for seed in range(6):
        after, _ = update(learner, target, batch, jax.random.key(seed))
        kernels = [x.params.ell["params"]["head"]["kernel"] for x in (learner, after)]
        moved = [not np.array_equal(kernels[0][k], kernels[1][k]) for k in range(2)]
        assert sum(moved) == 1
        member = moved.index(True)
        if member not in drawn:
            (q, _), _, ell, _ = expected_update(cfg, space, learner, target, batch, member)
            twin.assert_same_layers(layers_of(after.params.q), q)
            for a, (layers, opt) in enumerate(ell):
                twin.assert_same_layers(layers_of(after.params.ell, (member, a)), layers)
                twin.assert_same_adam(ell_adam(after.opt.ell, member, a), opt)
        drawn.add(member)
    assert drawn == {0, 1}


def test_it_acts_by_the_policy_it_shows():
    space = twin.SPACES["discrete"]
    agent = isl.make(config(kappa=20.0), space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    obs = jnp.int32(3)
    seen = twin.hurried(agent.inspect)(learner, obs)
    np.testing.assert_allclose(seen["policy"], twin.shares(agent, learner, obs), atol=0.015)
    assert int(twin.hurried(agent.exploit)(learner, obs)) == int(np.argmax(seen["q"]))


@pytest.mark.parametrize("bias", [True, False])
def test_a_table_is_a_dense_layer_on_one_hot_codes(bias):
    """The same numbers from the same parameters, and the same gradients."""
    rows, width = 6, 4
    table, dense = Table(rows, width, bias), Dense(width, bias)
    index = np.array([[0, 5, 2], [2, 2, 1]])
    weights = np.random.default_rng(0).normal(size=(2, 3, width)).astype(np.float32)
    variables = twin.in_training(table.init, jax.random.key(0), index, seed=0)

    def outputs_and_gradient(layer, x):
        def weighed(v):
            y = layer.apply(v, x)
            return jnp.sum(weights * y), y

        return twin.hurried(jax.grad(weighed, has_aux=True))(variables)

    by_table = outputs_and_gradient(table, jnp.asarray(index))
    by_dense = outputs_and_gradient(dense, jnp.asarray(np.eye(rows, dtype=np.float32)[index]))
    for one, other in zip(jax.tree.leaves(by_table), jax.tree.leaves(by_dense), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
