"""Policy and value against a convex solver, numerical integration, a plain twin, their limits."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import cvxpy as cp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import xlogy

from isl.theory.exploration import pareto_optimal, uc_policy, uc_value, uncertainty_kl
from tests.reference import exploration as reference

ACTION_COUNTS = [1, 2, 3, 4, 7, 30]  # both the form for few actions and the one for many


def random_rows(rng, rows, actions):
    return rng.normal(size=(rows, actions)) * 3, rng.uniform(0.01, 5, size=(rows, actions))


@cache
def raw_problem(actions):
    """max Σπq − κ·KL over the simplex, for actions in order of ℓ, as the solver is told it."""
    pi = cp.Variable(actions, nonneg=True)
    q = cp.Parameter(actions)
    to_density = cp.Parameter((actions, actions), nonneg=True)
    weight = cp.Parameter(actions, nonneg=True)  # κ times the width of each step of the density
    density = cp.Variable(actions)
    objective = cp.Maximize(q @ pi + weight @ cp.entr(density))
    problem = cp.Problem(objective, [cp.sum(pi) == 1, density == to_density @ pi])
    return problem, pi, q, to_density, weight


def solve_raw(q, ell, kappa):
    order = np.argsort(ell)
    problem, pi, q_, to_density, weight = raw_problem(len(q))
    sorted_ell = ell[order]
    q_.value = q[order]
    to_density.value = np.triu(np.ones((len(q), len(q)))) * (sorted_ell[-1] / sorted_ell)
    weight.value = kappa * np.diff(sorted_ell, prepend=0.0) / sorted_ell[-1]
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    best = np.maximum(pi.value, 0.0)
    density = to_density.value @ best
    policy = np.empty(len(q))
    policy[order] = best
    return policy, q @ policy - np.sum(weight.value * xlogy(density, density))


@st.composite
def states(draw):
    actions = draw(st.integers(2, 8))
    q = draw(st.lists(st.floats(-5, 5), min_size=actions, max_size=actions))
    steps = draw(st.lists(st.floats(0.1, 1.5), min_size=actions, max_size=actions))
    ell = draw(st.permutations(np.cumsum(steps).tolist()))
    return np.array(q), np.array(ell), draw(st.floats(0.2, 5))


# At the limit of its precision the solver says so; it must agree all the same.
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@given(states())
@settings(max_examples=600)
def test_agrees_with_a_convex_solver_on_the_raw_objective(state):
    q, ell, kappa = state
    policy, value = solve_raw(q, ell, kappa)
    with jax.enable_x64(True):
        np.testing.assert_allclose(uc_value(q, ell, kappa), value, rtol=0, atol=1e-5)
        np.testing.assert_allclose(uc_policy(q, ell, kappa), policy, rtol=0, atol=1e-4)


@pytest.mark.parametrize("actions", [*ACTION_COUNTS, 1000])
@pytest.mark.parametrize("kappa", [0.1, 1.0, 10.0])
def test_agrees_with_the_plain_twin(x64, actions, kappa):
    q, ell = random_rows(np.random.default_rng(actions), 20, actions)
    if actions == 1000:  # many vertices: a smooth concave front, jittered
        ell[0] = np.linspace(0.1, 5, actions)
        q[0] = -(ell[0] ** 2) + 1e-7 * q[0]
    expected = [reference.solve(*row, kappa) for row in zip(q, ell, strict=True)]
    policy, value = uc_policy(q, ell, kappa), uc_value(q, ell, kappa)
    np.testing.assert_allclose(policy, [p for p, _ in expected], rtol=0, atol=1e-9)
    np.testing.assert_allclose(value, [v for _, v in expected], rtol=0, atol=1e-9)


@pytest.mark.parametrize("actions", ACTION_COUNTS)
def test_value_is_the_objective_at_the_policy(x64, actions):
    q, ell = random_rows(np.random.default_rng(1), 50, actions)
    policy = uc_policy(q, ell, 0.7)
    objective = jnp.sum(policy * q, -1) - 0.7 * uncertainty_kl(policy, ell)
    np.testing.assert_allclose(objective, uc_value(q, ell, 0.7), rtol=0, atol=1e-10)


@pytest.mark.parametrize("actions", ACTION_COUNTS)
def test_policy_is_positive_exactly_on_the_pareto_set(x64, actions):
    q, ell = random_rows(np.random.default_rng(2), 50, actions)
    np.testing.assert_array_equal(uc_policy(q, ell, 1e6) > 0, pareto_optimal(q, ell))


def test_pareto_set_where_the_papers_definition_fails():
    # The middle action lies below the chord of the others (−1.5 < −1), so a mixture beats it. With
    # q < 0 the paper's quotient is 2/3 and calls it optimal.
    q, ell = np.array([0.0, -0.75, -2 / 3]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(pareto_optimal(q, ell), [True, False, True])
    assert uc_policy(q, ell, 1.0)[1] == 0
    _, best = solve_raw(q, ell, 1.0)
    np.testing.assert_allclose(uc_value(q, ell, 1.0), best, atol=1e-5)


def test_kl_is_the_integral_of_the_densities(x64):
    rng = np.random.default_rng(3)
    for actions in [1, 2, 3, 5, 8]:
        pi, ell = rng.dirichlet(np.ones(actions)), rng.uniform(0.1, 3, actions)

        def integrand(error, pi=pi, ell=ell):
            mixture = np.sum(pi * (abs(error) <= ell) / (2 * ell))
            return mixture * np.log(mixture * 2 * ell.max()) if mixture > 0 else 0.0

        cuts = np.unique(np.concatenate([[0.0], ell]))
        half = sum(integrate.quad(integrand, a, b)[0] for a, b in pairwise(cuts))
        np.testing.assert_allclose(uncertainty_kl(pi, ell), 2 * half, atol=1e-9)


def test_kl_is_zero_at_the_most_uncertain_policy_and_never_negative():
    rng = np.random.default_rng(4)
    ell = rng.uniform(1e-6, 100, size=(2000, 6)).astype(np.float32)
    pi = rng.dirichlet(np.full(6, 0.2), size=2000).astype(np.float32)
    most_uncertain = np.eye(6, dtype=np.float32)[ell.argmax(-1)]
    np.testing.assert_array_equal(uncertainty_kl(most_uncertain, ell), 0)
    assert (uncertainty_kl(pi, ell) >= 0).all()
    nearly = 0.9999999 * most_uncertain + np.float32(1e-7 / 6)
    assert (uncertainty_kl(nearly, ell) >= 0).all()


@pytest.mark.parametrize("actions", [1, 2, 3, 4, 30])
def test_gradients(x64, actions):
    rng = np.random.default_rng(5)
    q, _ = random_rows(rng, 40, actions)
    # Differences of ℓ of at least 0.1, or finite differences would say little.
    ell = rng.permuted(np.cumsum(rng.uniform(0.1, 1.0, q.shape), -1), axis=-1)
    towards_q, towards_ell = rng.normal(size=(2, *q.shape)) * np.stack([np.ones_like(ell), ell])

    @jax.jit
    def value_and_policy(q, ell, kappa):
        return jnp.sum(uc_value(q, ell, kappa)), jnp.sum(uc_policy(q, ell, kappa) ** 2)

    gradients = jax.jit(jax.jacrev(value_and_policy, argnums=(0, 1, 2)))

    for kappa in (0.05, 1.0, 50.0):
        (by_q, by_ell, by_kappa), of_policy = gradients(q, ell, kappa)
        policy = uc_policy(q, ell, kappa)
        np.testing.assert_allclose(by_q, policy, rtol=0, atol=1e-5)  # envelope theorem
        np.testing.assert_allclose(by_kappa, -np.sum(uncertainty_kl(policy, ell)), atol=1e-8)
        assert all(np.isfinite(gradient).all() for gradient in of_policy)

        step = 1e-6
        there, back = (
            value_and_policy(q + sign * towards_q, ell + sign * towards_ell, kappa)
            for sign in (step, -step)
        )
        slopes = [(a - b) / (2 * step) for a, b in zip(there, back, strict=True)]
        for slope, (d_q, d_ell) in zip(slopes, ((by_q, by_ell), of_policy[:2]), strict=True):
            along = np.sum(d_q * towards_q) + np.sum(d_ell * towards_ell)
            np.testing.assert_allclose(along, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("actions", [2, 3, 5])
def test_gradients_of_extreme_input_are_finite(actions):
    q, ell = extreme_rows(actions)
    # Off ties, and without slopes beyond the range of 32 bits.
    off_ties = (np.diff(np.sort(ell)) > 1e-3 * np.sort(ell)[:, 1:]).all(-1)
    gradient = jax.jit(
        jax.grad(lambda q, ell, kappa: jnp.sum(uc_value(q, ell, kappa)), argnums=(0, 1, 2))
    )
    assert off_ties.sum() > 100
    for kappa in (1e-6, 1.0, 1e6):
        for part in gradient(q[off_ties], ell[off_ties], kappa):
            assert np.isfinite(part).all()


@pytest.mark.parametrize("actions", [2, 3, 9])
def test_remark_2_limits(actions):
    q, ell = random_rows(np.random.default_rng(6), 50, actions)
    greedy, curious = np.eye(actions)[q.argmax(-1)], np.eye(actions)[ell.argmax(-1)]
    np.testing.assert_allclose(uc_policy(q, ell, 1e-6), greedy, atol=1e-6)
    np.testing.assert_allclose(uc_value(q, ell, 1e-6), q.max(-1), atol=1e-4)
    np.testing.assert_allclose(uc_policy(q, np.ones_like(q), 1.0), greedy, atol=1e-6)
    np.testing.assert_allclose(uc_value(q, np.ones_like(q), 1.0), q.max(-1), atol=1e-6)
    # Not κ = 1e6: neighbouring ℓ may differ by so little that their slopes are as large.
    with jax.enable_x64(True):
        np.testing.assert_allclose(uc_policy(q, ell, 1e9), curious, atol=1e-5)
    np.testing.assert_allclose(uc_value(q, ell, 1e6), q[np.arange(50), ell.argmax(-1)], atol=1e-2)


def extreme_rows(actions):
    rng = np.random.default_rng(actions)
    shape = (3000, actions)
    q = rng.choice([0.0, 1.0, -1.0, 1e6, -1e6, 1e-6, 3.25], shape)
    q = np.where(
        rng.random(shape) < 0.3, rng.normal(size=shape) * 10 ** rng.uniform(-6, 6, shape), q
    )
    ell = rng.choice([1e-12, 2e-12, 1e-6, 1.0, np.nextafter(np.float32(1), 2), 99.99, 100], shape)
    ell = np.where(rng.random(shape) < 0.3, 10 ** rng.uniform(-12, 2, shape), ell)
    return q.astype(np.float32), ell.astype(np.float32)


@pytest.mark.parametrize("actions", ACTION_COUNTS)
@pytest.mark.parametrize("kappa", [1e-6, 1e-2, 1.0, 1e3, 1e6])
def test_extreme_input_in_32_bits(actions, kappa):
    q, ell = extreme_rows(actions)
    policy, value = np.asarray(uc_policy(q, ell, kappa)), np.asarray(uc_value(q, ell, kappa))
    assert policy.dtype == value.dtype == np.float32
    assert np.isfinite(policy).all()
    assert np.isfinite(value).all()
    assert (policy >= 0).all()
    np.testing.assert_allclose(policy.sum(-1), 1, atol=1e-5)
    assert (value <= q.max(-1)).all()  # the divergence costs, it never pays
    higher_q, higher_ell = q[:, None] >= q[..., None], ell[:, None] > ell[..., None]
    same_ell = ell[:, None] == ell[..., None]
    dominated = (higher_q & higher_ell) | (same_ell & (q[:, None] > q[..., None]))
    assert (policy[dominated.any(-1)] == 0).all()
    equal = same_ell & (q[:, None] == q[..., None])
    np.testing.assert_array_equal(
        np.broadcast_to(policy[:, None], equal.shape)[equal],
        np.broadcast_to(policy[..., None], equal.shape)[equal],
    )


def exactly_mixed_dominated(q, ell, a):
    """Definition 2, multiplied out and in rational numbers."""
    x, y = (
        [Fraction(float(v)) for v in ell],
        [Fraction(float(v)) * Fraction(float(w)) for v, w in zip(ell, q, strict=True)],
    )
    return any(
        (x[i] - x[a]) * y[j] + (x[a] - x[j]) * y[i] > (x[i] - x[j]) * y[a]
        for i in range(len(q))
        for j in range(len(q))
        if x[i] > x[a] > x[j]
    )


@pytest.mark.parametrize("actions", [3, 5])
def test_no_probability_on_mixed_dominated_actions(actions):
    rng = np.random.default_rng(7)
    q = rng.integers(-4, 5, size=(300, actions)).astype(np.float32)
    ell = rng.integers(1, 7, size=(300, actions)).astype(np.float32)
    policy = np.asarray(uc_policy(q, ell, 1.0))
    dominated = [
        [exactly_mixed_dominated(*row, a) for a in range(actions)]
        for row in zip(q, ell, strict=True)
    ]
    assert np.any(dominated)
    assert (policy[np.array(dominated)] == 0).all()


def test_a_large_kappa_does_not_magnify_rounding():
    # v* → mean slope of the majorant = q of the most uncertain action, as κ → ∞.
    q, ell = np.float32([1.0, 0.0]), np.float32([1.0, 2.0])
    np.testing.assert_allclose(uc_value(q, ell, 1e6), 0.0, atol=1e-5)
    q, ell = np.float32([1.0, 0.5, 0.0, -1.0]), np.float32([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(uc_value(q, ell, 1e6), -1.0, atol=1e-5)


@pytest.mark.parametrize("actions", [2, 3, 5])
def test_equal_actions_share_and_smaller_q_loses_a_tie(actions):
    # Two copies of the certain, better action, the rest copies of the uncertain one.
    q = np.array([1.0, 1.0, *[0.0] * (actions - 2)])
    ell = np.array([1.0, 1.0, *[2.0] * (actions - 2)])
    merged = uc_policy(q[1:3], ell[1:3], 1.0) if actions > 2 else np.array([1.0])
    expected = [merged[0] / 2] * 2 + [merged[-1] / max(actions - 2, 1)] * (actions - 2)
    np.testing.assert_allclose(uc_policy(q, ell, 1.0), expected, atol=1e-6)
    tie = uc_policy(np.arange(actions, dtype=float), np.full(actions, 3.0), 5.0)
    np.testing.assert_array_equal(tie, np.eye(actions)[-1])


@pytest.mark.parametrize("actions", [2, 3, 6])
def test_any_batch_shape_under_jit_and_vmap(actions):
    rng = np.random.default_rng(8)
    q, ell = rng.normal(size=(2, 3, 4, actions)), rng.uniform(0.1, 2, size=(2, 3, 4, actions))
    policy, value = uc_policy(q, ell, 0.5), uc_value(q, ell, 0.5)
    assert value.shape == (2, 3, 4)
    np.testing.assert_allclose(jax.jit(uc_policy)(q, ell, 0.5), policy, atol=1e-6)
    row_by_row = jax.vmap(jax.vmap(jax.vmap(uc_value, (0, 0, None)), (0, 0, None)), (0, 0, None))
    np.testing.assert_allclose(row_by_row(q, ell, 0.5), value, atol=1e-6)
    kappas = jnp.array([0.5, 2.0])
    by_kappa = jax.vmap(uc_value, (None, None, 0))(q, ell, kappas)
    np.testing.assert_allclose(by_kappa[0], value, atol=1e-6)
    np.testing.assert_array_equal(uc_policy(q[0, 0, 0], ell[0, 0, 0], 0.5).shape, (actions,))
    assert uncertainty_kl(policy, ell).shape == (2, 3, 4)
    assert pareto_optimal(q, ell).dtype == bool


GOOD = np.array([1.0, 2.0])


@pytest.mark.parametrize("function", [uc_policy, uc_value])
@pytest.mark.parametrize(
    ("q", "ell", "kappa", "names"),
    [
        ([np.nan, 1.0], GOOD, 1.0, "q"),
        ([np.inf, 1.0], GOOD, 1.0, "q"),
        (GOOD, [0.0, 1.0], 1.0, "ell"),
        (GOOD, [-1.0, 1.0], 1.0, "ell"),
        (GOOD, [np.nan, 1.0], 1.0, "ell"),
        (GOOD, [np.inf, 1.0], 1.0, "ell"),
        (GOOD, GOOD, 0.0, "kappa"),
        (GOOD, GOOD, -1.0, "kappa"),
        (GOOD, GOOD, np.nan, "kappa"),
        (GOOD, GOOD, np.inf, "kappa"),
        (GOOD, GOOD, GOOD, "kappa"),
        (GOOD, [1.0, 2.0, 3.0], 1.0, "ell"),
        ([GOOD], GOOD, 1.0, "q"),
        (1.0, 1.0, 1.0, "q"),
        ([], [], 1.0, "q"),
    ],
)
def test_bad_input_is_named(function, q, ell, kappa, names):
    with pytest.raises(ValueError, match=f"(?m)^.*\\b{names}\\b"):
        function(q, ell, kappa)


def test_bad_input_of_the_other_functions_is_named():
    with pytest.raises(ValueError, match="ell"):
        pareto_optimal(GOOD, -GOOD)
    with pytest.raises(ValueError, match="pi"):
        uncertainty_kl([1.5, -0.5], GOOD)
    with pytest.raises(ValueError, match="pi"):
        uncertainty_kl([np.nan, 1.0], GOOD)


@pytest.mark.parametrize("actions", [2, 3, 5])
def test_nan_inside_a_trace_gives_nan_and_ends(actions):
    q = jnp.zeros((2, actions)).at[0, 1].set(jnp.nan)
    ell = jnp.tile(jnp.arange(1.0, actions + 1), (2, 1))
    value = jax.jit(uc_value, static_argnums=2)(q, ell, 1.0)
    assert np.isnan(value[0])
    assert np.isfinite(value[1])
