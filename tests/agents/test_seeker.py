"""Seeker: one update against its NumPy twin, and what its parts are for."""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl import Seeker
from isl.agents import isl, isl_tables, seeker
from isl.agents.base import Transition
from isl.agents.wrappers.normalise_observations import Statistics
from isl.agents.wrappers.scale_rewards import Seen, unit
from isl.model.evaluation import evaluate
from tests.reference import agents as reference
from tests.reference.networks import adam_step, rows_of
from tests.support import twin

SPACES = {"discrete": twin.SPACES["discrete"], "box": Box(-2, 2, (3,), np.float32)}
VALUES = {"q": None, "rho": None, "greedy": None}
UNCERTAINTY = {"ell": twin.ACTIONS}
CONFIG = seeker.Config(
    hidden=(7, 6),
    gamma=0.9,
    ell_gamma=0.6,
    eta1=0.4,
    eta2=0.3,
    kappa=0.7,
    lr_q=0.1,
    lr_rho=0.2,
    lr_codes=0.3,
    ell_min=0.1,
    ell_max=4.0,
    ell_features=5,
)
SEEN = Seen(*map(jnp.float32, (1000, 0.3, 0.02, 0.9)))  # steps, largest, size, discount
UNIT = 4 * 0.3 * (1 - 0.9 * 0.9)  # 4 · max(size, largest · (1 − γ · discount))
STATISTICS = Statistics(  # of 50 observations with variances 4, 1 and 0.25
    jnp.float32(50), jnp.asarray([0.5, -1.0, 0.1]), jnp.asarray([200.0, 50.0, 12.5])
)


def in_training(agent, space):
    """A learner whose unit is that of the rewards it has seen, its parts, and a target."""
    learner, target = twin.learner_and_target(agent)
    if isinstance(space, Discrete):
        learner = learner._replace(seen=SEEN, unit=jnp.float32(UNIT))
        return learner, learner.inner, target
    scaled = learner.inner._replace(seen=SEEN, unit=jnp.float32(UNIT))
    learner = learner._replace(inner=scaled, statistics=STATISTICS)
    return learner, learner.inner.inner, target


def normalised(space, obs):
    """What the networks read of observations, and what ℓ reads."""
    if isinstance(space, Discrete):
        return rows_of(space, obs), rows_of(space, obs)
    rows = (np.asarray(obs, np.float64) - [0.5, -1.0, 0.1]) / [2.0, 1.0, 0.5]
    return rows, reference.seeker_features(rows, CONFIG.ell_features)


def nets_of(inner, target=None):
    values = twin.Nets(inner.values, VALUES, target=target and target.values)
    ell = twin.Nets(inner.ell, UNCERTAINTY, target=target and target.ell)
    layers = [values.layers(name) for name in VALUES]
    return values, ell, reference.SeekerNets(*layers, [ell.layers("ell", a) for a in range(3)])


CASES = {"discrete": False, "box": False, "masked": True}


