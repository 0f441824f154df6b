"""Stretches of steps: what is handed on, beside a plain computation in NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

import isl
from isl.agents import base
from isl.agents.base import Agent, Schedule, Transition
from isl.agents.wrappers import scale_rewards
from isl.agents.wrappers.stretches import over_the_stretch, with_stretches
from isl.errors import UsageError

SPACE, ACTIONS, GAMMA, LONGEST = Box(0, 100, (1,), np.float32), 3, 0.9, 4
KEY = jax.random.key(0)


def plain() -> Agent:
    """Learns nothing, stores what it is given."""
    return Agent(
        Schedule(1, 1, 1, 1, 10, 1, False),
        lambda key: (),
        base.no_episode,
        lambda learner, episode, obs, key, mask=None: jnp.int32(0),
        lambda learner, obs, mask=None: jnp.int32(0),
        base.store_as_is,
        lambda learner, target, batch, key: (learner, {}),
        lambda learner: (),
        lambda learner, obs: {},
    )


AGENT = with_stretches(plain(), SPACE, ACTIONS, GAMMA, LONGEST)
TRACK = jax.jit(AGENT.track)


def step(at: int, reward: float, end: bool = False, masked: bool = False) -> Transition:
    """From `at` to `at + 1`; the action and the mask tell where it was."""
    mask = jnp.arange(ACTIONS) == at % ACTIONS if masked else None
    here, there = jnp.full(1, at, jnp.float32), jnp.full(1, at + 1, jnp.float32)
    action, discount = jnp.int32(at % ACTIONS), jnp.float32(0 if end else 1)
    return Transition(here, action, jnp.float32(reward), discount, there, mask, mask)


def walk(seed: int, rewards: list[float], masked: bool = False) -> list[Transition]:
    """What the agent stores of one episode that ends with its last reward."""
    episode, stored = AGENT.begin_episode((), jax.random.key(seed)), []
    for at, reward in enumerate(rewards):
        end = at == len(rewards) - 1
        _, episode, now = TRACK((), episode, step(at, reward, end, masked), jnp.bool_(end))
        stored.append(AGENT.observe((), now, KEY)[1])
    return stored


@pytest.mark.parametrize("masked", [False, True])
def test_a_stretch_is_the_discounted_sum_of_its_steps(masked):
    rewards = list(np.random.default_rng(0).normal(size=9).astype(float))
    lengths = set()
    for seed in range(5):
        for at, now in enumerate(walk(seed, rewards, masked)):
            begin = int(now.since.obs[0])
            lengths.add(at - begin + 1)
            expected = sum(GAMMA**i * r for i, r in enumerate(rewards[begin : at + 1]))
            np.testing.assert_allclose(now.since.reward, expected, rtol=1e-5)
            assert int(now.since.action) == begin % ACTIONS
            ends = at == len(rewards) - 1
            kept = 0.0 if ends else GAMMA ** (at - begin)
            np.testing.assert_allclose(now.since.discount, kept, rtol=1e-6)
            if masked:
                np.testing.assert_array_equal(now.since.mask, np.arange(ACTIONS) == begin % ACTIONS)
            else:
                assert now.since.mask is None
            assert float(now.reward) == np.float32(rewards[at])  # the step itself is as it was
    assert lengths == {1, 2, 3, 4}


@pytest.mark.parametrize("wanders", [True, False])
def test_where_the_agent_wanders_a_stretch_is_one_step(wanders):
    agent = with_stretches(
        plain(), SPACE, ACTIONS, GAMMA, LONGEST, wanders=lambda inner: jnp.bool_(wanders)
    )
    lengths = set()
    for seed in range(8):
        episode = agent.begin_episode((), jax.random.key(seed))
        for at in range(6):
            _, episode, now = agent.track((), episode, step(at, 1.0), jnp.bool_(False))
            lengths.add(at + 1 - int(now.since.obs[0]))
    assert lengths == ({1} if wanders else {1, 2, 3, 4})


def test_lengths_are_drawn_evenly_and_never_reach_behind_the_beginning():
    stored = [walk(seed, [1.0] * 6) for seed in range(200)]
    assert all(float(now.since.obs[0]) >= 0 for episode in stored for now in episode)
    assert {float(episode[0].since.obs[0]) for episode in stored} == {0.0}
    begins = np.array([float(episode[5].since.obs[0]) for episode in stored])
    counts = np.array([np.sum(begins == at) for at in (2, 3, 4, 5)])
    assert counts.sum() == 200  # at most four steps back
    assert np.sum((counts - 50) ** 2 / 50) < 16.3  # χ² with 3 degrees of freedom, p = 0.001


def test_the_next_episode_begins_without_a_past():
    first = AGENT.begin_episode((), KEY)
    for at in range(5):
        _, first, _ = TRACK((), first, step(at, 1.0), jnp.bool_(at == 4))
    _, _, now = TRACK((), AGENT.begin_episode((), KEY), step(50, 2.0), jnp.bool_(False))
    assert float(now.since.obs[0]) == 50
    assert float(now.since.reward) == 2


def test_over_the_stretch():
    now = walk(3, [1.0, 2.0, 3.0])[2]
    far = over_the_stretch(now)
    assert far.since is None
    np.testing.assert_array_equal(far.next_obs, now.next_obs)
    np.testing.assert_array_equal(far.obs, now.since.obs)
    assert float(far.reward) == float(now.since.reward)
    alone = step(0, 1.0)
    assert over_the_stretch(alone) is alone


def test_units_divide_the_rewards_of_stretches_too():
    now = walk(3, [1.0, 2.0, 3.0])[2]
    divided = scale_rewards._divided({"item": now}, jnp.float32(4))["item"]
    assert float(divided.reward) == 0.75
    assert float(divided.since.reward) == float(now.since.reward) / 4


@pytest.mark.parametrize("model", [isl.Seeker, isl.StableDQN])
def test_agents_on_views_store_stretches(model):
    trained = model("empty/5", seed=0, learning_starts=50, batch_size=16)
    trained.learn(600, progress_bar=False, n_eval_episodes=0)
    items = trained._loop.stored(np.arange(400, 600))  # Seeker wanders until there is a reward
    begins, own = (np.asarray(x).reshape(200, -1) for x in (items.since.obs, items.obs))
    assert 40 < np.any(begins != own, axis=1).sum() < 200
    assert np.all(np.asarray(items.since.discount) <= 1)


def test_a_model_in_the_middle_of_an_episode_is_saved(tmp_path):
    trained = isl.Seeker("empty/5", seed=0, learning_starts=50, batch_size=16)
    trained.learn(103, progress_bar=False, n_eval_episodes=0)
    trained.save(tmp_path / "m.isl")
    again = isl.Seeker.load(tmp_path / "m.isl", env="empty/5")
    obs = np.zeros(trained.observation_space.shape, np.uint8)
    assert again.predict(obs)[0] == trained.predict(obs)[0]


def test_the_option_is_for_symbols():
    with pytest.raises(UsageError, match="longest_stretch"):
        isl.Seeker("CartPole-v1", longest_stretch=8)
