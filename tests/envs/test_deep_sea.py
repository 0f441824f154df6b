"""Deep Sea against bsuite 0.3.6: every transition, and the statistics of the stochastic task."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.environments.deep_sea import DeepSea as BsuiteDeepSea
from scipy import stats

from isl.envs.deep_sea import MOVE_COST, DeepSea, DeepSeaState, action_mapping
from isl.errors import UsageError


def roll_out(env, actions, keys=None):
    """One episode per row of `actions`: (first observations, the TimeSteps [episode, step])."""
    if keys is None:
        keys = jnp.broadcast_to(jax.random.key(0), actions.shape)

    def episode(actions, keys):
        state, obs = env.reset(keys[0])

        def body(state, action_and_key):
            timestep = env.step(state, *action_and_key)
            return timestep.state, timestep

        return obs, jax.lax.scan(body, state, (actions, keys))[1]

    return jax.jit(jax.vmap(episode))(actions, keys)


def random_actions(size, mapping_seed, rng):
    """200 uniform sequences, and 50 that dive right most of the time, to get to the goal."""
    uniform = rng.integers(0, 2, (200, size))
    diving = np.empty((50, size), int)
    for actions in diving:
        column = 0
        for row in range(size):
            right = rng.random() > 0.5 / size
            right_action = action_mapping(size, mapping_seed)[row, column]
            actions[row] = right_action if right else 1 - right_action
            column = min(max(column + (1 if right else -1), 0), size - 1)
    return np.concatenate([uniform, diving])


@pytest.mark.parametrize(
    ("size", "mapping_seed"), [(2, 42), (5, 42), (10, 42), (20, 42), (50, 42), (10, 7)]
)
def test_every_transition_is_bsuites(size, mapping_seed):
    actions = random_actions(size, mapping_seed, np.random.default_rng(size))
    obs = np.zeros((*actions.shape, size, size), np.float32)
    reward, discount = np.zeros(actions.shape), np.zeros(actions.shape)
    last = np.zeros(actions.shape, bool)
    bsuite = BsuiteDeepSea(size, mapping_seed=mapping_seed)
    for episode, sequence in enumerate(actions):
        first = bsuite.reset()
        assert first.observation[0, 0] == 1.0
        for t, action in enumerate(sequence):
            timestep = bsuite.step(action)
            obs[episode, t] = timestep.observation
            reward[episode, t] = timestep.reward
            discount[episode, t] = timestep.discount
            last[episode, t] = timestep.last()

    first_obs, ours = roll_out(DeepSea(size, mapping_seed=mapping_seed), jnp.asarray(actions))
    assert (np.asarray(first_obs) == 0).all()
    cells = obs.reshape(*actions.shape, size**2)
    assert (cells[:, :-1].sum(-1) == 1).all()
    np.testing.assert_array_equal(ours.obs[:, :-1], cells[:, :-1].argmax(-1))
    np.testing.assert_array_equal(ours.last, last)
    np.testing.assert_array_equal(ours.discount, discount)
    np.testing.assert_allclose(ours.reward, reward, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ours.info["goal"], reward > 0.5)
    assert (reward > 0.5).any(), "no sequence reached the goal: the test saw too little"
    # bsuite shows an empty grid after the last move; a number cannot, and stays in the last row.
    assert (obs[:, -1] == 0).all()
    assert (np.asarray(ours.obs[:, -1]) // size == size - 1).all()


def test_the_best_return_is_one_less_the_cost_of_moving():
    size = 30
    always_right = jnp.asarray(np.diag(action_mapping(size, 42)))[None]
    _, ours = roll_out(DeepSea(size), always_right)
    assert float(ours.reward.sum()) == pytest.approx(1 - MOVE_COST, abs=1e-6)
    assert int(ours.info["goal"].sum()) == 1


def every_reachable_move(size, samples):
    """The stochastic task's answer to each (row, column, direction): arrays [move, sample]."""
    env = DeepSea(size, stochastic=True)
    moves = np.array([(r, c, d) for r in range(size) for c in range(r + 1) for d in (0, 1)])
    row, column, right = moves.T
    action = np.where(right, (m := action_mapping(size, 42))[row, column], 1 - m[row, column])
    keys = jax.random.split(jax.random.key(3), (len(moves), samples))
    step = jax.vmap(jax.vmap(env.step, (None, None, 0)), (0, 0, 0))
    state = DeepSeaState(jnp.asarray(row, jnp.int32), jnp.asarray(column, jnp.int32))
    return row, column, right.astype(bool), jax.jit(step)(state, jnp.asarray(action), keys)


