"""The uncertainty constrained policy and value (section 3 of the paper), exact and in log space.

Every action is a point (ℓ, ℓ·q). Add the origin; the least concave majorant of these points, from 0
to the largest ℓ, decides everything. Its vertices are the Pareto optimal actions. Its slopes
s_1 > s_2 > … give p_j = exp(s_j/κ), and policy and value are sums of these (eqs. 10 and 11).

Slopes are kept relative to the largest, max q: the first is 0 and the others are negative, so no
exponential overflows, and they keep their digits when q is large.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike, DTypeLike


def uc_policy(q: ArrayLike, ell: ArrayLike, kappa: ArrayLike) -> Array:
    """The policy π* that maximises eq. (7), by eq. (10): [..., A], [..., A], scalar -> [..., A]."""
    policy: Array = _solve(*_checked(q, ell, kappa)).policy
    return policy


def uc_value(q: ArrayLike, ell: ArrayLike, kappa: ArrayLike) -> Array:
    """The value `v*` of `π*`, eq. (11): [..., A], [..., A], scalar -> [...].

    Its q-gradient is `π*`.
    """
    value: Array = _solve(*_checked(q, ell, kappa)).value
    return value


def pareto_optimal(q: ArrayLike, ell: ArrayLike) -> Array:
    """The actions that π* takes for any κ: the majorant's vertices. -> bool [..., A].

    Eq. (9) describes the same set where every q is positive (docs/paper.md).
    """
    pareto: Array = _solve(*_checked(q, ell, 1.0)).pareto
    return pareto


def uncertainty_kl(pi: ArrayLike, ell: ArrayLike) -> Array:
    """D_KL between the uncertainty mixtures of π and π•, eq. (8): [..., A], [..., A] -> [...]."""
    pi, ell = _checked_pair("pi", pi, ell)
    if not isinstance(pi, jax.core.Tracer) and (np.asarray(pi) < 0).any():
        raise ValueError("pi has negative entries; expected probabilities")
    divergence: Array = _kl(pi, ell)
    return divergence


@partial(jax.jit, inline=True)
def _kl(pi: Array, ell: Array) -> Array:
    ell, pi = lax.sort((ell, pi), num_keys=1)
    largest = ell[..., -1:]
    width = jnp.diff(ell, axis=-1, prepend=0.0) / largest
    # u^π/u^• is constant between neighbouring ℓ, where it is Σ_{k≥n} π_k ℓ_A/ℓ_k.
    ratio = lax.cumsum(pi * (largest / ell), axis=pi.ndim - 1, reverse=True)
    divergence = jnp.sum(width * jax.scipy.special.xlogy(ratio, ratio), -1)  # eq. (8)
    return jnp.maximum(divergence, 0.0)  # what rounding leaves of 0 may be negative


class _Solution(NamedTuple):
    """What a caller does not use, XLA does not compute."""

    policy: Array  # [..., A]
    value: Array  # [...]
    pareto: Array  # bool [..., A]


@partial(jax.jit, inline=True)
def _solve(q: Array, ell: Array, kappa: Array) -> _Solution:
    return (_solve_few if q.shape[-1] <= 3 else _solve_many)(q, ell, kappa)


def _solve_few(q: Array, ell: Array, kappa: Array) -> _Solution:
    """At most three actions: the majorant has a first and a last vertex, and at most one between.

    No sort, no loop, no gather, and the exponentials are per row, not per action.
    """
    best, ell_last = _max(q), _max(ell)
    ell_first = _max(jnp.where(q == best, ell, 0.0))
    q_last = _max(jnp.where(ell == ell_last, q, -jnp.inf))
    first, last = (q == best) & (ell == ell_first), (ell == ell_last) & (q == q_last)
    if q.shape[-1] < 3:
        between = jnp.zeros_like(first)
        slope_2 = slope_3 = _slope(best, ell_first, q_last, ell_last, best, otherwise=0.0)
        ell_between = ell_first
    else:
        onward = _slope(best, ell_first, q, ell, best, otherwise=-jnp.inf)  # from the first vertex
        final = _slope(q, ell, q_last, ell_last, best, otherwise=jnp.inf)  # to the last vertex
        between = (ell > ell_first) & (ell < ell_last) & (onward > final)
        several = ell_first < ell_last
        slope_2 = jnp.where(several, _max(onward), 0.0)
        slope_3 = jnp.where(several, -_max(-final), 0.0)
        ell_between = _max(jnp.where(between, ell, ell_first))

    # p_1 = 1. Without a vertex between, p_2 = p_3 and the second piece has no width.
    p_2, p_3 = jnp.exp(slope_2 / kappa), jnp.exp(slope_3 / kappa)
    p_2_less_1, p_3_less_1 = jnp.expm1(slope_2 / kappa), jnp.expm1(slope_3 / kappa)
    width_2, width_3 = ell_between - ell_first, ell_last - ell_between
    value = _log_mean(
        (ell_first + width_2 * p_2 + width_3 * p_3) / ell_last,
        (width_2 * p_2_less_1 + width_3 * p_3_less_1) / ell_last,
    )

    # eq. (10): ℓ (p_j − p_{j+1}) on each vertex.
    on_first = -ell_first * p_2_less_1
    p_2_less_p_3 = -p_2 * jnp.expm1(jnp.minimum(slope_3 - slope_2, 0.0) / kappa)
    on_between = jnp.where(ell_between > ell_first, ell_between * p_2_less_p_3, 0.0)
    on_last = ell_last * p_3
    total = on_first + on_between + on_last
    policy = jnp.where(between, on_between / total, 0.0)
    policy = jnp.where(first, on_first / (total * _count(first, q.dtype)), policy)
    policy = jnp.where(last, on_last / (total * _count(last, q.dtype)), policy)
    return _Solution(policy, (best + kappa * value)[..., 0], first | between | last)


def _solve_many(q: Array, ell: Array, kappa: Array) -> _Solution:
    """Any number of actions, from the slopes of the majorant on either side of each."""
    best, ell_last = _max(q), _max(ell)
    walk = _walk_majorant(lax.stop_gradient(q), lax.stop_gradient(ell))
    # Who neighbours whom is settled by integers; the slopes to them are differentiable again.
    q_before, ell_before = _pick(q, walk.before), _pick(ell, walk.before)
    q_after, ell_after = _pick(q, walk.after), _pick(ell, walk.after)
    left = _slope(q_before, ell_before, q, ell, best, otherwise=0.0)
    right = _slope(q, ell, q_after, ell_after, best, otherwise=0.0)
    pareto, last = walk.copies > 0, walk.after < 0
    share = jnp.where(pareto, 1.0 / jnp.maximum(walk.copies, 1).astype(q.dtype), 0.0)

    p = jnp.exp(left / kappa)
    width = share * (ell - ell_before) / ell_last
    value = _log_mean(
        jnp.sum(width * p, -1, keepdims=True),
        jnp.sum(width * jnp.expm1(left / kappa), -1, keepdims=True),
    )
    # eq. (10): ℓ (p_j − p_{j+1}), with p_{j+1} = 0 at the last.
    fall = jnp.where(last, 0.0, right - left)
    drop = p * jnp.where(last, 1.0, -jnp.expm1(fall / kappa))
    weight = share * (ell / ell_last) * drop
    policy = weight / jnp.sum(weight, -1, keepdims=True)
    return _Solution(policy, (best + kappa * value)[..., 0], pareto)


class _Walk(NamedTuple):
    """A walk along the majorant: how far each row has come, and who neighbours whom so far."""

    ell: Array  # [..., 1] ℓ of the vertex reached; 0 at the origin
    q: Array  # [..., 1] q there
    at: Array  # [..., 1] an action there; -1 at the origin
    before: Array  # [..., A] an action on the vertex before this action's; -1: the origin
    after: Array  # [..., A] an action on the vertex after it; -1: none
    copies: Array  # [..., A] how many equal actions are on its vertex; 0: it is on none


def _walk_majorant(q: Array, ell: Array) -> _Walk:
    """From the origin, step along the steepest slope until ℓ is the largest.

    One pass over the actions per vertex. There are few vertices as a rule (about log A for random
    points), so this beats a sort; with all A actions on the majorant it takes A passes.
    """
    best, ell_last = _max(q), _max(ell)
    actions = lax.broadcasted_iota(jnp.int32, q.shape, q.ndim - 1)

    def step(walk: _Walk) -> _Walk:
        slope = _slope(walk.q, walk.ell, q, ell, best, otherwise=-jnp.inf)
        steepest = (slope == _max(slope)) & (walk.ell < ell_last)
        # Of several steepest points the farthest is the vertex: the others lie on the chord to it.
        farthest = _max(jnp.where(steepest, ell, 0.0))
        # NaN in a trace has no steepest slope: end the walk there, the NaN shows in the value.
        reached = jnp.where(farthest > walk.ell, farthest, ell_last)
        q_reached = _max(jnp.where(steepest & (ell == reached), q, -jnp.inf))
        vertex = steepest & (ell == reached) & (q == q_reached)
        at = _max(jnp.where(vertex, actions, -1))
        just_left = (walk.copies > 0) & (walk.after < 0) & (ell < reached)
        return _Walk(
            ell=reached,
            q=q_reached,
            at=at,
            before=jnp.where(vertex, walk.at, walk.before),
            after=jnp.where(just_left, at, walk.after),
            copies=jnp.where(vertex, _count(vertex, jnp.int32), walk.copies),
        )

    nowhere = jnp.full(q.shape, -1, jnp.int32)
    origin = jnp.zeros_like(ell_last)
    return lax.while_loop(
        lambda walk: jnp.any(walk.ell < ell_last),
        step,
        _Walk(origin, origin, nowhere[..., :1], nowhere, nowhere, nowhere + 1),
    )


def _slope(
    q_i: Array, ell_i: Array, q_k: Array, ell_k: Array, best: Array, otherwise: float
) -> Array:
    """Slope from point i to point k, less `best`, where ℓ_k > ℓ_i; `otherwise` elsewhere."""
    ahead = ell_k > ell_i
    # (ℓ_k q_k − ℓ_i q_i)/(ℓ_k − ℓ_i), in a form that keeps its digits when ℓ_i ≈ ℓ_k.
    slope = (q_k - best) + ell_i * (q_k - q_i) / jnp.where(ahead, ell_k - ell_i, 1.0)
    return jnp.where(ahead, slope, otherwise)


def _log_mean(mean: Array, mean_less_1: Array) -> Array:
    """log(mean), from its distance to 1 where that is short: a large κ magnifies its rounding."""
    near_1 = mean_less_1 > -0.5
    return jnp.where(near_1, jnp.log1p(jnp.where(near_1, mean_less_1, 0.0)), jnp.log(mean))


def _max(values: Array) -> Array:
    return jnp.max(values, -1, keepdims=True)


def _count(marked: Array, dtype: DTypeLike) -> Array:
    return jnp.sum(marked, -1, keepdims=True, dtype=dtype)


def _pick(values: Array, index: Array) -> Array:
    """values[index] along the last axis, 0 (the origin) where the index is −1."""
    return jnp.where(index < 0, 0.0, jnp.take_along_axis(values, jnp.maximum(index, 0), -1))


def _checked(q: ArrayLike, ell: ArrayLike, kappa: ArrayLike) -> tuple[Array, Array, Array]:
    q, ell = _checked_pair("q", q, ell)
    if jnp.ndim(kappa) != 0:
        raise ValueError(f"kappa has shape {jnp.shape(kappa)}; expected one positive number")
    if not isinstance(kappa, jax.core.Tracer) and not 0 < np.asarray(kappa, float) < np.inf:
        raise ValueError(f"kappa is {kappa}; expected a positive finite number")
    return q, ell, jnp.asarray(kappa, q.dtype)


def _checked_pair(name: str, values: ArrayLike, ell: ArrayLike) -> tuple[Array, Array]:
    """Both as arrays of one floating type. Inside a trace only shapes can be checked."""
    values, ell = jnp.asarray(values), jnp.asarray(ell)
    if values.shape != ell.shape or values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(
            f"{name} has shape {values.shape} and ell has shape {ell.shape}; "
            "expected the same shape [..., A], with at least one action"
        )
    if not isinstance(values, jax.core.Tracer) and not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinity; expected finite numbers")
    if (
        not isinstance(ell, jax.core.Tracer)
        and not (np.isfinite(ell) & (np.asarray(ell) > 0)).all()
    ):
        raise ValueError("ell holds entries that are not positive and finite; clip it at ell_min")
    dtype = jnp.result_type(values, ell, jnp.float32)
    return values.astype(dtype), ell.astype(dtype)