@pytest.mark.parametrize(("kind", "masked"), CASES.items(), ids=CASES)
def test_one_update_equals_the_twin(kind, masked):
    space = SPACES.get(kind, SPACES["box"])
    agent = seeker.make(CONFIG, space, twin.ACTIONS)
    learner, inner, target = in_training(agent, space)
    batch = twin.masked(twin.transitions(space)) if masked else twin.transitions(space)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    (obs, ell_obs), (then, ell_then) = (normalised(space, x) for x in (batch.obs, batch.next_obs))
    mask = None if batch.next_mask is None else np.asarray(batch.next_mask)
    reward = np.asarray(batch.reward, np.float64) / UNIT
    discount = np.asarray(batch.discount, np.float64)
    plain = reference.Batch(obs, np.asarray(batch.action), reward, discount, then, mask)
    values, ell, before = nets_of(inner)
    grads, figures = reference.seeker(
        before, nets_of(inner, target)[2], plain, ell_obs, ell_then, CONFIG
    )
    large = np.abs(figures.pop("relative")) > 1
    assert large.any()  # both pieces of Huber's loss are met
    assert not large.all()

    tables = isinstance(space, Discrete)
    rates = [CONFIG.lr_codes] * 3 if tables else [CONFIG.lr_q, CONFIG.lr_rho, CONFIG.lr_q]
    new_values, new_ell, new = nets_of(after.inner if tables else after.inner.inner)
    for i, (name, rate) in enumerate(zip(VALUES, rates, strict=True)):
        layers, opt = adam_step(before[i], grads[i], values.adam(name), rate)
        twin.assert_same_layers(new[i], layers)
        twin.assert_same_adam(new_values.adam(name), opt)
    for a in range(twin.ACTIONS):
        state = ell.adam("ell", a)
        layers, opt = adam_step(before.ell[a], grads.ell[a], state, CONFIG.lr_codes)
        twin.assert_same_layers(new.ell[a], layers)
        twin.assert_same_adam(new_ell.adam("ell", a), opt)
    for name, value in figures.items():
        twin.assert_same(metrics[name], value)
    assert metrics["unit"] == pytest.approx(UNIT)


def test_the_unit_of_the_twin_is_that_of_the_rewards_seen():
    assert float(unit(SEEN, CONFIG.gamma)) == pytest.approx(UNIT)


def test_it_acts_by_the_policy_it_shows_and_exploits_g():
    space = SPACES["discrete"]
    agent = seeker.make(CONFIG, space, twin.ACTIONS)
    learner, _, _ = in_training(agent, space)
    seen = twin.everywhere(agent, learner, space.n)
    best = twin.hurried(jax.vmap(agent.exploit, (None, 0)))(learner, jnp.arange(space.n))
    np.testing.assert_array_equal(best, seen["greedy"].argmax(-1))
    assert np.any(seen["greedy"].argmax(-1) != seen["q"].argmax(-1))  # q̂ would differ
    shares = twin.shares(agent, learner, jnp.int32(3))
    np.testing.assert_allclose(seen["policy"][3], shares, atol=0.015)


def table_agent(module, **changes):
    return module.make(module.Config().replace(changes), SPACES["discrete"], twin.ACTIONS)


def test_relative_errors_have_the_same_solution_sooner():
    """One step that always ends its episode without reward: nothing is left but ell_min."""
    zero, n = jnp.zeros(8, jnp.int32), 8
    end = Transition(zero, zero, jnp.zeros(n), jnp.zeros(n), zero)
    shared = {"ell_min": 1e-3, "ell_max": 1000.0, "lr_codes": 0.05}
    fell = {}
    for module in (seeker, isl_tables):
        agent = table_agent(module, **shared)
        learner = twin.trained(agent, agent.init(jax.random.key(0)), end, 600)
        fell[module] = float(twin.everywhere(agent, learner, 1)["ell"][0, 0])
    assert fell[seeker] < 0.05 < 3 * 0.05 < fell[isl_tables]


def test_greedy_values_are_the_optimal_ones():
    """Two states; staying in the first pays 1 a step, and what ℓ is does not matter."""
    s = jnp.asarray([0, 0, 0, 1, 1, 1], jnp.int32)
    a = jnp.asarray([0, 1, 2, 0, 1, 2], jnp.int32)
    r = jnp.asarray([1, 0, 0, 0, 0, 0], jnp.float32)
    then = jnp.asarray([0, 1, 1, 0, 1, 1], jnp.int32)
    agent = table_agent(seeker, gamma=0.5, lr_codes=0.02, kappa=5.0)
    start = agent.init(jax.random.key(0))
    learner = twin.trained(agent, start, Transition(s, a, r, jnp.ones(6), then), 3000)
    found = twin.everywhere(agent, learner, 2)
    best = [[2.0, 0.5, 0.5], [1.0, 0.5, 0.5]]
    np.testing.assert_allclose(found["greedy"], best, atol=0.01)
    assert int(agent.exploit(learner, jnp.int32(1))) == 0


