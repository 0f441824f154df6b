"""Cartpole swing-up against bsuite 0.3.6, step by step: in float32, and whole in float64."""

import math
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.environments.cartpole import CartpoleState as BsuiteState
from bsuite.experiments.cartpole_swingup import sweep
from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup as BsuiteCartpole
from scipy import stats

from isl.envs.cartpole_swingup import MAX_STEPS, START_RANGE, CartpoleState, CartpoleSwingup
from isl.errors import UsageError

DIFFICULTIES = (0, 10, 19)


class Episodes(NamedTuple):
    """bsuite's episodes, [episode, step], with zeros after the end."""

    start: np.ndarray  # [episode, 4]
    actions: np.ndarray
    physics: np.ndarray  # x, ẋ, θ, θ̇ in float64
    obs: np.ndarray
    reward: np.ndarray
    discount: np.ndarray
    length: np.ndarray  # [episode]

    @property
    def during(self):
        return np.arange(MAX_STEPS) < self.length[:, None]


def run_bsuite(difficulty, actions, starts=None):
    shape = actions.shape
    out = Episodes(
        start=np.zeros((shape[0], 4)),
        actions=actions,
        physics=np.zeros((*shape, 4)),
        obs=np.zeros((*shape, 8), np.float32),
        reward=np.zeros(shape),
        discount=np.zeros(shape),
        length=np.zeros(shape[0], int),
    )
    env = BsuiteCartpole(seed=difficulty, **sweep.SETTINGS[difficulty])
    for i, sequence in enumerate(actions):
        env.reset()
        if starts is not None:
            env._state = BsuiteState(*starts[i], time_elapsed=0.0)
        out.start[i] = env._state[:4]
        for t, action in enumerate(sequence):
            timestep = env.step(action)
            out.physics[i, t] = env._state[:4]
            out.obs[i, t] = timestep.observation[0]
            out.reward[i, t] = timestep.reward
            out.discount[i, t] = timestep.discount
            if timestep.last():
                out.length[i] = t + 1
                break
    return out


@lru_cache
def random_episodes(difficulty):
    """200 sequences of uniform random actions from bsuite's own starts."""
    rng = np.random.default_rng(difficulty)
    return run_bsuite(difficulty, rng.integers(0, 3, (200, MAX_STEPS)))


def run_ours(difficulty, theirs, dtype):
    """Our TimeSteps [episode, step] from the same starts with the same actions."""
    env = CartpoleSwingup(difficulty)
    x, x_dot, theta, theta_dot = theirs.start.T
    state = CartpoleState(
        *(jnp.asarray(value, dtype) for value in (x, x_dot, theta - np.pi, theta_dot)),
        steps=jnp.zeros(len(x), jnp.int32),
    )

    def episode(state, actions):
        def body(state, action):
            timestep = env.step(state, action, jax.random.key(0))
            return timestep.state, timestep

        return jax.lax.scan(body, state, actions)[1]

    return jax.jit(jax.vmap(episode))(state, jnp.asarray(theirs.actions, jnp.int32))


def assert_same(ours, theirs, during, atol):
    np.testing.assert_allclose(ours.obs[during], theirs.obs[during], rtol=0, atol=atol)
    np.testing.assert_allclose(ours.reward[during], theirs.reward[during], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ours.discount[during], theirs.discount[during])


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_first_200_steps_are_bsuites_in_float32(difficulty):
    theirs = random_episodes(difficulty)
    during = theirs.during & (np.arange(MAX_STEPS) < 200)
    ours = run_ours(difficulty, theirs, jnp.float32)
    assert ours.obs.dtype == jnp.float32
    assert_same(ours, theirs, during, atol=1e-5)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_whole_episodes_are_bsuites_in_float64(difficulty, x64):
    theirs = random_episodes(difficulty)
    ours = run_ours(difficulty, theirs, jnp.float64)
    assert ours.obs.dtype == jnp.float64
    assert_whole_episodes(ours, theirs)
    # Both ways to end have been seen: off the rail, and at the time-out (with discount 0).
    assert (theirs.length == MAX_STEPS).any()
    assert (theirs.length < MAX_STEPS).any()
    assert (theirs.discount[:, -1][theirs.length == MAX_STEPS] == 0).all()


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_rewarded_states_are_bsuites_in_float64(difficulty, x64):
    """Random actions never swing the pole up, so start there: upright and elsewhere, any speed."""
    rng = np.random.default_rng(100 + difficulty)
    starts = rng.uniform([-1.2, -1, -1, -1.5], [1.2, 1, 1, 1.5], (100, 4))
    starts[:50] *= [0.02, 0.1, 0.2, 0.3]
    starts[:, 2] %= 2 * np.pi
    held = np.repeat(rng.integers(0, 3, (100, 112)), 9, axis=1)[:, :MAX_STEPS]
    theirs = run_bsuite(difficulty, held, starts)
    assert_whole_episodes(run_ours(difficulty, theirs, jnp.float64), theirs)
    assert (theirs.reward > 0.5).sum() > 100, "too few rewarded steps to say anything"
    assert (np.abs(np.diff(theirs.physics[..., 2], axis=1)) > 5).any(), "no full turn was made"


