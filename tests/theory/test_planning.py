"""T^ℓ, Lemmas 4 and 5, and where the paper's proof of Lemma 5 does not hold."""

import numpy as np
import pytest

from isl.theory.planning import (
    MDP,
    deep_sea_mdp,
    ell_backup,
    greedy_policy,
    uc_backup,
    uc_optimal_policy,
    uc_policy_evaluation,
    uc_value_iteration,
    value_iteration,
)

STATES, ACTIONS, GAMMA = 9, 3, 0.9


def random_mdp(seed, terminal=True):
    """Some states absorbing (they loop on themselves, with a reward), some terminal."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(STATES, 0.3), size=(STATES, ACTIONS))
    absorbing = rng.random(STATES) < 0.15
    P[absorbing] = np.eye(STATES)[absorbing][:, None]
    ended = (rng.random(STATES) < 0.2) & terminal
    return MDP(P, rng.normal(size=(STATES, ACTIONS)), GAMMA, ended)


def one_decision():
    """State 0: action 0 earns 1 and ends the episode, action 1 comes back for nothing."""
    return MDP.deterministic([[1, 0], [1, 1]], [[1.0, 0.0], [0.0, 0.0]], GAMMA, [False, True])


@pytest.mark.parametrize("seed", range(10))
def test_the_operator_contracts_by_gamma_in_the_sup_norm(seed):
    mdp, rng = random_mdp(seed), np.random.default_rng(seed)
    ell = rng.uniform(1e-3, 5, size=(STATES, ACTIONS))
    for scale in (0.01, 1.0, 100.0):
        q_1, q_2 = rng.normal(size=(2, STATES, ACTIONS)) * scale
        apart = np.abs(uc_backup(mdp, q_1, ell) - uc_backup(mdp, q_2, ell)).max()
        assert apart <= GAMMA * np.abs(q_1 - q_2).max() + 1e-12


def test_policy_evaluation_ends_at_the_fixed_point_from_anywhere():
    mdp, rng = random_mdp(0), np.random.default_rng(0)
    ell = rng.uniform(0.1, 5, size=(STATES, ACTIONS))
    q = uc_policy_evaluation(mdp, ell, kappa=2.0)
    np.testing.assert_allclose(uc_backup(mdp, q, ell, kappa=2.0), q, atol=1e-10)
    elsewhere = uc_policy_evaluation(mdp, ell, kappa=2.0, q=rng.normal(size=q.shape) * 100)
    np.testing.assert_allclose(elsewhere, q, atol=1e-9)
    assert (q <= value_iteration(mdp) + 1e-9).all()  # the divergence costs, it never pays


@pytest.mark.parametrize("seed", range(50))
def test_uc_value_iteration_ends_at_q_dagger(seed):
    mdp = random_mdp(seed, terminal=seed % 5 > 0)
    plan = uc_value_iteration(mdp)
    np.testing.assert_allclose(plan.q, value_iteration(mdp), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(plan.ell, 1e-12)
    assert (plan.q[mdp.terminal] == 0).all()
    policy = uc_optimal_policy(plan.q, plan.ell)
    np.testing.assert_allclose(policy.max(-1)[~mdp.terminal], 1.0)
    np.testing.assert_array_equal(
        policy.argmax(-1)[~mdp.terminal], greedy_policy(plan.q).argmax(-1)[~mdp.terminal]
    )


@pytest.mark.parametrize(("size", "stochastic"), [(30, False), (30, True), (100, False)])
def test_uc_value_iteration_on_deep_sea(size, stochastic):
    mdp = deep_sea_mdp(size, stochastic=stochastic)
    plan, optimum = uc_value_iteration(mdp), value_iteration(mdp)
    np.testing.assert_allclose(plan.q, optimum, rtol=0, atol=1e-6)
    assert plan.ell.max() == 1e-12
    if not stochastic:
        costs = 0.01 / size * np.sum(0.99 ** np.arange(size))
        assert optimum[0].max() == pytest.approx(0.99 ** (size - 1) - costs, abs=1e-9)


def test_deep_sea_moves_as_in_bsuite():
    size = 7
    mdp = deep_sea_mdp(size, gamma=0.5)
    mapping = np.random.RandomState(42).binomial(1, 0.5, (size, size))
    row, column = 3, 0
    right = mapping[row, column]
    values = np.arange(mdp.n_states, dtype=float)
    q = np.repeat(values[:, None], 2, 1)  # equal q and ℓ: v* is the state's own number
    ahead = (uc_backup(mdp, q, np.ones_like(q)) - mdp.reward)[row * size + column] / 0.5
    assert ahead[right] == pytest.approx((row + 1) * size + 1)
    assert ahead[1 - right] == pytest.approx((row + 1) * size)  # the wall stops it
    corner = size * size - 1
    assert mdp.reward[corner, mapping[-1, -1]] == pytest.approx(1 - 0.01 / size)
    assert mdp.reward[corner, 1 - mapping[-1, -1]] == 0
    assert mdp.terminal[-1]


def test_sparse_and_dense_transitions_are_the_same_mdp():
    rng = np.random.default_rng(1)
    successors = rng.integers(0, STATES, size=(STATES, ACTIONS, 2))
    probs = rng.dirichlet([1.0, 1.0], size=(STATES, ACTIONS))
    P = np.zeros((STATES, ACTIONS, STATES))
    for s, a in np.ndindex(STATES, ACTIONS):
        np.add.at(P[s, a], successors[s, a], probs[s, a])
    r, ended = rng.normal(size=(STATES, ACTIONS)), rng.random(STATES) < 0.3
    q, ell = rng.normal(size=r.shape), rng.uniform(0.1, 2, size=r.shape)
    sparse, dense = MDP.sparse(successors, probs, r, GAMMA, ended), MDP(P, r, GAMMA, ended)
    np.testing.assert_allclose(uc_backup(sparse, q, ell), uc_backup(dense, q, ell), atol=1e-12)
    np.testing.assert_allclose(ell_backup(sparse, q, ell), ell_backup(dense, q, ell), atol=1e-12)


def test_nothing_counts_beyond_a_terminal_state():
    # Whatever is written in the terminal row (reward, q, ℓ), state 0 must not see it.
    mdp = MDP.deterministic([[1], [1]], [[1.0], [50.0]], GAMMA, [False, True])
    q, ell = np.array([[0.0], [7.0]]), np.array([[1.0], [9.0]])
    assert uc_backup(mdp, q, ell)[0, 0] == 1.0
    assert ell_backup(mdp, q, ell)[0, 0] == 1.0  # |δ| alone
    assert value_iteration(mdp).tolist() == [[1.0], [0.0]]


def test_ell_needs_a_floor():
    """Hole (i) of Lemma 5: ℓ → 0 everywhere, yet the ratio of two ℓ stays 0, and q* never moves."""
    mdp = one_decision()
    q_dagger = value_iteration(mdp)
    assert q_dagger[0, 1] == pytest.approx(GAMMA)
    ell = np.ones((2, 2))
    for _ in range(300):
        q = uc_policy_evaluation(mdp, ell)
        ell = ell_backup(mdp, q, ell, ell_min=1e-300)  # as good as none
    assert ell[0].max() < 1e-12
    assert ell[0, 0] / ell[0, 1] < 1e-200
    assert q[0, 1] == pytest.approx(0, abs=1e-3)  # the optimum is 0.9
    np.testing.assert_allclose(uc_value_iteration(mdp, ell=1.0).q, q_dagger, atol=1e-6)


def test_iteration_goes_on_while_ell_falls_though_q_rests():
    mdp = one_decision()
    ell = np.array([[1e-12, 1.0], [1e-12, 1e-12]])  # as it is after one backup
    resting = uc_policy_evaluation(mdp, ell)
    np.testing.assert_allclose(
        uc_policy_evaluation(mdp, np.maximum(ell * GAMMA, 1e-12)), resting, atol=1e-8
    )
    plan = uc_value_iteration(mdp, ell=ell)
    assert plan.iterations >= np.log(1e-12) / np.log(GAMMA)
    np.testing.assert_allclose(plan.q, value_iteration(mdp), atol=1e-6)
    idle = uc_value_iteration(MDP.deterministic([[0, 0]], [[0.0, 0.0]], GAMMA), ell=1.0)
    assert (idle.ell == 1e-12).all()


def sound_hole():
    """State 0 leads to state 1, which ends the episode by a good or by a bad, less known action."""
    mdp = MDP.deterministic(
        [[1, 1], [2, 2], [2, 2]], [[0, 0], [0.05, -10], [0, 0]], GAMMA, [False, False, True]
    )
    q = np.array([[0.0, 0.0], [0.0, -10.0], [0.0, 0.0]])
    ell = np.array([[20.0, 20.0], [0.05, 0.1], [1.0, 1.0]])
    q[0] = uc_backup(mdp, q, ell, kappa=100.0)[0]  # so that δ = 0 in state 0
    return mdp, q, ell


def test_the_papers_ell_backup_can_lose_the_bound():
    """Hole (ii) of Lemma 5: |q† − q| ≤ ℓ holds before the backup and fails after it."""
    mdp, q, ell = sound_hole()
    error = np.abs(value_iteration(mdp) - q)
    assert (error <= ell + 1e-12).all()
    after = ell_backup(mdp, q, ell, kappa=100.0)
    assert error[0, 0] > 5
    assert after[0, 0] < 0.2
    assert (error <= ell_backup(mdp, q, ell, kappa=100.0, sound=True) + 1e-12).all()


@pytest.mark.parametrize("seed", range(30))
def test_the_sound_ell_backup_keeps_the_bound_at_fixed_q(seed):
    mdp, rng = random_mdp(seed), np.random.default_rng(seed)
    q_dagger = value_iteration(mdp)
    q = q_dagger + rng.normal(size=q_dagger.shape) * rng.choice([0.1, 1.0, 10.0])
    error = np.where(mdp.terminal[:, None], 0.0, np.abs(q_dagger - q))
    ell = np.maximum(error * rng.choice([1.0, 1.5], size=error.shape), 1e-12)
    for _ in range(5):
        ell = ell_backup(mdp, q, ell, kappa=5.0, sound=True)
        assert (error <= ell + 1e-9).all()


def test_when_q_moves_ell_must_first_grow_by_as_much():
    """The bound speaks of one q: after a step from q it covers the new q only with |Δq| added."""
    mdp = MDP.deterministic([[1], [1]], [[1.0], [0.0]], GAMMA, [False, True])
    q, ell = np.array([[1.0], [0.0]]), np.full((2, 1), 1e-12)  # exact, and known to be
    moved = q + np.array([[0.5], [0.0]])
    error = np.abs(value_iteration(mdp) - moved)
    assert (error > ell).any()
    assert (error <= ell + np.abs(moved - q)).all()


P, R = np.full((2, 2, 2), 0.5), np.zeros((2, 2))


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: MDP(P[:, :, :1], R, 0.9), "P has shape"),
        (lambda: MDP(P * 0.9, R, 0.9), "state 0 under action 0 sum to 0.9"),
        (lambda: MDP(P * np.array([3.0, -1.0]), R, 0.9), "not negative"),
        (lambda: MDP(P * np.nan, R, 0.9), "finite"),
        (lambda: MDP(P, R[:, :1], 0.9), "r has shape"),
        (lambda: MDP(P, R + np.inf, 0.9), "r holds NaN"),
        (lambda: MDP(P, R, 1.0), "gamma is 1.0"),
        (lambda: MDP(P, R, 0.9, [True]), "terminal"),
        (lambda: MDP.deterministic([[0, 2], [0, 1]], R, 0.9), "0…1"),
        (lambda: MDP.deterministic([[0.0, 1], [0, 1]], R, 0.9), "integers"),
        (lambda: MDP.sparse(np.zeros((2, 2, 1), int), P, R, 0.9), "successors has shape"),
        (lambda: uc_backup(MDP(P, R, 0.9), R[0], R + 1), "q has shape"),
        (lambda: uc_backup(MDP(P, R, 0.9), R, R), "ell must be positive"),
        (lambda: uc_backup(MDP(P, R, 0.9), R * np.nan, R + 1), "q holds NaN"),
        (lambda: uc_backup(MDP(P, R, 0.9), R, R + 1, kappa=0.0), "kappa is 0"),
        (lambda: uc_value_iteration(MDP(P, R, 0.9), kappa=-1.0), "kappa is -1"),
        (lambda: uc_value_iteration(MDP(P, R, 0.9), ell_min=0.0), "ell_min is 0"),
        (lambda: value_iteration(MDP(P, R, 0.9), tolerance=0.0), "tolerance is 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_named(build, says):
    with pytest.raises(ValueError, match=says):
        build()
