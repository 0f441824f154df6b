"""What the preset `auto` adds to Algorithm 1: codes, relative errors, values of argmax."""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl import DQN, ISL
from isl.agents import isl as agent_module
from isl.agents.base import Transition
from isl.model.evaluation import evaluate
from isl.nn.approximators import Approximators, Net
from isl.theory.exploration import uc_value

STATES, ACTIONS = 5, 3
TABLE = {"lr_codes": 0.01, "gamma": 0.9, "kappa": 0.7, "ell_min": 0.01, "ell_max": 10.0}


def agent_of(**changes):
    config = agent_module.Config().replace(TABLE | changes)
    return agent_module.make(config, Discrete(STATES), ACTIONS)


def batch_of(n: int = 32, end: bool = False) -> Transition:
    draw = np.random.default_rng(3)
    return Transition(
        obs=jnp.asarray(draw.integers(0, STATES - 1, n), jnp.int32),
        action=jnp.asarray(draw.integers(0, ACTIONS, n), jnp.int32),
        reward=jnp.asarray(draw.normal(size=n), jnp.float32),
        discount=jnp.zeros(n) if end else jnp.asarray(draw.integers(0, 2, n), jnp.float32),
        next_obs=jnp.asarray(draw.integers(0, STATES, n), jnp.int32),
    )


def tables(agent, learner):
    return jax.vmap(agent.inspect, in_axes=(None, 0))(learner, jnp.arange(STATES))


def trained(agent, batch, updates):
    @jax.jit
    def train(learner):
        def one(_, learner):
            return agent.update(learner, agent.target(learner), batch, jax.random.key(0))[0]

        return jax.lax.fori_loop(0, updates, one, learner)

    return train(agent.init(jax.random.key(0)))


def test_one_update_by_hand():
    """Adam's first step is the rate times the sign of the gradient."""
    agent, batch = agent_of(greedy_values=True), batch_of()
    before = agent.init(jax.random.key(0))
    after, _ = agent.update(before, agent.target(before), batch, jax.random.key(1))
    old, new = ({k: np.asarray(v) for k, v in tables(agent, x).items()} for x in (before, after))
    value = {
        "q": np.asarray(uc_value(old["q"], old["ell"], TABLE["kappa"])),  # v*
        "greedy": old["greedy"].max(-1),
    }
    s, a, then = (np.asarray(x) for x in (batch.obs, batch.action, batch.next_obs))
    for name in ("q", "greedy"):
        target = batch.reward + TABLE["gamma"] * batch.discount * value[name][then]
        step = np.zeros((STATES, ACTIONS))
        # ρ starts near 0, so that J_q's direction has the sign of δ where δ is not small.
        np.add.at(step, (s, a), np.asarray(target) - old[name][s, a])
        clear = np.abs(step) > 0.3
        moved = new[name] - old[name]
        np.testing.assert_allclose(moved[clear], 0.01 * np.sign(step[clear]), rtol=1e-3)
        assert clear.sum() >= 6
        assert not moved[step == 0].any()


def test_what_was_never_tried_keeps_its_uncertainty_to_the_bit():
    agent, batch = agent_of(), batch_of(end=True)
    before = tables(agent, agent.init(jax.random.key(0)))["ell"]
    after = tables(agent, trained(agent, batch, 500))["ell"]
    tried = np.zeros((STATES, ACTIONS), bool)
    tried[batch.obs, batch.action] = True
    np.testing.assert_array_equal(before[~tried], after[~tried])
    hidden = agent_of(lr_codes=0.0)
    assert not np.array_equal(
        tables(hidden, hidden.init(jax.random.key(0)))["ell"][~tried],
        tables(hidden, trained(hidden, batch, 500))["ell"][~tried],
    )


def test_relative_errors_have_the_same_solution_sooner():
    """One step that always ends its episode without reward: nothing is left but ell_min."""
    n = 8
    end = Transition(
        jnp.zeros(n, jnp.int32),
        jnp.zeros(n, jnp.int32),
        jnp.zeros(n),
        jnp.zeros(n),
        jnp.zeros(n, jnp.int32),
    )
    fell = {}
    for relative in (True, False):
        agent = agent_of(ell_relative=relative, ell_min=1e-3, ell_max=1000.0, lr_codes=0.05)
        fell[relative] = float(tables(agent, trained(agent, end, 600))["ell"][0, 0])
    assert fell[True] < 0.05 < 3 * 0.05 < fell[False]


def test_greedy_values_are_the_optimal_ones():
    """Two states; staying in the first pays 1 a step, and what ℓ is does not matter."""
    s = jnp.asarray([0, 0, 0, 1, 1, 1], jnp.int32)
    a = jnp.asarray([0, 1, 2, 0, 1, 2], jnp.int32)
    r = jnp.asarray([1, 0, 0, 0, 0, 0], jnp.float32)
    then = jnp.asarray([0, 1, 1, 0, 1, 1], jnp.int32)
    agent = agent_of(greedy_values=True, gamma=0.5, lr_codes=0.02, kappa=5.0)
    learner = trained(agent, Transition(s, a, r, jnp.ones(6), then), 3000)
    found = tables(agent, learner)
    best = [[2.0, 0.5, 0.5], [1.0, 0.5, 0.5]]
    np.testing.assert_allclose(found["greedy"][:2], best, atol=0.01)
    assert int(agent.exploit(learner, jnp.int32(1))) == 0


@pytest.mark.parametrize("linear", [0.0, 0.01])
@pytest.mark.parametrize("space", [Discrete(STATES), Box(-1, 1, (2,), np.float32)])
def test_outputs_can_be_scaled(space, linear):
    nets = Approximators(space, (8,), {"q": Net(3, 1e-3), "v": Net(1, 1e-3)}, linear=linear)
    state = nets.init(jax.random.key(0))
    obs = jnp.arange(4) if isinstance(space, Discrete) else jnp.ones((4, 2))
    for name in ("q", "v"):
        once = nets.apply(name, nets.online(state, obs), obs)
        scaled = nets.scaled(state, jnp.float32(3.0))
        assert once.shape[-1] == nets.nets[name].outputs
        np.testing.assert_allclose(
            nets.apply(name, nets.online(scaled, obs), obs), 3 * once, rtol=1e-5
        )


def test_cliff_walking_is_solved():
    """Every episode ends by the time limit at first, each step costs, and falls cost a hundred."""

    def make():
        return gymnasium.make("CliffWalking-v1", max_episode_steps=200)

    model = ISL(make(), seed=1000)
    model.learn(7_000, progress_bar=False)
    assert np.mean(evaluate(model, make(), 1).returns) == -13


def test_the_control_has_tables_too():
    model = DQN("FrozenLake-v1", lr_codes=0.01, seed=0)
    model.learn(300, progress_bar=False)
    assert np.isfinite(np.asarray(model.inspect(np.arange(16))["q"])).all()
    assert model.config.to_dict()["lr_codes"] == 0.01
    assert "lr_codes" not in DQN("FrozenLake-v1").config.to_dict()
