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
from isl.nn.step import Place, step

N, PERIOD = 7, 3
NETS = {"q": Net(3, 1e-2), "ell": Net(1, 3e-3, bias=False, copies=2)}


def loss_of(q, ell, q_t):
    return jnp.mean((q - q_t) ** 2) + jnp.mean((ell - 1.0) ** 2)


def plain_training(nets, state, batches):
    """The same training with whole tables, dense Adam and copied targets."""
    networks = {
        name: Network(Discrete(N), (5, 4), net.outputs, net.bias) for name, net in NETS.items()
    }
    view = nets.to_train(state, nets.freeze(state), jnp.arange(N))
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
        def loss(reads):
            q, ell, q_t = reads.online("q"), reads.online("ell"), reads.target("q")
            return loss_of(q, ell, q_t), {"q_t": q_t}

        return nets.step(state, target, obs, next_obs, loss)

    for t, (obs, next_obs) in enumerate(batches):
        if t % PERIOD == 0:
            target, frozen = nets.freeze(state), nets.read(state, jnp.arange(N))("q")
        state, metrics = update(state, target, obs, next_obs)
        np.testing.assert_allclose(metrics["q_t"], frozen[next_obs], rtol=0, atol=1e-6)
    now = nets.read(state, jnp.arange(N))
    q, ell = plain_training(nets, start, batches)
    np.testing.assert_allclose(now("q"), q, rtol=0, atol=2e-5)
    np.testing.assert_allclose(now("ell"), ell, rtol=0, atol=2e-5)
    assert int(state.updates) == 60


def test_ahead_is_the_present_network_without_gradients():
    nets = Approximators(Discrete(N), (5, 4), NETS)
    state = nets.init(jax.random.key(0))
    obs, next_obs = jnp.asarray([0, 1]), jnp.asarray([2, 2])
    seen = {}

    def loss(reads):
        seen["ahead"] = reads.ahead("q")
        return jnp.sum(seen["ahead"]) + 0.0 * jnp.sum(reads.online("ell")), {"q": seen["ahead"]}

    after, metrics = nets.step(state, nets.freeze(state), obs, next_obs, loss)
    np.testing.assert_allclose(metrics["q"], nets.read(state, next_obs)("q"), rtol=0, atol=1e-6)
    everywhere = jnp.arange(N)
    moved = nets.read(after, everywhere)("q") - nets.read(state, everywhere)("q")
    np.testing.assert_array_equal(moved, np.zeros_like(moved))


def test_one_loss_trains_two_sets_as_if_they_were_alone():
    space, obs = Discrete(N), jnp.asarray([0, 3, 3])
    one, two = (Approximators(space, (5, 4), {k: NETS[k]}) for k in ("q", "ell"))
    states = [nets.init(jax.random.key(i)) for i, nets in enumerate((one, two))]
    places = [
        Place(nets, state, nets.freeze(state), obs, obs)
        for nets, state in zip((one, two), states, strict=True)
    ]
    q_loss = lambda reads: (jnp.sum(reads.online("q") ** 2), {})  # noqa: E731
    ell_loss = lambda reads: (jnp.sum(reads.online("ell") ** 2), {})  # noqa: E731
    both, _ = step(places, lambda q, ell: (q_loss(q)[0] + ell_loss(ell)[0], {}))
    alone = [
        nets.step(state, nets.freeze(state), obs, obs, loss)[0]
        for nets, state, loss in zip((one, two), states, (q_loss, ell_loss), strict=True)
    ]
    for a, b in zip(*map(jax.tree.leaves, (both, alone)), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)


@pytest.mark.parametrize("space", [Discrete(N), Box(-1, 1, (2,), np.float32)], ids=["table", "box"])
def test_of_several_members_one_learns_at_a_time(space):
    nets = Approximators(space, (5, 4), {"ell": NETS["ell"]}, members=3)
    state = nets.init(jax.random.key(0))
    obs = jnp.arange(4) if isinstance(space, Discrete) else jnp.ones((4, 2))
    outputs = lambda s: [nets.read(s, obs, m)("ell") for m in range(3)]  # noqa: E731
    before = outputs(state)
    assert not np.array_equal(before[0], before[1])
    target = nets.freeze(state)
    place = Place(nets, state, target, obs, obs, member=1)
    (state,), _ = step([place], lambda reads: (jnp.sum(reads.online("ell")), {}))
    after = outputs(state)
    for member in range(3):
        assert np.array_equal(before[member], after[member]) == (member != 1)
    np.testing.assert_array_equal(state.updates, [0, 1, 0])
    # The target still is what it was.
    kept = nets.evaluate("ell", nets.frozen(state, target, obs, 1), obs)
    np.testing.assert_allclose(kept, before[1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("linear", [0.0, 0.01])
@pytest.mark.parametrize("space", [Discrete(N), Box(-1, 1, (2,), np.float32)], ids=["table", "box"])
def test_outputs_can_be_scaled(space, linear):
    nets = Approximators(space, (8,), {"q": Net(3, 1e-3), "v": Net(1, 1e-3)}, linear=linear)
    state = nets.init(jax.random.key(0))
    obs = jnp.arange(4) if isinstance(space, Discrete) else jnp.ones((4, 2))
    for name in ("q", "v"):
        once = nets.read(state, obs)(name)
        scaled = nets.read(nets.scaled(state, jnp.float32(3.0)), obs)(name)
        assert once.shape[-1] == nets.nets[name].outputs
        np.testing.assert_allclose(scaled, 3 * once, rtol=1e-5)
