"""of_symbols: options for symbols, and the discount factor that they have."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import isl
from isl.agents import of_symbols, seeker, stable_dqn
from isl.agents.base import Stretch, Transition
from isl.envs.kinds import Symbols
from isl.errors import UsageError

VIEW = Symbols((3, 3, 2), 6)
VECTOR = Box(-1, 1, (3,), np.float32)
AGENTS = pytest.mark.parametrize("agent", [seeker, stable_dqn])


@AGENTS
@pytest.mark.parametrize(("space", "gamma"), [(VIEW, 0.6), (VECTOR, 0.8), (Discrete(3), 0.8)])
def test_symbols_have_a_discount_factor_of_their_own(agent, space, gamma):
    config = agent.Config(gamma=0.8, symbol_gamma=0.6)
    assert of_symbols.discounted(config, space).gamma == gamma


def updated(agent, **options):
    """The learner after an update on one rewarded stretch and one without a reward."""
    config = agent.Config(hidden=(8, 8), batch_size=2, **options)
    made = agent.make(config, VIEW, 3)
    key = jax.random.key(0)
    views = jax.random.randint(key, (2, 3, 3, 2), 0, 6).astype(jnp.uint8)
    action, reward, discount = jnp.arange(2), jnp.asarray([0.0, 1.0]), jnp.ones(2)
    now = Transition(views, action, reward, discount, views[::-1])
    now = now._replace(since=Stretch(views, action, reward, discount, None))
    learner = made.init(key)
    for _ in range(3):
        for at in range(2):
            learner, _ = made.observe(learner, jax.tree.map(lambda x, at=at: x[at], now), key)
        learner, _ = made.update(learner, made.target(learner), now, key)
    return [np.asarray(x) for x in jax.tree.leaves(made.inspect(learner, views[0]))]


@AGENTS
def test_values_of_symbols_are_learned_with_it(agent):
    usual, other, unused = updated(agent), updated(agent, symbol_gamma=0.5), updated(agent, gamma=0)
    assert any(not np.array_equal(x, y) for x, y in zip(usual, other, strict=True))
    assert all(np.array_equal(x, y) for x, y in zip(usual, unused, strict=True))


@pytest.mark.parametrize("model", [isl.Seeker, isl.StableDQN])
@pytest.mark.parametrize(
    ("env", "option", "why"),
    [
        ("door_key/5", {"gamma": 0.9}, "gamma has no effect here: .*symbol_gamma"),
        ("CartPole-v1", {"symbol_gamma": 0.9}, "symbol_gamma has no effect here"),
        ("CartPole-v1", {"repeat_cost": 0.1}, "repeat_cost has no effect here"),
    ],
)
def test_an_option_without_effect_is_refused(model, env, option, why):
    with pytest.raises(UsageError, match=why):
        model(env, **option)