@pytest.mark.parametrize("ell_gamma", [0.5, 0.95])
def test_ell_settles_where_its_own_discount_says(ell_gamma):
    """A step back to where it began, worth 10 or −10: ℓ = |δ| + ell_gamma · ℓ with η₁ = 0."""
    zero, rewards = jnp.zeros(8, jnp.int32), jnp.asarray([10.0, -10.0] * 4)
    stay = Transition(zero, zero, rewards, jnp.ones(8), zero)
    cfg = seeker.Config(ell_gamma=ell_gamma, eta1=0.0, lr_codes=0.02)
    agent = seeker.make(cfg, Discrete(1), 1)
    learner = twin.trained(agent, agent.init(jax.random.key(0)), stay, 3000)
    found = float(twin.everywhere(agent, learner, 1)["ell"][0, 0])
    assert found == pytest.approx(10 / (1 - ell_gamma), rel=0.02)


def learned_ell(agent) -> tuple[np.ndarray, np.ndarray]:
    """ℓ where everything is known (around the origin and elsewhere), and far from there."""
    draw = np.random.default_rng(0)
    obs = jnp.asarray(draw.normal(size=(64, 2)) * 0.3, jnp.float32)
    end = Transition(  # every step ends its episode without reward: nothing is left to learn
        obs=obs,
        action=jnp.asarray(draw.integers(0, 2, 64), jnp.int32),
        reward=jnp.zeros(64),
        discount=jnp.zeros(64),
        next_obs=obs,
    )
    learner = twin.trained(agent, agent.init(jax.random.key(0)), end, 1500)
    look = jax.vmap(agent.inspect, in_axes=(None, 0))
    around = jnp.concatenate([jnp.zeros((1, 2)), obs[:8]])
    away = jnp.asarray([[3, 0], [-3, 0], [0, 3], [0, -3], [2.5, 2.5]], jnp.float32)
    return look(learner, around)["ell"], look(learner, away)["ell"]


def test_random_features_keep_the_unknown_apart_and_networks_do_not():
    """Nothing is observed here, so that the normalisation of observations is the identity."""
    space = Box(-9, 9, (2,), np.float32)
    known, unknown = learned_ell(seeker.make(seeker.Config(), space, 2))
    assert known.max() < 0.3 * unknown.min()

    def with_networks(bias):
        cfg = seeker.Config(ell_bias=bias)
        values = seeker._value_networks(cfg, space, 2)
        return seeker.assemble(cfg, values, isl.ell_networks(cfg, space, 2), lambda obs: obs)

    no_bias_known, _ = learned_ell(with_networks(False))  # blind at the origin
    _, bias_unknown = learned_ell(with_networks(True))  # forgets the unknown
    assert no_bias_known[0].max() > 3 * known[0].max()
    assert bias_unknown.min() < 0.3 * unknown.min()


@pytest.mark.parametrize(
    "space", [Discrete(5), Box(-1, 1, (3,), np.float32), Box(0, 255, (8, 8, 1), np.uint8)]
)
def test_it_reads_tables_vectors_and_images(space):
    config = seeker.Config(hidden=(8, 8))
    agent = seeker.make(config, space, 2)
    space.seed(0)
    states = list(range(space.n)) if isinstance(space, Discrete) else [space.sample()]
    learner = agent.init(jax.random.key(0))
    ell = [agent.inspect(learner, jnp.asarray(obs))["ell"] for obs in states]
    # Drawn by fan-in: five codes give logits up to 1, many inputs hardly any.
    np.testing.assert_allclose(ell, np.full_like(ell, config.ell_max / 2), rtol=0.5)


def test_cliff_walking_is_solved():
    """Every episode ends by the time limit at first, each step costs, and falls cost a hundred."""

    def make():
        return gymnasium.make("CliffWalking-v1", max_episode_steps=200)

    model = Seeker(make(), seed=1000)
    model.learn(7_000, progress_bar=False)
    assert np.mean(evaluate(model, make(), 1).returns) == -13
