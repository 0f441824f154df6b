"""Values beyond what is possible are noticed by both loops, and nothing else is."""

import json
from functools import lru_cache

import gymnasium
import jax
import numpy as np
import pytest

from isl import DQN, envs
from isl.agents import load
from isl.agents.divergence import advice
from isl.training.compiled_loop import CompiledLoop, Programs
from isl.training.host.loop import HostLoop
from isl.training.python_envs.envs import PythonEnvs
from isl.training.scalars import belief_scalars
from isl.training.watch import Watch
from tests.support import growing_agent

GROWING = growing_agent.Config(doubling=250.0, updates=20)  # a thousandfold in 2,500 updates
APART = GROWING.replace({"apart": True})


@lru_cache
def programs(config):
    env = envs.make("deep_sea/3")
    agent = growing_agent.make(config, env.observation_space, env.num_actions)
    return Programs(env, agent)


def compiled(config):
    return CompiledLoop(programs(config), [0])


@lru_cache
def growing_apart():
    """One for all Python environments of two actions and Discrete observations: compiled once."""
    return growing_agent.make(APART, None, 2)


def host(env):
    return HostLoop(growing_apart(), PythonEnvs([env], "", 0), "", 0)


def sea():
    return gymnasium.make("isl/DeepSea-v0", size=3)


def watched(loop, config, steps, state=None):
    """The watch after so many steps, and what it said on the way."""
    watch, said = Watch(loop, config.to_dict(), state=state), []
    end = loop.steps + steps
    while loop.steps < end:
        said.append(watch.see(loop, loop.chunk(25)[0]))
    return watch, [told for told in said if told]


def check_growth_is_told(loop, config):
    watch, said = watched(loop, config, 200)
    assert len(said) == 2
    assert "times what the rewards seen make possible" in said[0]
    assert "values diverge; lower lr (now 0.001), raise target_period (now 4)" in said[0]
    assert watch.diverged
    assert watch.message == said[1]
    assert watch.scalars()["return/discounted"] == pytest.approx(1, abs=0.01)
    assert watch.largest_ratio > 100  # in largest discounted returns


def test_values_that_grow_are_told_once_then_have_diverged():
    check_growth_is_told(compiled(GROWING), GROWING)


def test_the_host_loop_tells_the_same_of_the_head_that_predict_uses():
    check_growth_is_told(host(sea()), APART)


def test_a_watch_continues_where_it_was():
    whole, said = watched(compiled(GROWING), GROWING, 200)
    loop = compiled(GROWING)
    first, early = watched(loop, GROWING, 100)
    state = json.loads(json.dumps(first.state()))
    second, late = watched(loop, GROWING, whole._returns._steps - loop.steps, state)
    assert (len(early), len(late)) == (1, 1)
    assert early + late == said
    assert second.state() == whole.state()
    del state["largest_ratio"]  # as earlier checkpoints
    assert Watch(loop, GROWING.to_dict(), state=state).largest_ratio is None


def test_what_was_learned_elsewhere_is_not_judged_by_the_few_rewards_seen_since():
    loop = compiled(GROWING)
    watched(loop, GROWING, 200)
    assert watched(loop, GROWING, 25)[1] == []
    loop.restart(loop.learner, "")  # as a model that was saved without its replay
    watch = Watch(loop, GROWING.to_dict(), learned=True)
    while loop.updates < 500:
        assert watch.see(loop, loop.chunk(25)[0]) == ""
    model = DQN(gymnasium.make("FrozenLake-v1"))
    model.set_env(gymnasium.make("FrozenLake-v1"))
    model.learn(1, progress_bar=False, n_eval_episodes=0)
    assert model.watch._most_unlearned == np.inf


class Wages(gymnasium.Env):
    """Pays a little for every step and does not end."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.016, False, False, {}


def test_values_of_episodes_that_are_cut_off_may_exceed_their_returns():
    """Of at most 5 · 0.016; the values of 1.6 at the first look are right, though 20 times that."""
    watch, said = watched(host(gymnasium.wrappers.TimeLimit(Wages(), 5)), APART, 75)
    assert watch.scalars()["return/discounted"] < 0.08
    assert watch.scalars()["q/possible"] == pytest.approx(1.6)
    assert said == []


def test_without_a_reward_nothing_is_judged():
    unpaid = gymnasium.wrappers.TransformReward(sea(), lambda reward: 0.0)
    watch, said = watched(host(unpaid), APART, 200)
    assert watch.scalars()["return/discounted"] == 0
    assert watch.largest_ratio is None
    assert said == []


def test_values_that_come_back_have_not_diverged():
    """Networks may overshoot in their first updates and learn from there."""
    loop = compiled(GROWING)
    watch, said = watched(loop, GROWING, 200)
    young = loop.learner._replace(updates=0)
    loop.restore(jax.tree.map(np.asarray, young), loop.state())
    watch.see(loop, loop.chunk(25)[0])
    assert not watch.diverged
    assert watch.message == said[1]  # what was told stays on record


def test_dqn_that_diverges_says_so_in_learn(caplog):
    """Without discount, paid for every step of episodes that are cut off: no value is finite."""
    env = gymnasium.wrappers.TimeLimit(Wages(), 5)
    endless = {"gamma": 1.0, "lr_codes": 0.5, "target_period": 1, "batch_size": 4}
    model = DQN(env, learning_starts=5, **endless)
    model.learn(1_100, progress_bar=False)
    (told,) = [r.message for r in caplog.records if "make possible" in r.message]
    assert told.startswith("Wages: at step 512 the best actions were valued at 2")
    assert "values diverge; set gamma below 1" in told
    assert "on tables lr_codes (now 0.5), raise target_period (now 1)" in told
    assert model.diverged


@pytest.mark.slow  # networks of the usual size
def test_dqn_with_its_preset_does_not(caplog):
    model = DQN("CartPole-v1", seed=0)
    model.learn(1_500, progress_bar=False)
    assert not [r for r in caplog.records if "make possible" in r.message]
    assert model.watch.scalars()["return/discounted"] > 10


@pytest.mark.parametrize(
    ("agent", "changes", "told"),
    [
        ("dqn", {"double_q": True}, "lower lr (now 0.0005), raise target_period (now 5), or use"),
        ("isl", {"eta2": 1.0}, "lower eta2"),
        ("isl", {"gamma": 1.0}, "set gamma below 1"),
        ("sbeed", {}, "lower lr_v"),
        ("seeker", {}, "lower lr (now 0.0005), raise target_period"),
        ("isl_tables", {}, "on tables lr_codes"),
    ],
)
def test_the_advice_names_options_that_the_agent_has(agent, changes, told):
    config = load(agent).Config().replace(changes)
    assert told in advice(config.to_dict())
    assert ("agent seeker" in advice(config.to_dict())) == (
        agent != "seeker" and not changes.get("eta2")
    )


def test_the_log_has_the_values_that_predict_goes_by():
    config = growing_agent.Config(start=0.5, doubling=1.0, apart=True)
    agent = growing_agent.make(config, None, 2)
    learner = agent.init(None)._replace(updates=np.int32(4))
    row = belief_scalars(agent, learner, np.zeros(8, np.int32))
    assert (row["q/mean"], row["q/greedy"]) == (0.5, 8.0)
