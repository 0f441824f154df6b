"""The uncertainty constrained policy and value (sections 3 and 3.1 of the paper).

Every action is a point (ℓ, ℓ·q). With the origin added, the least concave majorant of these points
from 0 to max ℓ decides everything: its vertices are the Pareto optimal actions, and its slopes
s_1 > s_2 > … give p_j = exp(s_j/κ), from which the policy and the value follow in closed form.

For each action we therefore need four numbers (`_Majorant`): the slopes of the majorant to its left
and to its right, where the piece on its left begins, and its share of the vertex it sits on (0 if it
is below the majorant, 1/n if it is one of n equal actions). `uc_policy`, `uc_value` and
`pareto_optimal` are one-line consequences.
"""

from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

# Up to here the slopes are plain arithmetic that XLA fuses; beyond, the cubic count of pairs loses to
# walking from vertex to vertex.
_UNROLLED_ACTIONS = 4


class _Majorant(NamedTuple):
    """The least concave majorant of the points (ℓ, ℓ·q), seen from each action: arrays [..., A]."""

    left: Array  # slope of the piece that ends at this action
    right: Array  # slope of the piece that begins here; -inf at the largest ℓ
    start: Array  # where the piece on the left begins: the ℓ of the vertex before, 0 for the first
    share: Array  # 1/n if the action is one of n equal ones on a vertex, 0 if it is on none


def uc_policy(q: ArrayLike, ell: ArrayLike, kappa: ArrayLike) -> Array:
    """The policy π* that maximises Σ π q − κ·D_KL: [..., A], [..., A], scalar -> [..., A]."""
    return _policy(*_checked(q, ell, kappa))


def uc_value(q: ArrayLike, ell: ArrayLike, kappa: ArrayLike) -> Array:
    """The value v* = max_π Σ π q − κ·D_KL: [..., A], [..., A], scalar -> [...]. Its gradient in q is π*."""
    return _value(*_checked(q, ell, kappa))


def pareto_optimal(q: ArrayLike, ell: ArrayLike) -> Array:
    """Which actions π* may take, whatever κ: the vertices of the majorant. -> bool [..., A]."""
    q, ell, _ = _checked(q, ell, 1.0)
    return _pareto_optimal(q, ell)


def uncertainty_kl(pi: ArrayLike, ell: ArrayLike) -> Array:
    """D_KL between the uncertainty mixtures of π and of π•, eq. (dkl): [..., A], [..., A] -> [...]."""
    pi, ell = _checked_pair("pi", pi, ell)
    if not isinstance(pi, jax.core.Tracer) and (np.asarray(pi) < 0).any():
        raise ValueError("pi has negative entries; expected probabilities")
    return _kl(pi, ell)


@partial(jax.jit, inline=True)
def _policy(q: Array, ell: Array, kappa: Array) -> Array:
    z, top = _below_best(q)
    left, right, _, share = _majorant(z, ell)
    last = right == -jnp.inf
    # eq. (optimal_policy): ℓ (p_j − p_{j+1}), written so that a small difference keeps its digits.
    drop = jnp.where(last, 1.0, -jnp.expm1((jnp.where(last, 0.0, right) - left) / kappa))
    relative = ell / jnp.max(ell, -1, keepdims=True)
    weight = share * relative * jnp.exp(left / kappa) * drop
    return weight / jnp.sum(weight, -1, keepdims=True)


@partial(jax.jit, inline=True)
def _value(q: Array, ell: Array, kappa: Array) -> Array:
    z, top = _below_best(q)
    left, _, start, share = _majorant(z, ell)
    width = share * (ell - start) / jnp.max(ell, -1, keepdims=True)
    # eq. (optimal_value_function): κ log Σ width·p, relative to max q. Near 1 the sum is taken as its
    # distance from 1 instead, because a large κ magnifies what rounding would leave of it.
    total = jnp.sum(width * jnp.exp(left / kappa), -1)
    excess = jnp.sum(width * jnp.expm1(left / kappa), -1)
    near_one = excess > -0.5
    log_total = jnp.where(near_one, jnp.log1p(jnp.where(near_one, excess, 0.0)), jnp.log(total))
    return top + kappa * log_total


@partial(jax.jit, inline=True)
def _pareto_optimal(q: Array, ell: Array) -> Array:
    z, _ = _below_best(q)
    return _majorant(z, ell).share > 0


