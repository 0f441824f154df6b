"""keep_best: who plays, who is judged how, and that `exploit` changes on evidence only."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import base
from isl.agents.base import Agent, Schedule, Transition
from isl.agents.wrappers import keep_best
from isl.agents.wrappers.keep_best import CHALLENGER, CHAMPION, EXPLORE, PRACTISE, Policies

NOW = 49  # the action that the newest values call best


class Inner(NamedTuple):
    policy: jax.Array  # the action that is greedy


def explorer() -> Agent:
    """Explores with action 0; every update makes the next action, from 1 on, the greedy one."""

    def update(learner: Inner, target: Any, batch: Any, key: Any) -> Any:
        return Inner(learner.policy + 1), {"q": jnp.float32(0)}

    def act(learner: Inner, episode: Any, obs: Any, key: Any, mask: Any = None) -> jax.Array:
        return jnp.int32(0)

    def exploit(learner: Inner, obs: Any, mask: Any = None) -> jax.Array:
        return jnp.int32(NOW)

    return Agent(
        Schedule(1, 1, 1, 1, 10, 1, False),
        lambda key: Inner(jnp.int32(0)),
        base.no_episode,
        act,
        exploit,
        base.store_as_is,
        update,
        lambda learner: (),
        lambda learner, obs: {"q": jnp.zeros(50)},
    )


def values(learner: Inner, policy: jax.Array, obs: Any) -> jax.Array:
    return jax.nn.one_hot(policy, 50)


def kept(share: float = 1.0, practice: float = 0.0) -> Agent:
    policies = Policies(lambda learner: learner.policy, values)
    return keep_best.keep_best(explorer(), 50, share, policies, practice=practice)


OBS, KEY = jnp.zeros(1), jax.random.key(0)


def updated(agent: Agent, learner: Any) -> Any:
    return agent.update(learner, (), (), KEY)[0]


def paying(reward: jax.Array) -> Transition:
    return Transition(OBS, jnp.int32(0), reward, jnp.float32(1), OBS)


def play(agent: Agent, learner: Any, returns: dict[int, float], episodes: int) -> Any:
    """Episodes of two steps, with an update after each; what an action pays is in `returns`."""
    for i in range(episodes):
        episode = agent.begin_episode(learner, jax.random.key(i))
        for last in (False, True):
            action = int(agent.act(learner, episode, OBS, KEY))
            reward = jnp.float32(returns.get(action, 0.0) / 2)
            learner, episode, _ = agent.track(learner, episode, paying(reward), jnp.bool_(last))
        learner = updated(agent, learner)
    return learner


def test_before_the_first_update_everything_is_exploration():
    agent = kept()
    learner = agent.init(KEY)
    roles = [int(agent.begin_episode(learner, jax.random.key(i)).role) for i in range(20)]
    assert roles == [EXPLORE] * 20
    roles = [
        int(agent.begin_episode(updated(agent, learner), jax.random.key(i)).role) for i in range(20)
    ]
    assert roles == [CHALLENGER] * 20  # there is no champion yet


def steps_of(agent: Agent, own: dict[int, int], episodes: int) -> dict[int, int]:
    """The steps that every role takes in training, if its episodes have `own` steps."""
    learner = updated(agent, agent.init(KEY))
    learner = learner._replace(best=learner.best._replace(episodes=jnp.float32(1)))
    begin, track = jax.jit(agent.begin_episode), jax.jit(agent.track)
    taken = dict.fromkeys(own, 0)
    for i in range(episodes):
        episode = begin(learner, jax.random.key(i))
        role = int(episode.role)
        episode = episode._replace(steps=jnp.int32(own[role] - 1))
        learner, *_ = track(learner, episode, paying(jnp.float32(1)), jnp.bool_(True))
        taken[role] += own[role]
    return taken


def test_before_the_first_reward_everything_is_exploration():
    policies = Policies(lambda inner: inner.policy, values, lambda inner: inner.policy >= 2)
    agent = keep_best.keep_best(explorer(), 50, 1.0, policies)
    learner = updated(agent, agent.init(KEY))
    assert agent.begin_episode(learner, KEY).role == EXPLORE
    learner = updated(agent, learner)
    assert agent.begin_episode(learner, KEY).role != EXPLORE


def test_shares_are_of_the_steps():
    own = {EXPLORE: 300, CHAMPION: 60, CHALLENGER: 30, PRACTISE: 100}
    taken = steps_of(kept(0.25, 0.5), own, 800)
    total = sum(taken.values())
    assert min(taken.values()) > 0
    assert (taken[CHAMPION] + taken[CHALLENGER]) / total == pytest.approx(0.25, abs=0.05)
    assert taken[PRACTISE] / total == pytest.approx(0.375, abs=0.05)
    assert taken[EXPLORE] / total == pytest.approx(0.375, abs=0.05)


def test_without_practice_there_is_none():
    taken = steps_of(kept(0.5), {EXPLORE: 9, CHAMPION: 9, CHALLENGER: 9, PRACTISE: 9}, 100)
    assert taken[PRACTISE] == 0
    assert taken[EXPLORE] / sum(taken.values()) == pytest.approx(0.5, abs=0.1)


def test_practice_is_of_the_newest_values_and_slips_at_times():
    agent = kept(0.25, 0.5)
    learner = updated(agent, updated(agent, agent.init(KEY)))
    episode = agent.begin_episode(learner, KEY)._replace(role=jnp.int32(PRACTISE))
    drawn = [int(agent.act(learner, episode, OBS, jax.random.key(i))) for i in range(400)]
    assert 400 - drawn.count(NOW) == pytest.approx(keep_best.SLIPS * 400, abs=15)
    assert set(drawn) - {NOW}
    trained = agent.init(KEY)
    assert agent.begin_episode(trained, KEY).role == EXPLORE


def test_practice_does_not_count_for_or_against_a_policy():
    agent = kept(0.25, 0.5)
    learner = updated(agent, agent.init(KEY))
    episode = agent.begin_episode(learner, KEY)._replace(role=jnp.int32(PRACTISE))
    after, _, _ = agent.track(learner, episode, paying(jnp.float32(5)), jnp.ones((), jnp.bool_))
    assert after.best.episodes == after.trial.episodes == 0


def test_a_greedy_episode_without_an_end_is_left_to_exploring():
    agent = kept()
    learner = updated(agent, agent.init(KEY))
    episode = agent.begin_episode(learner, KEY)
    going = jnp.zeros((), jnp.bool_)
    for steps, role in ((0, int(episode.role)), (keep_best.ENDLESS - 1, EXPLORE)):
        now = episode._replace(steps=jnp.int32(steps))
        _, after, _ = agent.track(learner, now, paying(jnp.float32(1)), going)
        assert after.role == role
    assert episode.role != EXPLORE


def test_without_a_champion_the_newest_policy_is_followed():
    agent = kept()
    learner = updated(agent, agent.init(KEY))
    assert agent.exploit(learner, OBS) == 1
    assert agent.exploit(updated(agent, learner), OBS) == 2


def test_a_better_policy_is_taken_and_a_worse_one_is_not():
    agent = kept()
    learner = updated(agent, agent.init(KEY))
    learner = play(agent, learner, dict.fromkeys(range(50), 1.0), 4)
    first = int(agent.exploit(learner, OBS))
    assert learner.best.episodes >= keep_best.FEWEST
    worse = play(agent, learner, {first: 1.0}, 30)  # all others pay 0
    assert agent.exploit(worse, OBS) == first
    assert agent.inspect(worse, OBS)["greedy"].argmax() == first
    assert worse.number > learner.number + 3  # they were tried
    better = play(agent, learner, {first: 1.0, **dict.fromkeys(range(10, 50), 2.0)}, 30)
    assert agent.exploit(better, OBS) >= 10


def test_the_champion_plays_a_third_of_the_greedy_episodes():
    agent = kept()
    learner = updated(agent, agent.init(KEY))
    learner = learner._replace(best=learner.best._replace(episodes=jnp.float32(3)))
    keys = jax.random.split(KEY, 2000)
    roles = np.asarray(jax.vmap(agent.begin_episode, (None, 0))(learner, keys).role)
    assert set(roles.tolist()) == {CHAMPION, CHALLENGER}
    assert abs(np.mean(roles == CHAMPION) - 1 / 3) < 0.03


def test_episodes_of_an_earlier_challenger_do_not_count():
    agent = kept()
    learner = updated(agent, agent.init(KEY))
    episode = agent.begin_episode(learner, KEY)
    learner = learner._replace(number=learner.number + 1)
    learner, *_ = agent.track(learner, episode, paying(jnp.float32(5)), jnp.bool_(True))
    assert learner.trial.episodes == 0


@pytest.mark.parametrize(
    ("best", "trial", "age", "expected"),
    [
        ([], [1.0, 1.0], 0, (False, False)),  # too few
        ([], [1.0, 1.0, 1.0], 0, (True, True)),  # nobody to compare with
        ([1.0] * 5, [1.0] * 3, 0, (True, True)),  # no worse
        ([1.0] * 5, [0.9] * 3, 0, (True, False)),  # clearly worse: nothing varies
        ([0.0, 2.0] * 3, [0.8, 2.0, 0.8], 0, (False, False)),  # within the noise
        ([0.0, 2.0] * 3, [2.0, 2.0, 1.5], 0, (False, False)),  # better by one standard error only
        ([0.0, 2.0] * 3, [0.0, 0.5, 0.0], 0, (True, False)),  # worse by one
        ([0.0, 2.0] * 3, [5.0, 5.0, 5.0], 0, (True, True)),
        ([0.0, 2.0] * 5, [0.0, 2.0] * 2 + [1.0, 1.5], 0, (True, True)),  # at last by anything
        ([0.0, 2.0] * 5, [2.0, 0.0] * 2 + [1.0, 0.5], 0, (True, False)),
        ([1.0] * 5, [], keep_best.PATIENCE, (True, True)),  # no evidence in time
        ([1.0] * 5, [0.5], keep_best.PATIENCE, (True, False)),
    ],
)
def test_judgement(best, trial, age, expected):
    scores = []
    for returns in (best, trial):
        score = keep_best.no_score()
        for paid in returns:
            score = keep_best.included(score, jnp.float32(paid), jnp.bool_(True))
        if returns:
            np.testing.assert_allclose(score.mean, np.mean(returns), rtol=1e-6)
            np.testing.assert_allclose(score.squares, np.var(returns) * len(returns), atol=1e-5)
        scores.append(score)
    over, won = keep_best.judged(*scores, jnp.int32(age))
    assert (bool(over), bool(won)) == expected


def test_old_returns_of_a_champion_fade():
    score = keep_best.no_score()
    for _ in range(keep_best.REMEMBERED):
        score = keep_best.included(score, jnp.float32(0), jnp.bool_(True))
    for _ in range(5 * keep_best.REMEMBERED):
        score = keep_best.included(score, jnp.float32(1), jnp.bool_(True))
    assert score.episodes == keep_best.REMEMBERED
    assert score.mean > 0.98


def test_transitions_pass_through():
    agent = kept()
    learner = agent.init(KEY)
    step = Transition(OBS, jnp.int32(0), jnp.float32(1), jnp.float32(1), OBS)
    _, item = agent.observe(learner, step, KEY)
    assert item is step
