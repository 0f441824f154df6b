"""The Gymnasium versions: Gymnasium's own checks, and the same numbers as the compiled tasks."""

from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.environments.deep_sea import DeepSea as BsuiteDeepSea
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from scipy import stats

from isl.envs.cartpole_swingup import CartpoleState
from isl.envs.deep_sea import action_mapping
from isl.errors import UsageError

DEEP_SEA, CARTPOLE = "isl/DeepSea-v0", "isl/CartpoleSwingup-v0"


@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        (DEEP_SEA, {}),
        (DEEP_SEA, {"size": 20, "stochastic": False, "mapping_seed": 42}),
        (DEEP_SEA, {"size": 6, "stochastic": True}),
        (DEEP_SEA, {"size": 6, "one_hot": True}),
        (CARTPOLE, {}),
        (CARTPOLE, {"difficulty": 19}),
    ],
)
def test_gymnasium_finds_nothing_to_complain_about(env_id, options, render_mode):
    check_env(gymnasium.make(env_id, render_mode=render_mode, **options).unwrapped)


def test_vector_environments():
    envs = gymnasium.make_vec(DEEP_SEA, num_envs=3, size=4)
    obs, _ = envs.reset(seed=0)
    assert obs.tolist() == [0, 0, 0]
    envs.close()


@partial(jax.jit, static_argnums=0)
def scan_task(task, state, actions):
    def body(state, action):
        timestep = task.step(state, action, jax.random.key(0))
        return timestep.state, timestep

    return jax.lax.scan(body, state, actions)[1]


def test_deep_sea_equals_the_compiled_task():
    rng = np.random.default_rng(0)
    env = gymnasium.make(DEEP_SEA, size=4, mapping_seed=3)
    task = env.unwrapped.task
    goals = 0
    for actions in rng.integers(0, 2, (50, 4)):
        obs, _ = env.reset()
        state, first = task.reset(jax.random.key(0))
        assert obs == int(first)
        ours = scan_task(task, state, actions)
        steps = [env.step(action) for action in actions]
        obs, reward, terminated, truncated, info = zip(*steps, strict=True)
        np.testing.assert_array_equal(ours.obs, obs)
        np.testing.assert_allclose(ours.reward, reward, atol=1e-6)
        np.testing.assert_array_equal(ours.last, terminated)
        assert not any(truncated)
        np.testing.assert_array_equal(ours.info["goal"], [i["goal"] for i in info])
        goals += info[-1]["goal"]
    assert goals > 0


def test_one_hot_observations_are_bsuites_grid():
    rng = np.random.default_rng(1)
    env = gymnasium.make(DEEP_SEA, size=6, one_hot=True)
    bsuite = BsuiteDeepSea(6, mapping_seed=42)
    for _ in range(20):
        np.testing.assert_array_equal(env.reset()[0], bsuite.reset().observation)
        for action in rng.integers(0, 2, 6):
            theirs = bsuite.step(action)
            obs, reward, terminated, _, _ = env.step(action)
            np.testing.assert_array_equal(obs, theirs.observation)
            assert obs.dtype == np.float32
            assert reward == pytest.approx(theirs.reward, abs=1e-12)
            assert terminated == theirs.last()
        assert not obs.any()  # the terminal observation


def test_stochastic_deep_sea_slips_and_is_noisy_at_the_end():
    size, episodes = 4, 3000
    env = gymnasium.make(DEEP_SEA, size=size, stochastic=True).unwrapped
    mapping = action_mapping(size, 42)
    env.reset(seed=0)
    found, inner_noise, goal_noise = 0, [], []
    for _ in range(episodes):
        obs, _ = env.reset()
        for row in range(size):
            column = obs % size
            obs, reward, _, _, info = env.step(mapping[row, column])
            noise = reward - info["goal"] + 0.01 / size
            if info["goal"]:
                goal_noise.append(noise)
            elif (row, column) != (size - 1, 0):
                inner_noise.append(noise)
        found += info["goal"]
    np.testing.assert_allclose(inner_noise, 0, atol=1e-12)
    assert stats.kstest(goal_noise, "norm").pvalue > 1e-3
    assert 1e-3 < stats.chi2(len(goal_noise)).cdf(np.square(goal_noise).sum()) < 1 - 1e-3
    assert stats.binomtest(found, episodes, (1 - 1 / size) ** (size - 1)).pvalue > 1e-3