def assert_whole_episodes(ours, theirs):
    during = theirs.during
    assert_same(ours, theirs, during, atol=1e-6)  # bsuite rounds its observations to float32
    np.testing.assert_array_equal(np.asarray(ours.last).argmax(axis=1) + 1, theirs.length)
    x, x_dot, swing, theta_dot, _ = ours.state
    physics = np.stack([x, x_dot, swing + np.pi, theta_dot], axis=-1)
    np.testing.assert_allclose(physics[during], theirs.physics[during], rtol=0, atol=1e-8)


def test_starts_are_spread_like_bsuites():
    env = CartpoleSwingup(10)
    state, obs = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 5000))
    assert obs.shape == (5000, 8)
    assert (np.asarray(state.steps) == 0).all()
    start = np.stack(state[:4])
    theirs = np.stack([random_episodes(n).start for n in DIFFICULTIES]).reshape(-1, 4).T
    theirs[2] -= np.pi
    for ours_i, theirs_i in zip(start, theirs, strict=True):
        uniform = stats.uniform(-START_RANGE, 2 * START_RANGE)
        assert stats.kstest(ours_i, uniform.cdf).pvalue > 1e-3
        assert stats.kstest(theirs_i, uniform.cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(start) - np.eye(4)).max() < 0.06


def test_types_and_static_use():
    env = CartpoleSwingup(10)
    assert env == CartpoleSwingup(10)
    assert hash(env) == hash(CartpoleSwingup(10))
    step = jax.jit(CartpoleSwingup.step, static_argnums=0)
    state, obs = env.reset(jax.random.key(0))
    timestep = step(env, state, jnp.int32(2), jax.random.key(0))
    assert timestep.obs.dtype == obs.dtype == jnp.float32
    assert (timestep.reward.dtype, timestep.discount.dtype) == (jnp.float32, jnp.float32)
    assert timestep.last.dtype == jnp.bool_
    assert jax.tree.map(jnp.result_type, state) == jax.tree.map(jnp.result_type, timestep.state)
    assert env.observation_space.contains(np.asarray(timestep.obs))


def test_the_time_out_ends_with_discount_zero_inside_the_observation_space():
    env = CartpoleSwingup(0)
    state, _ = env.reset(jax.random.key(0))
    before = env.step(state._replace(steps=jnp.int32(MAX_STEPS - 2)), jnp.int32(1), None)
    at = env.step(before.state, jnp.int32(1), None)
    assert (bool(before.last), float(before.discount)) == (False, 1.0)
    assert (bool(at.last), float(at.discount)) == (True, 0.0)
    assert env.observation_space.contains(np.asarray(at.obs))


@pytest.mark.parametrize("difficulty", [-1, 20, 25, 1.5])
def test_impossible_difficulties(difficulty):
    with pytest.raises(UsageError, match=f"range 0–19, got {difficulty}"):
        CartpoleSwingup(difficulty)


def test_a_step_says_whether_it_was_rewarded():
    env = CartpoleSwingup(0)
    still = jnp.float32(0)
    hanging = CartpoleState(still, still, still, still, steps=jnp.int32(0))
    for state, rewarded in ((hanging, 0), (hanging._replace(swing=jnp.float32(math.pi)), 1)):
        for action, cost in ((0, 0.1), (1, 0.0)):
            step = env.step(state, jnp.int32(action), jax.random.key(0))
            assert step.info == {"rewarded": rewarded}
            assert float(step.reward) == pytest.approx(rewarded - cost)
