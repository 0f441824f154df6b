"""ISL's deep agent: one update against its NumPy twin, and a table that equals one-hot × matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import isl
from isl.nn import approximators
from isl.nn.networks import Dense, Table
from tests.reference import agents as reference
from tests.reference.networks import adam_step
from tests.support import twin

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


VALUES, UNCERTAINTY = {"q": None, "rho": None}, {"ell": twin.ACTIONS}


def expected_update(cfg, space, learner, target, batch, member):
    """(params, opt) of q, of ρ and of each action's ℓ after the twin's update."""
    values, ell = twin.Nets(learner.values, VALUES), twin.Nets(learner.ell, UNCERTAINTY, member)
    frozen_values = twin.Nets(learner.values, VALUES, target=target.values)
    frozen_ell = twin.Nets(learner.ell, UNCERTAINTY, member, target=target.ell)
    actions = range(twin.ACTIONS)
    d_q, d_rho, d_ell, figures = reference.isl(
        values.layers("q"),
        values.layers("rho"),
        [ell.layers("ell", a) for a in actions],
        frozen_values.layers("q"),
        [frozen_ell.layers("ell", a) for a in actions],
        twin.plain(space, batch),
        cfg,
    )
    return (
        adam_step(values.layers("q"), d_q, values.adam("q"), cfg.lr_q),
        adam_step(values.layers("rho"), d_rho, values.adam("rho"), cfg.lr_rho),
        [
            adam_step(ell.layers("ell", a), d_ell[a], ell.adam("ell", a), cfg.lr_ell)
            for a in actions
        ],
        figures,
    )


@pytest.mark.parametrize(("kind", "variant"), VARIANTS.values(), ids=VARIANTS)
def test_one_update_equals_the_twin(kind, variant):
    cfg, space = config(**variant), twin.SPACES[kind]
    agent = isl.make(cfg, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.transitions(space)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    (q, opt_q), (rho, opt_rho), ell, figures = expected_update(
        cfg, space, learner, target, batch, member=None
    )
    values, uncertainty = twin.Nets(after.values, VALUES), twin.Nets(after.ell, UNCERTAINTY)
    twin.assert_same_layers(values.layers("q"), q)
    twin.assert_same_layers(values.layers("rho"), rho)
    twin.assert_same_adam(values.adam("q"), opt_q)
    twin.assert_same_adam(values.adam("rho"), opt_rho)
    for a, (layers, opt) in enumerate(ell):
        twin.assert_same_layers(uncertainty.layers("ell", a), layers)
        twin.assert_same_adam(uncertainty.adam("ell", a), opt)
    for name, value in figures.items():
        twin.assert_same(metrics[name], value)


def test_one_update_equals_the_twin_on_a_long_table(monkeypatch):
    monkeypatch.setattr(approximators, "SMALL_TABLE", 0)
    test_one_update_equals_the_twin("discrete", {})


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
        kernels = [x.ell.params["ell"]["params"]["head"]["kernel"] for x in (learner, after)]
        moved = [not np.array_equal(kernels[0][k], kernels[1][k]) for k in range(2)]
        assert sum(moved) == 1
        member = moved.index(True)
        if member not in drawn:
            (q, _), _, ell, _ = expected_update(cfg, space, learner, target, batch, member)
            twin.assert_same_layers(twin.Nets(after.values, VALUES).layers("q"), q)
            moved_member = twin.Nets(after.ell, UNCERTAINTY, member)
            for a, (layers, opt) in enumerate(ell):
                twin.assert_same_layers(moved_member.layers("ell", a), layers)
                twin.assert_same_adam(moved_member.adam("ell", a), opt)
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
    index = np.array([0, 5, 2, 2, 2, 1])
    weights = np.random.default_rng(0).normal(size=(width, 6)).astype(np.float32)
    variables = twin.in_training(table.init, jax.random.key(0), jnp.asarray(index), seed=0)

    def outputs_and_gradient(layer, parameters, x):
        def weighed(v):
            y = layer.apply(parameters(v), x)
            y = y.T if layer is table else y  # a table gives rows, a dense layer columns
            return jnp.sum(weights * y), y

        return twin.hurried(jax.grad(weighed, has_aux=True))(variables)

    def transposed(v):  # a dense kernel is [out, in]
        return {"params": v["params"] | {"kernel": v["params"]["kernel"].T}}

    one_hot = jnp.asarray(np.eye(rows, dtype=np.float32)[:, index])
    by_table = outputs_and_gradient(table, lambda v: v, jnp.asarray(index))
    by_dense = outputs_and_gradient(dense, transposed, one_hot)
    for one, other in zip(jax.tree.leaves(by_table), jax.tree.leaves(by_dense), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
