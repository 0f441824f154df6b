"""Approximators on a table against the same networks kept as plain flax parameters."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from gymnasium.spaces import Box, Discrete

from isl.nn import approximators
from isl.nn.approximators import Approximators, Net
from isl.nn.networks import Network

N, PERIOD = 7, 3
NETS = {"q": Net(3, 1e-2), "ell": Net(1, 3e-3, bias=False, copies=2)}


def loss_of(q, ell, q_t):
    return jnp.mean((q - q_t) ** 2) + jnp.mean((ell - 1.0) ** 2)


def plain_training(nets, state, batches):
    """The same training with whole tables, dense Adam and copied targets."""
    networks = {
        name: Network(Discrete(N), (5, 4), net.outputs, net.bias) for name, net in NETS.items()
    }
    view = nets.online(state, jnp.arange(N))
    params = {
        name: {
            "params": tree["params"]
            | {"first": tree["params"].get("first", {}) | {"kernel": view.rows[name]}}
        }
        for name, tree in view.params.items()
    }
    adams = {name: optax.adam(net.rate) for name, net in NETS.items()}
    opt = {name: adams[name].init(params[name]) for name in NETS}

    def outputs(params, obs):
        ell = jax.vmap(networks["ell"].apply, (0, None))(params["ell"], obs)
        return networks["q"].apply(params["q"], obs), ell

    @jax.jit
    def update(params, opt, target, obs, next_obs):
        q_t = networks["q"].apply(target["q"], next_obs)
        grads = jax.grad(lambda p: loss_of(*outputs(p, obs), q_t))(params)
        new, new_opt = {}, {}
        for name, adam in adams.items():
            step, new_opt[name] = adam.update(grads[name], opt[name])
            new[name] = optax.apply_updates(params[name], step)
        return new, new_opt

    for t, (obs, next_obs) in enumerate(batches):
        if t % PERIOD == 0:
            target = params
        params, opt = update(params, opt, target, obs, next_obs)
    return outputs(params, jnp.arange(N))


@pytest.mark.parametrize("small", [0, 1_000], ids=["rows by themselves", "rows together"])
def test_a_table_trains_as_whole_networks_do(small, monkeypatch):
    monkeypatch.setattr(approximators, "SMALL_TABLE", small)
    nets = Approximators(Discrete(N), (5, 4), NETS)
    state = start = nets.init(jax.random.key(0))
    draw = np.random.default_rng(0)
    batches = [jnp.asarray(draw.integers(0, N - 1, (2, 4)), jnp.int32) for _ in range(60)]

    @jax.jit
    def update(state, target, obs, next_obs):
        def loss(view, q_t):
            return loss_of(nets.apply("q", view, obs), nets.apply("ell", view, obs), q_t)

        view = nets.to_train(state, target, obs)
        q_t = nets.apply("q", nets.frozen(state, target, next_obs), next_obs)
        return nets.descend(state, view, jax.grad(loss)(view, q_t), obs)

    for t, (obs, next_obs) in enumerate(batches):
        if t % PERIOD == 0:
            target = nets.freeze(state)
        state = update(state, target, obs, next_obs)
    everywhere = jnp.arange(N)
    view = nets.online(state, everywhere)
    q, ell = plain_training(nets, start, batches)
    np.testing.assert_allclose(nets.apply("q", view, everywhere), q, rtol=0, atol=2e-5)
    np.testing.assert_allclose(nets.apply("ell", view, everywhere), ell, rtol=0, atol=2e-5)
    assert int(state.updates) == 60


@pytest.mark.parametrize("space", [Discrete(N), Box(-1, 1, (2,), np.float32)], ids=["table", "box"])
def test_of_several_members_one_learns_at_a_time(space):
    nets = Approximators(space, (5, 4), {"ell": NETS["ell"]}, members=3)
    state = nets.init(jax.random.key(0))
    obs = jnp.arange(4) if isinstance(space, Discrete) else jnp.ones((4, 2))
    outputs = lambda s: [nets.apply("ell", nets.online(s, obs, m), obs) for m in range(3)]  # noqa: E731
    before = outputs(state)
    assert not np.array_equal(before[0], before[1])
    view = nets.to_train(state, nets.freeze(state), obs, 1)
    grads = jax.grad(lambda v: jnp.sum(nets.apply("ell", v, obs)))(view)
    state = nets.descend(state, view, grads, obs, 1)
    after = outputs(state)
    for member in range(3):
        assert np.array_equal(before[member], after[member]) == (member != 1)
    np.testing.assert_array_equal(state.updates, [0, 1, 0])
    # The target still is what it was.
    frozen = nets.frozen(
        state, nets.freeze(state)._replace(updates=jnp.zeros(3, jnp.int32)), obs, 1
    )
    if isinstance(space, Discrete):
        kept = nets.apply("ell", frozen._replace(params=view.params), obs)
        np.testing.assert_allclose(kept, before[1], rtol=0, atol=1e-7)
