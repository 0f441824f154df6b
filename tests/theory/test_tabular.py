"""Eq. (tabular), the Gymnasium loop, and Deep Sea 20 where dithering fails."""

from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from isl.theory import tabular
from isl.theory.tabular import TabularConfig, TabularISL
from tests.reference import exploration as reference

SIZE = 20


def play_deep_sea(act, learn, tables, episodes, key):
    """Goal visits up to each episode of Deep Sea, compiled: bsuite's rules, mapping 42."""
    mapping = jnp.asarray(np.random.RandomState(42).binomial(1, 0.5, (SIZE, SIZE)))

    def step(carry, row):
        tables, column, visits, key = carry
        key, draw = jax.random.split(key)
        obs = row * SIZE + column
        action = act(tables, obs, draw)
        right = action == mapping[row, column]
        goal = right & (column == SIZE - 1)
        reward = goal - right * 0.01 / SIZE
        next_column = jnp.clip(column + jnp.where(right, 1, -1), 0, SIZE - 1)
        next_obs = jnp.minimum(row + 1, SIZE - 1) * SIZE + next_column
        tables = learn(tables, obs, action, reward, next_obs, row == SIZE - 1)
        return (tables, next_column, visits + goal, key), None

    def episode(carry, _):
        tables, visits, key = carry
        start = (tables, jnp.int32(0), visits, key)
        (tables, _, visits, key), _ = lax.scan(step, start, jnp.arange(SIZE))
        return (tables, visits, key), visits

    return lax.scan(episode, (tables, jnp.int32(0), key), None, episodes)[1]


@partial(jax.jit, static_argnums=(0, 1))
def visits_of_seeds(play, episodes, keys):
    return jax.vmap(lambda key: play(episodes, key))(keys)


def isl_plays(episodes, key):
    config = TabularConfig()
    tables = tabular.init(config, SIZE * SIZE, 2)
    act, learn = partial(tabular.act, config), partial(tabular.update, config)
    return play_deep_sea(act, learn, tables, episodes, key)


def q_learning_plays(episodes, key):
    """ε-greedy (0.1, ties at random), the same step size and discount."""

    def act(q, obs, key):
        explore, break_ties, arbitrary = jax.random.split(key, 3)
        row = q[obs]
        best = jnp.where(row == row.max(), 0.0, -jnp.inf)
        greedy = jax.random.categorical(break_ties, best)
        return jnp.where(
            jax.random.uniform(explore) < 0.1, jax.random.randint(arbitrary, (), 0, 2), greedy
        )

    def learn(q, obs, action, reward, next_obs, terminated):
        target = reward + 0.99 * (1.0 - terminated) * q[next_obs].max()
        return q.at[obs, action].add(0.5 * (target - q[obs, action]))

    return play_deep_sea(act, learn, jnp.zeros((SIZE * SIZE, 2)), episodes, key)


def test_deep_sea_20_is_solved_by_every_seed_and_not_by_dithering():
    keys = jax.random.split(jax.random.key(0), 10)
    visits = np.asarray(visits_of_seeds(isl_plays, 1200, keys))
    assert (visits[:, -1] >= 10).all(), (visits >= 10).argmax(-1) + 1
    dithering = np.asarray(visits_of_seeds(q_learning_plays, 1200, keys))
    assert (dithering[:, -1] < 10).all()


def naive_update(c, q, rho, ell, s, a, r, s_next, terminated):
    """Eq. (tabular) line by line, in place, with the plain twin of v*."""
    discount = 0.0 if terminated else c.gamma
    value = reference.solve(q[s_next], ell[s_next], c.kappa)[1]
    delta = r + discount * value - q[s, a]
    ahead = ell[s_next].max() + (q[s_next].max() - value if c.sound else 0.0)
    q[s, a] += c.mu_q * delta
    rho[s, a] += c.mu_rho * (delta - rho[s, a])
    surprise = (1 - c.eta1) * abs(delta) + c.eta1 * abs(rho[s, a])
    ell[s, a] = max(ell[s, a] + c.mu_ell * (surprise + discount * ahead - ell[s, a]), c.ell_min)


