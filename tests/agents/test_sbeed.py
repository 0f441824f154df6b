"""SBEED: one update against its NumPy twin, and how it acts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import sbeed
from tests.reference import agents as reference
from tests.reference.networks import adam_step, forward, rows_of
from tests.support import twin


def nets_of(learner):
    per_action = twin.Nets(learner.per_action, {"pi": None, "rho": None})
    return {"v": twin.Nets(learner.value, {"v": None}), "pi": per_action, "rho": per_action}


@pytest.mark.parametrize(("space", "masked"), twin.CASES.values(), ids=twin.CASES)
@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_one_update_equals_the_twin(space, masked, eta):
    cfg = sbeed.Config(hidden=(7, 6), lr_v=0.1, lr_pi=0.2, lr_rho=0.3, gamma=0.9, eta=eta)
    agent = sbeed.make(cfg, space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    batch = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)

    after, metrics = twin.hurried(agent.update)(learner, (), batch, jax.random.key(2))

    before, later = nets_of(learner), nets_of(after)
    networks = [nets.layers(name) for name, nets in before.items()]
    *grads, figures = reference.sbeed(
        *networks, twin.plain(space, batch), cfg.gamma, cfg.kappa, eta
    )
    rates = (cfg.lr_v, cfg.lr_pi, cfg.lr_rho)
    for name, grad, rate in zip(before, grads, rates, strict=True):
        params, opt = adam_step(before[name].layers(name), grad, before[name].adam(name), rate)
        twin.assert_same_layers(later[name].layers(name), params)
        twin.assert_same_adam(later[name].adam(name), opt)
    for name, value in figures.items():
        twin.assert_same(metrics[name], value)


def test_it_samples_its_policy_and_exploits_the_likeliest_action():
    space = twin.SPACES["discrete"]
    agent = sbeed.make(sbeed.Config(hidden=(7, 6)), space, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    obs = jnp.int32(2)
    logits = forward(nets_of(learner)["pi"].layers("pi"), rows_of(space, [2]))[0][0]
    policy = np.exp(logits) / np.exp(logits).sum()
    twin.assert_same(twin.hurried(agent.inspect)(learner, obs)["policy"], policy)
    np.testing.assert_allclose(twin.shares(agent, learner, obs), policy, atol=0.015)
    assert int(twin.hurried(agent.exploit)(learner, obs)) == policy.argmax()