@pytest.mark.parametrize("difficulty", [0, 10, 19])
def test_cartpole_equals_the_compiled_task(difficulty, x64):
    rng = np.random.default_rng(difficulty)
    env = gymnasium.make(CARTPOLE, difficulty=difficulty).unwrapped
    rewarded = 0
    for start in ("hanging", "upright"):
        env.reset(seed=difficulty)
        if start == "upright":
            env._swing = 3.1
        start_state = (env._x, env._x_dot, env._swing, env._theta_dot)
        state = CartpoleState(*(jnp.asarray(value) for value in start_state), jnp.int32(0))
        np.testing.assert_allclose(env._observation(), env.task.observe(state), atol=1e-6)
        actions = np.repeat(rng.integers(0, 3, 112), 9)[:1001]
        ours = scan_task(env.task, state, actions)
        for t, action in enumerate(actions):
            obs, reward, terminated, truncated, _ = env.step(action)
            np.testing.assert_allclose(obs, ours.obs[t], atol=2e-6)
            assert reward == pytest.approx(float(ours.reward[t]), abs=1e-6)
            assert terminated == bool(ours.last[t])
            assert not truncated
            rewarded += reward > 0.5
            if terminated:
                break
        assert terminated
    assert rewarded > 0


@pytest.mark.parametrize("env_id", [DEEP_SEA, CARTPOLE])
def test_the_seed_decides_everything(env_id):
    def episode(seed):
        options = {"size": 5, "stochastic": True} if env_id == DEEP_SEA else {}
        env = gymnasium.make(env_id, **options)
        trace = [np.asarray(env.reset(seed=seed)[0])]
        for _ in range(3):
            terminated = False
            for action in [0, 1] * 10:
                if terminated:
                    break
                obs, reward, terminated, _, _ = env.step(action)
                trace += [np.asarray(obs), np.asarray(reward)]
            env.reset()
        return np.concatenate([np.ravel(part) for part in trace])

    np.testing.assert_array_equal(episode(1), episode(1))
    assert not np.array_equal(episode(1), episode(2))


@pytest.mark.parametrize("env_id", [DEEP_SEA, CARTPOLE])
def test_misuse_is_named(env_id):
    env = gymnasium.make(env_id).unwrapped
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(UsageError, match=r"action must be one of \[0, 1.*, got 7"):
        env.step(7)
    while not env.step(0)[2]:
        pass
    with pytest.raises(ResetNeeded, match="episode is over"):
        env.step(0)
    with pytest.raises(UsageError, match="render_mode must be"):
        type(env)(render_mode="human")


def test_bad_options_are_named():
    with pytest.raises(UsageError, match="size must be"):
        gymnasium.make(DEEP_SEA, size=1)
    with pytest.raises(UsageError, match="range 0–19"):
        gymnasium.make(CARTPOLE, difficulty=20)


def test_the_picture_of_deep_sea_follows_the_dive():
    size = 4
    env = gymnasium.make(DEEP_SEA, size=size, render_mode="rgb_array")
    env.reset()
    pictures = [env.render()]
    for i in range(size):
        env.step(action_mapping(size, 42)[i, i])
        pictures.append(env.render())
    assert pictures[0].shape == (560, 512, 3)
    assert pictures[0].dtype == np.uint8
    helmet = np.array([250, 176, 48])
    places = []
    for picture in pictures:
        y, x = np.nonzero((np.abs(picture.astype(int) - helmet) < 4).all(-1) & in_water(picture))
        places.append((y.mean(), x.mean()))
    steps_down = np.diff(places, axis=0)
    np.testing.assert_allclose(steps_down[:-1], 464 / size, atol=3)  # one cell down and right
    np.testing.assert_allclose(steps_down[-1], 0, atol=1)  # the last cell, treasure in hand
    chest = np.s_[520:556, 400:460]
    assert pictures[-1][chest].mean() > pictures[-2][chest].mean() + 10  # it shines now


def in_water(picture):
    rows = np.arange(picture.shape[0])
    return ((rows >= 48) & (rows < 512))[:, None]


def test_the_picture_of_cartpole_shows_the_pole_and_the_pay():
    env = gymnasium.make(CARTPOLE, difficulty=10, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(1)
    hanging = env.render()
    env.unwrapped._swing = np.pi
    env.unwrapped._x = env.unwrapped._theta_dot = env.unwrapped._x_dot = 0.0
    env.step(1)
    upright = env.render()
    assert hanging.shape == (384, 672, 3)
    above, below = np.s_[140:200, 333:339], np.s_[250:310, 333:339]
    assert (upright[above].astype(int) - hanging[above]).mean() < -30  # the pole is there now
    assert (upright[below].astype(int) - hanging[below]).mean() > 30
    green = (np.abs(upright.astype(int) - [38, 166, 110]) < 4).all(-1)
    assert green[140:200, 333:339].all()  # and it earns
    assert [bool(green[26, 36 + 92 * i]) for i in range(3)] == [True] * 3
    dull = (np.abs(hanging.astype(int) - [38, 166, 110]) < 4).all(-1)
    assert [bool(dull[26, 36 + 92 * i]) for i in range(3)] == [False, True, True]


def test_without_a_render_mode_nothing_is_drawn():
    for env_id in (DEEP_SEA, CARTPOLE):
        env = gymnasium.make(env_id).unwrapped
        env.reset()
        assert env.render() is None