@pytest.mark.parametrize("size", [2, 6, 20])
def test_right_slips_once_in_n_and_left_never(size):
    samples = 2000
    row, column, right, ours = every_reachable_move(size, samples)
    new_column = np.asarray(ours.state.column)
    np.testing.assert_array_equal(ours.state.row, np.tile(row[:, None] + 1, samples))
    np.testing.assert_array_equal(
        new_column[~right], np.tile(np.maximum(column[~right, None] - 1, 0), samples)
    )
    inside = right & (column < size - 1)  # at the wall a slip cannot be seen
    assert (new_column[right & (column == size - 1)] == size - 1).all()
    shift = new_column[inside] - column[inside, None]
    assert set(np.unique(shift)) == {0, 1}
    slips = (shift == 0).sum(axis=1)
    # Every cell on its own, and all together.
    smallest_p = min(stats.binomtest(int(k), samples, 1 / size).pvalue for k in set(slips))
    assert smallest_p * len(slips) > 1e-3
    assert stats.binomtest(int(slips.sum()), shift.size, 1 / size).pvalue > 1e-3


@pytest.mark.parametrize("size", [2, 6, 20])
def test_noise_is_standard_normal_in_the_two_end_cells_and_nowhere_else(size):
    row, column, right, ours = every_reachable_move(size, samples=2000)
    goal = right & (column == size - 1)
    np.testing.assert_array_equal(ours.info["goal"], np.tile(goal[:, None], 2000))
    plain = goal - right * MOVE_COST / size  # the cost is paid even when the move slips
    noise = np.asarray(ours.reward, np.float64) - plain[:, None]
    noisy = (row == size - 1) & ((column == 0) | (column == size - 1))
    np.testing.assert_allclose(noise[~noisy], 0, atol=1e-7)
    assert noisy.sum() == 4  # two cells, two directions
    for sample in noise[noisy]:
        assert stats.kstest(sample, "norm").pvalue > 1e-3
    # The spread on its own: far sharper than the shape test if only the scale is off.
    spread = stats.chi2(noise[noisy].size).cdf((noise[noisy] ** 2).sum())
    assert 1e-3 < spread < 1 - 1e-3
    # bsuite agrees on where the noise is.
    bsuite = BsuiteDeepSea(size, deterministic=False, seed=0, mapping_seed=42)
    for r, c, is_right, is_noisy in zip(row, column, right, noisy, strict=True):
        right_action = action_mapping(size, 42)[r, c]
        rewards = set()
        for _ in range(3):
            bsuite.reset()
            bsuite._row, bsuite._column = r, c
            rewards.add(bsuite.step(right_action if is_right else 1 - right_action).reward)
        assert (len(rewards) > 1) == is_noisy


def test_slip_and_noise_do_not_know_of_each_other():
    size, samples = 4, 20_000
    env = DeepSea(size, stochastic=True)
    state = DeepSeaState(jnp.int32(size - 1), jnp.int32(0))
    keys = jax.random.split(jax.random.key(0), samples)
    right = jnp.asarray(action_mapping(size, 42)[size - 1, 0])
    ours = jax.jit(jax.vmap(env.step, (None, None, 0)))(state, right, keys)
    slipped = np.asarray(ours.state.column) == 0
    assert stats.ks_2samp(ours.reward[slipped], ours.reward[~slipped]).pvalue > 1e-3


def test_always_right_finds_the_stochastic_goal_as_often_as_it_should():
    size, episodes = 10, 20_000
    env = DeepSea(size, stochastic=True)
    mapping = jnp.asarray(action_mapping(size, 42))

    def dive(key):
        def body(state, key):
            timestep = env.step(state, mapping[state.row, state.column], key)
            return timestep.state, timestep.info["goal"]

        return jax.lax.scan(body, env.reset(key)[0], jax.random.split(key, size))[1].sum()

    goals = int(jax.jit(jax.vmap(dive))(jax.random.split(jax.random.key(1), episodes)).sum())
    assert stats.binomtest(goals, episodes, (1 - 1 / size) ** (size - 1)).pvalue > 1e-3


def test_types_and_static_use():
    env = DeepSea(5, stochastic=True)
    assert env == DeepSea(5, stochastic=True)
    assert hash(env) == hash(DeepSea(5, stochastic=True))
    assert env != DeepSea(5, stochastic=True, mapping_seed=1)
    step = jax.jit(DeepSea.step, static_argnums=0)
    state, obs = env.reset(jax.random.key(0))
    timestep = step(env, state, jnp.int32(1), jax.random.key(0))
    assert (timestep.reward.dtype, timestep.discount.dtype) == (jnp.float32, jnp.float32)
    assert (timestep.last.dtype, timestep.info["goal"].dtype) == (jnp.bool_, jnp.int32)
    assert timestep.obs.dtype == obs.dtype == jnp.int32
    assert jax.tree.map(jnp.result_type, state) == jax.tree.map(jnp.result_type, timestep.state)
    assert env.observation_space.contains(int(timestep.obs))


@pytest.mark.parametrize("size", [1, 0, -4, 2.5, 10**6])
def test_impossible_sizes(size):
    with pytest.raises(UsageError, match=f"size must be a whole number ≥ 2.*got {size}"):
        DeepSea(size)


def test_impossible_mapping_seed():
    with pytest.raises(UsageError, match=r"mapping seed must be .* from 0 .* got -1"):
        DeepSea(5, mapping_seed=-1)
