"""Planning in known MDPs (sections 3.2 and 3.3 of the paper), in 64 bits whatever JAX's default is.

The operator T^ℓ, its fixed point (Lemma 4), the ℓ backup, and uncertainty constrained value
iteration (Lemma 5), beside plain value iteration for q†. Terminal states are worth 0 and nothing
about them is uncertain; in their own rows q is 0 and ℓ is ℓ_min. NumPy arrays go in and come out.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import ArrayLike, NDArray

from isl.theory import exploration
from isl.theory.mdp import MDP, Model, deep_sea_mdp

Floats = NDArray[np.float64]

__all__ = [
    "MDP",
    "UCValueIteration",
    "deep_sea_mdp",
    "ell_backup",
    "greedy_policy",
    "uc_backup",
    "uc_optimal_policy",
    "uc_policy_evaluation",
    "uc_value_iteration",
    "value_iteration",
]


class UCValueIteration(NamedTuple):
    """What uncertainty constrained value iteration ends with."""

    q: Floats  # [S, A], within the tolerance of q†
    ell: Floats  # [S, A], ℓ_min everywhere
    iterations: int  # how many ℓ backups it took


def uc_backup(mdp: MDP, q: ArrayLike, ell: ArrayLike, kappa: float = 1.0) -> Floats:
    """T^ℓ q = r + γ E v*(s′), eq. (13): the γ-contraction of Lemma 4."""
    backed_up: Floats = _in_64_bits(
        _uc_backup, mdp, _table(mdp, "q", q), _ell(mdp, ell), *_positive(kappa=kappa)
    )
    return backed_up


def uc_policy_evaluation(
    mdp: MDP,
    ell: ArrayLike,
    kappa: float = 1.0,
    q: ArrayLike | None = None,
    tolerance: float = 1e-10,
) -> Floats:
    """The fixed point q* of T^ℓ, to within the tolerance, starting from q (Lemma 4)."""
    start = np.zeros_like(mdp.reward) if q is None else _table(mdp, "q", q)
    q_star: Floats = _in_64_bits(
        _evaluate, mdp, start, _ell(mdp, ell), *_positive(kappa=kappa, tolerance=tolerance)
    )
    return q_star


def ell_backup(
    mdp: MDP,
    q: ArrayLike,
    ell: ArrayLike,
    kappa: float = 1.0,
    ell_min: float = 1e-12,
    sound: bool = False,
) -> Floats:
    """ℓ ← |E δ| + γ E max ℓ(s′), eq. (16), floored at ℓ_min.

    `sound=True` adds `γ E[max q(s′) − v*(s′)]`, without which |q† − q| ≤ ℓ before the backup does
    not imply it afterwards: `v*` is at most max q, not at least, as step (a) of eq. (15) has it.
    """
    backup = partial(_ell_backup, sound=sound)
    backed_up: Floats = _in_64_bits(
        backup, mdp, _table(mdp, "q", q), _ell(mdp, ell), *_positive(kappa=kappa, ell_min=ell_min)
    )
    return backed_up


def uc_value_iteration(
    mdp: MDP,
    kappa: float = 1.0,
    ell_min: float = 1e-12,
    ell: ArrayLike | float | None = None,
    tolerance: float = 1e-8,
) -> UCValueIteration:
    """Alternate ℓ-policy evaluation and the ℓ backup until q is q† (Lemma 5).

    Ends when every ℓ is ℓ_min *and* q has settled: q alone may rest while ℓ still falls. By default
    ℓ starts at max|r|/(1−γ), which bounds |q†|.
    """
    numbers = _positive(kappa=kappa, ell_min=ell_min, tolerance=tolerance)
    if ell is None:
        ell = max(np.abs(mdp.reward).max() / (1 - mdp.gamma), ell_min)
    start = _ell(mdp, np.broadcast_to(np.asarray(ell, np.float64), mdp.reward.shape))
    q, last_ell, iterations = _in_64_bits(_uc_value_iteration, mdp, start, *numbers)
    return UCValueIteration(q, last_ell, int(iterations))


def value_iteration(mdp: MDP, tolerance: float = 1e-10) -> Floats:
    """q†, to within the tolerance, eq. (2)."""
    q_dagger: Floats = _in_64_bits(_value_iteration, mdp, *_positive(tolerance=tolerance))
    return q_dagger


def uc_optimal_policy(q: ArrayLike, ell: ArrayLike, kappa: float = 1.0) -> Floats:
    """π* in every state, Theorem 1: [S, A]."""
    with jax.enable_x64(True):
        return np.asarray(
            exploration.uc_policy(np.asarray(q, float), np.asarray(ell, float), kappa)
        )


def greedy_policy(q: ArrayLike) -> Floats:
    """The policy that takes a best action in every state; equally good ones share: [S, A]."""
    best = np.asarray(q) == np.max(q, -1, keepdims=True)
    policy: Floats = best / best.sum(-1, keepdims=True)
    return policy


def _in_64_bits(function: Callable[..., Any], mdp: MDP, *arguments: Any) -> Any:
    """Call a compiled function on an MDP and tables of floats; NumPy comes back."""
    with jax.enable_x64(True):
        result = function(mdp.model, *(jnp.asarray(value, float) for value in arguments))
        return jax.tree.map(np.asarray, result)


@jax.jit
def _uc_backup(model: Model, q: Array, ell: Array, kappa: Array) -> Array:
    target = model.reward + model.gamma * model.expect(exploration.uc_value(q, ell, kappa))
    return model.unless_over(target)  # eq. (13)


@partial(jax.jit, static_argnames="sound")
def _ell_backup(
    model: Model, q: Array, ell: Array, kappa: Array, ell_min: Array, sound: bool
) -> Array:
    error = jnp.abs(_uc_backup(model, q, ell, kappa) - q)  # |E δ|
    ahead = jnp.max(ell, -1)
    if sound:
        ahead += jnp.max(q, -1) - exploration.uc_value(q, ell, kappa)
    target = error + model.gamma * model.expect(ahead)  # eq. (16)
    return jnp.maximum(model.unless_over(target), ell_min)


def _fixed_point(
    operator: Callable[[Array], Array], start: Array, gamma: Array, tolerance: Array
) -> Array:
    """Iterate a γ-contraction until its fixed point is within the tolerance, or within rounding."""

    def unsettled(state: tuple[Array, Array]) -> Array:
        q, change = state
        rounding = 4 * np.finfo(q.dtype).eps * jnp.max(jnp.abs(q))
        # ‖q_n − q*‖ ≤ γ/(1−γ)·‖q_n − q_{n−1}‖ (Banach).
        return change > jnp.maximum(tolerance * (1 - gamma), rounding)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        q, _ = state
        after = operator(q)
        return after, jnp.max(jnp.abs(after - q))

    return lax.while_loop(unsettled, step, (start, jnp.asarray(jnp.inf)))[0]


@jax.jit
def _evaluate(model: Model, q: Array, ell: Array, kappa: Array, tolerance: Array) -> Array:
    return _fixed_point(lambda q: _uc_backup(model, q, ell, kappa), q, model.gamma, tolerance)


@jax.jit
def _value_iteration(model: Model, tolerance: Array) -> Array:
    def bellman(q: Array) -> Array:
        target = model.reward + model.gamma * model.expect(jnp.max(q, -1))
        return model.unless_over(target)

    return _fixed_point(bellman, jnp.zeros_like(model.reward), model.gamma, tolerance)


@jax.jit
def _uc_value_iteration(
    model: Model, ell: Array, kappa: Array, ell_min: Array, tolerance: Array
) -> tuple[Array, Array, Array]:
    State = tuple[Array, Array, Array, Array]

    def unfinished(state: State) -> Array:
        _, ell, change, _ = state
        return (change > tolerance) | jnp.any(ell > ell_min)

    def step(state: State) -> State:
        q, ell, _, iterations = state
        after = _evaluate(model, q, ell, kappa, tolerance)
        # eq. (16) with δ = 0, which ℓ-policy evaluation has just made it (Appendix 6.5).
        decayed = model.unless_over(model.gamma * model.expect(jnp.max(ell, -1)))
        ell = jnp.maximum(decayed, ell_min)
        return after, ell, jnp.max(jnp.abs(after - q)), iterations + 1

    start = jnp.zeros_like(ell), jnp.maximum(ell, ell_min), jnp.asarray(jnp.inf), jnp.asarray(0)
    q, ell, _, iterations = lax.while_loop(unfinished, step, start)
    return _evaluate(model, q, ell, kappa, tolerance), ell, iterations


def _table(mdp: MDP, name: str, values: ArrayLike) -> Floats:
    table = np.asarray(values, np.float64)
    if table.shape != mdp.reward.shape:
        raise ValueError(f"{name} has shape {table.shape}; expected [S, A] = {mdp.reward.shape}")
    if not np.isfinite(table).all():
        raise ValueError(f"{name} holds NaN or infinity; expected finite numbers")
    return table


def _ell(mdp: MDP, ell: ArrayLike) -> Floats:
    table = _table(mdp, "ell", ell)
    if not (table > 0).all():
        raise ValueError("ell must be positive everywhere; floor it at ell_min")
    return table


def _positive(**numbers: float) -> list[float]:
    for name, number in numbers.items():
        if not 0 < number < np.inf:
            raise ValueError(f"{name} is {number}; expected a positive finite number")
    return list(numbers.values())
