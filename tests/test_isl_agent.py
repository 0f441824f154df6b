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

VARIANTS = {
    "paper": {},
    "biases": {"ell_bias": True},
    "double": {"double_ell": True},
    "sound": {"sound": True},
}


def config(**variant):
    rates = {"lr_q": 0.1, "lr_rho": 0.2, "lr_ell": 0.3}
    return isl.Config(hidden=(7, 6), gamma=0.9, eta1=0.4, eta2=0.3, **rates, **variant)


def learner_and_target(agent):
    learner = twin.in_training(agent.init(jax.random.key(0)))
    return learner, twin.in_training(agent.target(agent.init(jax.random.key(1))), seed=4)


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


@pytest.mark.parametrize("space", twin.SPACES.values(), ids=twin.SPACES)
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_one_update_equals_the_twin(space, variant):
    cfg = config(**variant)
    agent = isl.make(cfg, space, twin.ACTIONS)
    learner, target = learner_and_target(agent)
    batch = twin.transitions(space)
    after, metrics = jax.jit(agent.update)(learner, target, batch, jax.random.key(2))

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
    learner, target = learner_and_target(agent)
    batch = twin.transitions(space)
    update = jax.jit(agent.update)
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
    learner = twin.in_training(agent.init(jax.random.key(0)))
    obs = jnp.int32(3)
    seen = agent.inspect(learner, obs)
    keys = jax.random.split(jax.random.key(1), 20_000)
    draws = jax.vmap(lambda key: agent.act(learner, (), obs, key))(keys)
    shares = np.bincount(np.asarray(draws), minlength=twin.ACTIONS) / len(keys)
    np.testing.assert_allclose(seen["policy"], shares, atol=0.015)
    assert int(agent.exploit(learner, obs)) == int(np.argmax(seen["q"]))


@pytest.mark.parametrize("bias", [True, False])
def test_a_table_is_a_dense_layer_on_one_hot_codes(bias):
    """The same numbers from the same parameters, and the same gradients."""
    rows, width = 6, 4
    table, dense = Table(rows, width, bias), Dense(width, bias)
    index = jnp.array([[0, 5, 2], [2, 2, 1]])
    variables = twin.in_training(table.init(jax.random.key(0), index))
    codes = jax.nn.one_hot(index, rows)
    # To the rounding of sums with zeros: a one-hot product adds zeros to the row, which is exact.
    np.testing.assert_array_equal(table.apply(variables, index), dense.apply(variables, codes))
    weights = jax.random.normal(jax.random.key(1), (2, 3, width))
    by_table, by_dense = (
        jax.grad(lambda v, layer=layer, x=x: jnp.sum(weights * layer.apply(v, x)))(variables)
        for layer, x in ((table, index), (dense, codes))
    )
    for one, other in zip(jax.tree.leaves(by_table), jax.tree.leaves(by_dense), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
