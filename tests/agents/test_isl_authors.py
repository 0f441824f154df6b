"""The authors' code: two sets of ℓ networks and a double ℓ, each against ISL's NumPy twin."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import isl, isl_authors
from tests.reference.networks import forward, rows_of
from tests.support import isl_twin, twin

RATES = {"lr_q": 0.1, "lr_rho": 0.2, "lr_ell": 0.3}
PLAIN = isl_authors.Config(
    hidden=(7, 6), gamma=0.9, eta1=0.4, eta2=0.3, ell_ensemble=1, double_ell=False, **RATES
)
SPACE = twin.SPACES["discrete"]


def ells(learner, target=None):
    """ℓ's logits at s′ of each transition [B, A]: an order is all that is asked of them."""
    rows = rows_of(SPACE, twin.transitions(SPACE).next_obs)
    nets = twin.Nets(learner.ell, isl_twin.UNCERTAINTY, target=target and target.ell)
    return np.stack(
        [forward(nets.layers("ell", a), rows)[0][:, 0] for a in isl_twin.ACTIONS], axis=1
    )


def negated(learner):
    """The learner with the order of ℓ(s, ·) turned around: its networks have no biases."""
    params = learner.ell.params["ell"]["params"]
    head = jax.tree.map(lambda x: -x, params["head"])
    turned = {"ell": {"params": {**params, "head": head}}}
    return learner._replace(ell=learner.ell._replace(params=turned))


@pytest.mark.parametrize("masked", [False, True], ids=["all actions", "masked"])
def test_the_double_ell_equals_the_twin(masked):
    agent = isl_authors.make(PLAIN.replace({"double_ell": True}), SPACE, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batches = [twin.transitions(SPACE)]
    if masked:  # once as elsewhere, once all but the least uncertain action, which is not the first
        learner = negated(learner)
        least = np.eye(twin.ACTIONS, dtype=bool)[ells(learner).argmin(axis=1)]
        assert not least[:, 0].any()
        batches = [twin.masked(batches[0]), batches[0]._replace(next_mask=jnp.asarray(least))]
    update = twin.hurried(agent.update)
    for batch in batches:
        after, metrics = update(learner, target, batch, jax.random.key(2))
        expected = isl_twin.expected_update(PLAIN, SPACE, learner, target, batch, double_ell=True)
        isl_twin.assert_same_update(after, metrics, expected)


def test_the_double_ell_reads_another_action_than_the_targets_largest():
    """Otherwise the test above would prove nothing."""
    agent = isl_authors.make(PLAIN, SPACE, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    assert np.any(ells(learner).argmax(axis=1) != ells(learner, target).argmax(axis=1))


def test_of_two_ell_approximators_only_the_drawn_one_moves():
    agent = isl_authors.make(PLAIN.replace({"ell_ensemble": 2}), SPACE, twin.ACTIONS)
    learner, target = twin.learner_and_target(agent)
    batch = twin.transitions(SPACE)
    update = twin.hurried(agent.update)
    drawn = set()
    for seed in range(6):
        after, metrics = update(learner, target, batch, jax.random.key(seed))
        kernels = [x.ell.params["ell"]["params"]["head"]["kernel"] for x in (learner, after)]
        moved = [not np.array_equal(kernels[0][k], kernels[1][k]) for k in range(2)]
        assert sum(moved) == 1
        member = moved.index(True)
        if member not in drawn:
            expected = isl_twin.expected_update(PLAIN, SPACE, learner, target, batch, member)
            isl_twin.assert_same_update(after, metrics, expected, member)
        drawn.add(member)
    assert drawn == {0, 1}


def test_each_action_is_drawn_by_one_of_the_two():
    cfg = PLAIN.replace({"ell_ensemble": 2, "kappa": 20.0})
    agent = isl_authors.make(cfg, SPACE, twin.ACTIONS)
    learner, _ = twin.learner_and_target(agent)
    obs = jnp.int32(3)
    inspect = twin.hurried(agent.inspect)
    one = inspect(learner, obs)
    swapped = jax.tree.map(lambda x: x[::-1], learner.ell._replace(rows=None))
    rows = jax.tree.map(
        lambda x: jnp.roll(x, SPACE.n, axis=0) if x.shape[:1] == (2 * SPACE.n,) else x,
        learner.ell.rows,
    )
    other = inspect(learner._replace(ell=swapped._replace(rows=rows)), obs)
    assert np.abs(one["policy"] - other["policy"]).max() > 0.05
    mean = (one["policy"] + other["policy"]) / 2
    np.testing.assert_allclose(twin.shares(agent, learner, obs), mean, atol=0.015)


def test_with_both_switched_off_it_is_the_papers_agent():
    batch = twin.transitions(SPACE)
    afters = []
    for module, cfg in ((isl_authors, PLAIN), (isl, isl_config())):
        agent = module.make(cfg, SPACE, twin.ACTIONS)
        learner, target = twin.learner_and_target(agent)
        afters.append(twin.hurried(agent.update)(learner, target, batch, jax.random.key(2)))
    for a, b in zip(*map(jax.tree.leaves, afters), strict=True):
        np.testing.assert_array_equal(a, b)


def isl_config():
    shared = {k: v for k, v in PLAIN.to_dict().items() if k not in ("ell_ensemble", "double_ell")}
    return isl.Config().replace(shared)
