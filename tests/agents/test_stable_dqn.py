"""Stable DQN: one update against its NumPy twin."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from isl.agents import stable_dqn
from tests.reference.networks import adam_step, forward_normalised, slopes
from tests.support import twin

CONFIG = stable_dqn.Config(hidden=(5, 4), gamma=0.9, lr=0.1)


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
def test_one_update_equals_the_twin(masked):
    space = Box(0, 1, (2,), np.float32)
    agent = stable_dqn.make(CONFIG, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    identity = learner.inner.statistics._replace(  # observations are read as they are
        seen=jnp.float32(1), mean=jnp.zeros(2), squares=jnp.zeros(2)
    )
    seen = learner.inner.inner.seen._replace(
        steps=jnp.float32(9), unit=jnp.float32(2), size=jnp.float32(0), discount=jnp.float32(1)
    )
    units = learner.inner.inner._replace(seen=seen, unit=jnp.float32(2))
    learner = learner._replace(inner=learner.inner._replace(inner=units, statistics=identity))
    batch = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    plain, nets = twin.plain(space, batch), twin.Nets(units.inner.q, {"q": None})
    frozen = twin.Nets(units.inner.q, {"q": None}, target=target).layers("q")
    then, picker = (forward_normalised(x, plain.next_obs) for x in (frozen, nets.layers("q")))
    allowed = np.ones_like(then, bool) if plain.next_mask is None else plain.next_mask.copy()
    allowed[~allowed.any(axis=1)] = True
    best = np.where(allowed, picker, -np.inf).argmax(axis=1)
    each = np.arange(len(best))
    goal = plain.reward / 2 + CONFIG.gamma * plain.discount * then[each, best]
    present = forward_normalised(nets.layers("q"), plain.obs)
    here = present if plain.mask is None else np.where(plain.mask, present, -np.inf)
    goal -= CONFIG.action_gap * (here.max(axis=1) - present[each, plain.action])

    def loss(layers):
        error = np.abs(goal - forward_normalised(layers, plain.obs)[each, plain.action])
        return np.mean(np.where(error <= 1, 0.5 * error**2, error - 0.5))

    layers = nets.layers("q")
    expected, opt = adam_step(layers, slopes(layers, loss), nets.adam("q"), CONFIG.lr)
    new = twin.Nets(after.inner.inner.inner.q, {"q": None})
    twin.assert_same_layers(new.layers("q"), expected)
    twin.assert_same_adam(new.adam("q"), opt)
    assert metrics["unit"] == 2