@partial(jax.jit, inline=True)
def _kl(pi: Array, ell: Array) -> Array:
    ell, pi = lax.sort((ell, pi), num_keys=1)
    width = jnp.diff(ell, axis=-1, prepend=0.0) / ell[..., -1:]
    # u^π / u^• is constant between neighbouring ℓ: Σ_{k≥n} π_k·ℓ_A/ℓ_k.
    density_ratio = lax.cumsum(pi * (ell[..., -1:] / ell), axis=pi.ndim - 1, reverse=True)
    divergence = jnp.sum(width * jax.scipy.special.xlogy(density_ratio, density_ratio), -1)
    return jnp.maximum(divergence, 0.0)  # rounding may leave −1e-8


def _below_best(q: Array) -> tuple[Array, Array]:
    """q relative to its maximum, and that maximum: slopes shift along with q, so nothing else changes."""
    top = lax.stop_gradient(jnp.max(q, -1))
    return q - top[..., None], top


def _majorant(q: Array, ell: Array) -> _Majorant:
    build = _majorant_unrolled if q.shape[-1] <= _UNROLLED_ACTIONS else _majorant_walk
    return build(q, ell)


def _majorant_unrolled(q: Array, ell: Array) -> _Majorant:
    """Few actions: a slope is the least, over the points before, of the steepest to a point after.

    Written out per pair and triple of actions: only arithmetic and comparisons, no reductions,
    sorts or gathers, so that XLA makes one loop of it.
    """
    actions = range(q.shape[-1])
    zs, xs = [q[..., a] for a in actions], [ell[..., a] for a in actions]
    slope = {}
    for i in actions:
        for k in range(i):
            # (ℓ_k q_k − ℓ_i q_i)/(ℓ_k − ℓ_i), in the form that keeps its digits when ℓ_i ≈ ℓ_k.
            width = xs[k] - xs[i]
            rise = (zs[k] - zs[i]) / jnp.where(width == 0, 1.0, width)
            slope[i, k] = slope[k, i] = jnp.where(
                width > 0, zs[k] + xs[i] * rise, zs[i] + xs[k] * rise
            )

    def steepest(i: int | None, targets: list[Array]) -> Array:
        """Largest slope from action i (None: from the origin) to the actions marked as targets."""
        slopes = [
            jnp.where(targets[k], zs[k] if i is None else slope[i, k], -jnp.inf)
            for k in actions
            if k != i
        ]
        return reduce(jnp.maximum, slopes, jnp.full_like(zs[0], -jnp.inf))

    def at(a: int) -> tuple[Array, Array, Array]:
        others = [b for b in actions if b != a]
        here_on, beyond = [x >= xs[a] for x in xs], [x > xs[a] for x in xs]
        left = reduce(
            jnp.minimum,
            [jnp.where(here_on[b], jnp.inf, steepest(b, here_on)) for b in others],
            steepest(None, here_on),
        )
        right = reduce(
            jnp.minimum,
            [jnp.where(beyond[b], jnp.inf, steepest(b, beyond)) for b in others],
            jnp.minimum(steepest(None, beyond), steepest(a, beyond)),
        )
        tied = [xs[b] == xs[a] for b in others]
        worse = [t & (zs[b] > zs[a]) for t, b in zip(tied, others, strict=True)]
        equal = [t & (zs[b] == zs[a]) for t, b in zip(tied, others, strict=True)]
        copies = 1.0 + sum(e.astype(q.dtype) for e in equal)
        on_vertex = reduce(lambda v, w: v & ~w, worse, left > right)
        return left, right, jnp.where(on_vertex, 1.0 / copies, 0.0)

    left, right, share = zip(*(at(a) for a in actions), strict=True)
    start = [
        reduce(
            jnp.maximum,
            [jnp.where((share[b] > 0) & (xs[b] < xs[a]), xs[b], 0.0) for b in actions],
        )
        for a in actions
    ]
    return _Majorant(*(jnp.stack(columns, -1) for columns in (left, right, start, share)))


class _Walk(NamedTuple):
    """A walk along the majorant: where each row has come, and the neighbours of each vertex passed."""

    ell: Array  # [..., 1] ℓ of the vertex reached; 0 at the origin
    index: Array  # [..., 1] an action on it; -1 at the origin
    before: Array  # [..., A] an action on the vertex before this action's own; -1: the origin
    after: Array  # [..., A] an action on the vertex after it; -1: none
    copies: Array  # [..., A] how many equal actions are on its vertex; 0: it is on none


