"""DQN: one update against its NumPy twin, and its ε."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from isl import DQN
from isl.agents import dqn
from isl.agents.base import Transition
from tests.reference import agents as reference
from tests.reference.networks import adam_step, forward
from tests.support import twin


@pytest.mark.parametrize(("space", "masked"), twin.CASES.values(), ids=twin.CASES)
@pytest.mark.parametrize("double_q", [False, True], ids=["max", "double"])
def test_one_update_equals_the_twin(space, masked, double_q):
    cfg = dqn.Config(hidden=(7, 6), lr=0.1, gamma=0.9, double_q=double_q)
    agent = dqn.make(cfg, space, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)

    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    before = twin.Nets(learner.q, {"q": None})
    frozen = twin.Nets(learner.q, {"q": None}, target=target).layers("q")
    grads, figures = reference.dqn(
        before.layers("q"), frozen, twin.plain(space, batch), cfg.gamma, double_q
    )
    params, opt = adam_step(before.layers("q"), grads, before.adam("q"), cfg.lr)
    twin.assert_same_layers(twin.Nets(after.q, {"q": None}).layers("q"), params)
    twin.assert_same_adam(twin.Nets(after.q, {"q": None}).adam("q"), opt)
    for name, value in figures.items():
        twin.assert_same(metrics[name], value)


def test_double_q_reads_another_action_than_the_targets_best():
    """Otherwise the case `double` above would prove nothing."""
    agent = dqn.make(dqn.Config(hidden=(7, 6)), twin.SPACES["discrete"], twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    rows = np.eye(5)
    nets = [twin.Nets(learner.q, {"q": None}, target=frozen) for frozen in (None, target)]
    picks = [forward(net.layers("q"), rows)[0].argmax(axis=1) for net in nets]
    assert np.any(picks[0] != picks[1])


def test_epsilon_falls_linearly_with_the_observed_steps():
    cfg = dqn.Config(epsilon_start=0.9, epsilon_end=0.1, epsilon_steps=4, hidden=(3,))
    agent = dqn.make(cfg, Discrete(2), 2)
    learner = twin.learner_and_target(agent)[0]._replace(steps=jnp.int32(0))
    obs = jnp.int32(0)
    transition = Transition(obs, obs, jnp.float32(0), jnp.float32(1), obs)
    inspect = twin.hurried(agent.inspect)
    shares = []
    for _ in range(6):
        shares.append(float(np.min(inspect(learner, obs)["policy"])) * 2)  # ε/A is the rest
        learner, item = agent.observe(learner, transition, jax.random.key(0))
    np.testing.assert_allclose(shares, [0.9, 0.7, 0.5, 0.3, 0.1, 0.1], atol=1e-6)
    assert item is transition


def test_epsilon_greedy_draws_each_action_as_often_as_it_should():
    keys = jax.random.split(jax.random.key(0), 20_000)
    q = jnp.array([0.0, 3.0, 1.0])
    draws = twin.hurried(jax.vmap(lambda key: dqn.epsilon_greedy(q, 0.3, key)))(keys)
    shares = np.bincount(np.asarray(draws), minlength=3) / len(keys)
    np.testing.assert_allclose(shares, [0.1, 0.8, 0.1], atol=0.01)


def test_it_has_tables_too():
    model = DQN("FrozenLake-v1", lr_codes=0.01, seed=0)
    model.learn(300, progress_bar=False, n_eval_episodes=0)
    assert np.isfinite(np.asarray(model.inspect(np.arange(16))["q"])).all()
    assert model.config.to_dict()["lr_codes"] == 0.01
    assert "lr_codes" not in DQN("FrozenLake-v1").config.to_dict()