@pytest.mark.parametrize("sound", [False, True])
@pytest.mark.parametrize("actions", [2, 4])
def test_step_is_the_papers_update(actions, sound):
    options = {"gamma": 0.9, "kappa": 2.0, "mu_q": 0.3, "mu_rho": 0.2, "mu_ell": 0.4, "eta1": 0.7}
    learner = TabularISL(5, actions, **options, sound=sound)
    q, rho, ell = np.zeros((5, actions)), np.zeros((5, actions)), np.full((5, actions), 10.0)
    rng = np.random.default_rng(0)
    for _ in range(100):
        s, s_next, a = rng.integers(5), rng.integers(5), rng.integers(actions)
        reward, terminated = rng.normal(), rng.random() < 0.2
        # From the learner's own numbers, so that rounding does not add up over the steps.
        q, rho, ell = (t.astype(np.float64) for t in (learner.q, learner.rho, learner.ell))
        learner.step(s, a, reward, s_next, terminated)
        naive_update(learner.config, q, rho, ell, s, a, reward, s_next, terminated)
        for ours, naive in ((learner.q, q), (learner.rho, rho), (learner.ell, ell)):
            np.testing.assert_allclose(ours, naive, rtol=2e-5, atol=2e-5)


def test_the_end_of_an_episode_leaves_nothing_uncertain_but_a_truncation_does():
    learner = TabularISL(2, 2, mu_ell=1.0, mu_q=1.0)
    for _ in range(2):
        learner.step(0, 0, 1.0, 1, terminated=True)
    assert learner.q[0, 0] == 1.0
    assert learner.ell[0, 0] == np.float32(1e-12)
    learner.step(0, 1, 1.0, 1, terminated=False)
    assert learner.ell[0, 1] == pytest.approx(1.0 + 0.99 * 100)


def test_acts_by_the_uncertainty_constrained_policy():
    learner = TabularISL(1, 2, mu_ell=1.0, mu_q=1.0, ell_init=1.5, seed=3)
    learner.step(0, 0, 0.5, 0, terminated=True)  # q = (0.5, 0), ℓ = (0.5, 1.5)
    expected, _ = reference.solve([0.5, 0.0], [0.5, 1.5], 1.0)
    assert 0.1 < expected[0] < 0.9
    draws = np.array([learner.act(0) for _ in range(1500)])
    assert np.mean(draws == 0) == pytest.approx(expected[0], abs=0.05)
    assert learner.act(0, explore=False) == 0
    again = TabularISL(1, 2, mu_ell=1.0, mu_q=1.0, ell_init=1.5, seed=3)
    again.step(0, 0, 0.5, 0, terminated=True)
    assert [again.act(0) for _ in range(20)] == draws[:20].tolist()


def test_learns_frozen_lake_through_gymnasium():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    learner = TabularISL.for_env(env, seed=0)
    for episode in range(150):
        obs, _ = env.reset(seed=episode)
        over = False
        while not over:
            action = learner.act(obs)
            next_obs, reward, terminated, truncated, _ = env.step(action)
            learner.step(obs, action, reward, next_obs, terminated)
            obs, over = next_obs, terminated or truncated
    obs, _ = env.reset(seed=0)
    rewards = []
    for _ in range(6):  # the shortest way to the goal
        obs, reward, *_ = env.step(learner.act(obs, explore=False))
        rewards.append(reward)
    assert sum(rewards) == 1


def test_spaces_that_do_not_begin_at_zero():
    class Shifted:
        observation_space = gymnasium.spaces.Discrete(3, start=5)
        action_space = gymnasium.spaces.Discrete(2, start=-1)

    learner = TabularISL.for_env(Shifted())
    learner.step(7, 0, 1.0, 5, terminated=True)
    assert learner.q[2, 1] > 0
    assert learner.act(7, explore=False) == 0
    assert learner.act(6) in (-1, 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gamma": 1.0}, "gamma is 1.0"),
        ({"kappa": 0.0}, "kappa is 0.0"),
        ({"ell_min": -1.0}, "ell_min is -1.0"),
        ({"ell_init": 0.0}, "ell_init is 0.0"),
        ({"mu_q": 1.5}, "mu_q is 1.5"),
        ({"eta1": -0.1}, "eta1 is -0.1"),
    ],
)
def test_bad_options_are_named(options, says):
    with pytest.raises(ValueError, match=says):
        TabularISL(2, 2, **options)


def test_other_spaces_are_refused():
    with pytest.raises(ValueError, match="observation_space is Box"):
        TabularISL.for_env(gymnasium.make("CartPole-v1"))
    with pytest.raises(ValueError, match="num_states is 0"):
        TabularISL(0, 2)