def _majorant_walk(q: Array, ell: Array) -> _Majorant:
    """Many actions: from the origin, step along the steepest slope until ℓ is the largest.

    One pass over the actions per vertex. There are few vertices as a rule (about log A for random
    points), so this beats a sort; with all A actions on the majorant it takes A passes.
    """
    last = jnp.max(ell, -1, keepdims=True)

    def step(walk: _Walk) -> _Walk:
        slope = _slope(_pick(fixed_q, walk.index), walk.ell, fixed_q, ell)
        steepest = slope == jnp.max(slope, -1, keepdims=True)
        # Of several steepest points the farthest is the vertex: the others lie on the chord to it.
        reached = jnp.max(jnp.where(steepest, ell, 0.0), -1, keepdims=True)
        moving = walk.ell < last
        vertex = steepest & (ell == reached) & moving
        index = jnp.where(moving, jnp.argmax(vertex, -1, keepdims=True), walk.index)
        left_behind = moving & (ell == walk.ell) & (walk.copies > 0)
        return _Walk(
            ell=jnp.where(moving, reached, walk.ell),
            index=index,
            before=jnp.where(vertex, walk.index, walk.before),
            after=jnp.where(left_behind, index, walk.after),
            copies=jnp.where(vertex, jnp.sum(vertex, -1, keepdims=True), walk.copies),
        )

    # Who neighbours whom is a matter of integers; the slopes between them are differentiable again.
    fixed_q, ell_in, ell = lax.stop_gradient(q), ell, lax.stop_gradient(ell)
    nowhere = jnp.full(q.shape, -1)
    walk = lax.while_loop(
        lambda walk: jnp.any(walk.ell < last),
        step,
        _Walk(jnp.zeros_like(last), nowhere[..., :1], nowhere, nowhere, jnp.zeros_like(nowhere)),
    )
    start = _pick(ell_in, walk.before)
    right = _slope(q, ell_in, _pick(q, walk.after), _pick(ell_in, walk.after))
    return _Majorant(
        left=_slope(_pick(q, walk.before), start, q, ell_in),
        right=right,
        start=start,
        share=jnp.where(walk.copies > 0, 1.0 / jnp.maximum(walk.copies, 1), 0.0).astype(q.dtype),
    )


def _pick(values: Array, index: Array) -> Array:
    """values[index] along the last axis, 0 (the origin) where the index is −1."""
    return jnp.where(index < 0, 0.0, jnp.take_along_axis(values, jnp.maximum(index, 0), -1))


def _slope(q_i: Array, ell_i: Array, q_k: Array, ell_k: Array) -> Array:
    """Slope from (ℓ_i, ℓ_i q_i) to (ℓ_k, ℓ_k q_k), −inf unless ℓ_k > ℓ_i."""
    ahead = ell_k > ell_i
    # (ℓ_k q_k − ℓ_i q_i)/(ℓ_k − ℓ_i), in the form that keeps its digits when ℓ_i ≈ ℓ_k.
    return jnp.where(
        ahead, q_k + ell_i * (q_k - q_i) / jnp.where(ahead, ell_k - ell_i, 1.0), -jnp.inf
    )


def _checked(q: ArrayLike, ell: ArrayLike, kappa: ArrayLike) -> tuple[Array, Array, Array]:
    q, ell = _checked_pair("q", q, ell)
    if jnp.ndim(kappa) != 0:
        raise ValueError(f"kappa has shape {jnp.shape(kappa)}; expected one positive number")
    if not isinstance(kappa, jax.core.Tracer) and not 0 < float(kappa) < np.inf:
        raise ValueError(f"kappa is {kappa}; expected a positive finite number")
    return q, ell, jnp.asarray(kappa, q.dtype)


def _checked_pair(name: str, values: ArrayLike, ell: ArrayLike) -> tuple[Array, Array]:
    """Both as arrays of one floating type. Values are looked at only outside a trace, where it is free."""
    values, ell = jnp.asarray(values), jnp.asarray(ell)
    if values.shape != ell.shape or values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(
            f"{name} has shape {values.shape} and ell has shape {ell.shape}; "
            "expected the same shape [..., A] with A >= 1 actions"
        )
    if not isinstance(values, jax.core.Tracer) and not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinity; expected finite numbers")
    if (
        not isinstance(ell, jax.core.Tracer)
        and not ((ell_ := np.asarray(ell)) > 0).all() & np.isfinite(ell_).all()
    ):
        raise ValueError(
            "ell must be positive and finite everywhere; clip it from below at ell_min"
        )
    dtype = jnp.result_type(values, ell, jnp.float32)
    return values.astype(dtype), ell.astype(dtype)
