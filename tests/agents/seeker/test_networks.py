"""Seeker on vectors and images: one update against its NumPy twin, and what its parts are for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from isl.agents import seeker
from isl.agents.base import Transition
from isl.agents.seeker import networks
from isl.agents.seeker.heads import Heads
from isl.envs.spaces import Symbols
from tests.reference.networks import adam_step, slopes
from tests.reference.seeker import network_losses
from tests.support import twin

SPACE = Box(-2, 2, (3,), np.float32)
NAMES = {"greedy": None, "seek": None}
CONFIG = seeker.Config(
    hidden=(5, 4), gamma=0.9, kappa=0.7, lr=0.1, tilings=3, ell_min=0.05, averaging=0.25
)


def assembled(config=CONFIG):
    """The agent without its wrappers: rewards are in units, vectors are normalised."""
    heads = Heads(config, SPACE, twin.ACTIONS)
    codes = networks._codes(config, SPACE, twin.ACTIONS)
    return networks.assemble(config, heads, codes, twin.ACTIONS), codes.encode


def in_training(agent):
    learner, target = twin.learner_and_target(agent)
    visits = np.random.default_rng(5).integers(0, 4, learner.visits.shape)
    return learner._replace(visits=jnp.asarray(visits, jnp.float32)), target


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
def test_one_update_equals_the_twin(masked):
    agent, encode = assembled()
    learner, target = in_training(agent)
    batch = twin.masked(twin.transitions(SPACE)) if masked else twin.transitions(SPACE)
    after, metrics = twin.hurried(agent.update)(learner, target, batch, jax.random.key(2))

    plain = twin.plain(SPACE, batch)
    before = twin.Nets(learner.values, NAMES)
    frozen = twin.Nets(learner.values, NAMES, target=target)
    nets = tuple(before.layers(name) for name in NAMES)
    u = novelty(learner.visits, np.asarray(encode(batch.next_obs)))

    def losses(g, seek):
        then = tuple(frozen.layers(name) for name in NAMES)
        return network_losses((g, seek), then, before.layers("greedy"), plain, u, CONFIG)

    def own(i, net):
        """The loss of one network, with the other as it is."""
        parts = losses(*(net if i == j else nets[j] for j in range(2)))
        return parts[0] if i == 0 else parts[1] + parts[2]

    new = twin.Nets(after.values, NAMES)
    for i, (name, layers) in enumerate(zip(NAMES, nets, strict=True)):
        slope = slopes(layers, lambda net, i=i: own(i, net))
        expected, opt = adam_step(layers, slope, before.adam(name), CONFIG.lr)
        twin.assert_same_layers(new.layers(name), expected)
        twin.assert_same_adam(new.adam(name), opt)
        if name == "greedy":
            average, old = averaged_layers(after), averaged_layers(learner)
            for now, kept, newest in zip(average, old, expected, strict=True):
                twin.assert_same(now.kernel, 0.75 * kept.kernel + 0.25 * newest.kernel)
    twin.assert_same(metrics["loss_q"], losses(*nets)[1])


def averaged_layers(learner):
    params = learner.values.params | {"greedy": learner.average}
    return twin.Nets(learner.values._replace(params=params), NAMES).layers("greedy")


def novelty(visits, codes):
    """u [B, A] by loops."""
    cells = [[visits[t, c] for t, c in enumerate(code)] for code in codes]
    return np.mean((1.0 + np.asarray(cells)) ** -CONFIG.novelty_power, axis=1)


@pytest.mark.parametrize(
    "space",
    [
        Box(-1, 1, (3,), np.float32),
        Box(-1, 1, (2, 2), np.float32),
        Box(0, 255, (8, 8, 1), np.uint8),
        Symbols((4, 4, 2), 9),
    ],
)
def test_nothing_is_known_at_first_and_visits_are_counted(space):
    agent = seeker.make(seeker.Config(hidden=(8, 8), lr=0.05), space, 2)
    space.seed(0)
    obs, other = jnp.asarray(space.sample()), jnp.asarray(space.sample())
    learner = agent.init(jax.random.key(0))
    np.testing.assert_array_equal(agent.inspect(learner, obs)["ell"], 1.0)
    step = Transition(obs, jnp.int32(1), jnp.float32(0), jnp.float32(0), other)
    batch = jax.tree.map(lambda x: jnp.stack([x] * 4), step)
    for i in range(20):
        learner, _ = agent.observe(learner, step, jax.random.key(i))
    learner = twin.trained(agent, learner, batch, 300)
    ell = agent.inspect(learner, obs)["ell"]
    assert ell[0] == 1.0
    assert ell[1] < 0.1  # it ends there: nothing lies ahead


def test_uncertainty_of_what_lies_ahead_comes_back():
    """A corridor 0 → 1 → 2 whose end is unknown: the nearer, the more there is to learn."""
    agent, _ = assembled(CONFIG.replace({"ell_gamma": 0.8, "tilings": 8, "tile_width": 0.1}))
    learner = agent.init(jax.random.key(0))
    places = jnp.asarray(np.eye(3) * 3, jnp.float32)
    steps = [
        Transition(
            places[i], jnp.int32(a), jnp.float32(0), jnp.float32(i < 2), places[min(i + 1, 2)]
        )
        for i in range(2)
        for a in range(twin.ACTIONS)
    ]
    steps = jax.tree.map(lambda *x: jnp.stack(x), *steps)
    for _ in range(60):
        for i in range(len(steps.action)):
            one = jax.tree.map(lambda x, i=i: x[i], steps)
            learner, _ = agent.observe(learner, one, jax.random.key(0))
    learner = twin.trained(agent, learner, steps, 1000)
    ell = [float(agent.inspect(learner, place)["ell"].max()) for place in places]
    assert ell[2] == 1.0
    np.testing.assert_allclose(ell, [0.64, 0.8, 1.0], atol=0.02)
