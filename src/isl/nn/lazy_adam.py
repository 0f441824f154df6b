"""Adam on the rows of a look-up table, at the cost of the rows that a batch touches. Exact.

Adam moves a row at every update, also without a gradient: its momentum runs on. A dense pass over
the table pays for that at each update; here a row is brought up to date when it is next looked at.
With first and second moments m and v at its last own update s, the rest of its way to update t is

    p(t) = p(s) − rate·m·(T_s(√v) − β₁ᵏ·T_t(√v·β₂^(k/2))),   k = t − s,

where T_s(a) is the sum of all steps that would follow update s, for m = 1 and √v = a:

    T_s(a) = Σ_{j>s} w_j/(a·x_j + ε),   w_j = β₁^(j−s)/(1−β₁ʲ),   x_j = β₂^((j−s)/2)/√(1−β₂ʲ):

what was to come from s on, less what is still to come at t. As a function of ε/a, T is a Stieltjes
sum over the narrow range of the x_j, so two nodes give it to float32 rounding (`tail_nodes`).

Frozen targets need no copy of the table either: a row remembers what it was at the beginning of the
target period in which it was last touched, and any other row is where its momentum took it by then.

A table of few rows is cheaper to pass over than to keep such accounts of: made with `together`, it
has all its rows moved by every update, and one stamp for them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # optax's defaults, as for every other parameter
IN_BOUNDS = "promise_in_bounds"
HORIZON = 20_000  # updates after which β₂ʲ is below float32's resolution of 1


T = TypeVar("T")
Rate = npt.NDArray[np.float32]  # Adam's learning rate of every feature, [F]


class Rows(NamedTuple):
    """A table [n, F] and what Adam knows of it, each row as of its last own update."""

    # Each row, and what it was when that update's target period began.
    values: jax.Array  # [n, 2, F], together [2, n, F]
    first: jax.Array  # m
    root: jax.Array  # √v
    stamp: jax.Array  # int32 [n], together []: the number of that update, 0 if there was none


def create(value: jax.Array, together: bool) -> Rows:
    """A table that no update has touched; with `together`, each will move all of its rows."""
    zeros = jnp.zeros_like(value)
    both = jnp.stack([value, value], axis=0 if together else 1)
    return Rows(both, zeros, zeros, jnp.zeros(() if together else value.shape[0], jnp.int32))


def read(rows: Rows, index: jax.Array, rate: Rate, clock: jax.Array) -> jax.Array:
    """The rows as they stand after `clock` updates, the present: [..., F] for an index [...]."""
    if _together(rows):
        return rows.values.at[0, index].get(mode=IN_BOUNDS)
    return _apart(lambda: _moved(_take(rows, index), rate, clock), clock)


def read_to_train(
    rows: Rows, index: jax.Array, rate: Rate, clock: jax.Array, frozen_clock: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """What `read` gives for the rows, and what `step` will need: what `read_frozen` gives for them.

    Where all rows move together, the latter is of the whole table.
    """
    if _together(rows):
        before = jnp.where(clock == frozen_clock, rows.values[0], rows.values[1])
        return rows.values.at[0, index].get(mode=IN_BOUNDS), before

    def compute() -> tuple[jax.Array, jax.Array]:
        row = _take(rows, index)
        present = _moved(row, rate, clock)
        begins = clock == frozen_clock  # the target period: what was then is what is now
        before = jax.lax.cond(begins, lambda: present, lambda: _as_of(row, rate, frozen_clock))
        return present, before

    return _apart(compute, clock)


def read_frozen(rows: Rows, index: jax.Array, rate: Rate, clock: jax.Array) -> jax.Array:
    """The rows as they stood after `clock` updates, when the current target period began."""
    if _together(rows):
        moved_since = (rows.stamp > clock).astype(jnp.int32)
        return rows.values.at[moved_since, index].get(mode=IN_BOUNDS)
    return _apart(lambda: _as_of(_take(rows, index), rate, clock), clock)


def step(
    rows: Rows,
    index: jax.Array,
    values: tuple[jax.Array, jax.Array],
    gradient: jax.Array,
    rate: Rate,
    clock: jax.Array,
) -> Rows:
    """Update number `clock` + 1: Adam's step for the rows [B] that have a gradient [B, F].

    `values` is what `read_to_train` gave for them. The rate must stay what it is: steps that were
    put off are taken with it later.
    """
    present, at_period_start = values
    if _together(rows):
        gradient = jnp.zeros_like(rows.first).at[index].add(gradient, mode=IN_BOUNDS)
        after, first, root = _stepped(rows.values[0], rows.first, rows.root, gradient, rate, clock)
        return Rows(jnp.stack([after, at_period_start]), first, root, clock + 1)
    row = _take(rows, index)
    gradient = _sum_of_duplicates(index, gradient, rows.stamp.shape[0])
    decay1, decay2 = _decays(clock - row.stamp)
    after, first, root = _stepped(
        present, decay1 * row.first, decay2 * row.root, gradient, rate, clock
    )
    # One array for both values: the write has to wait for the gradient, and so for every read.
    values_written = rows.values.at[index, 0].set(after, mode=IN_BOUNDS)
    return Rows(
        values=values_written.at[index, 1].set(at_period_start, mode=IN_BOUNDS),
        first=rows.first.at[index].set(first, mode=IN_BOUNDS),
        root=rows.root.at[index].set(root, mode=IN_BOUNDS),
        stamp=rows.stamp.at[index].set(clock + 1, mode=IN_BOUNDS),
    )  # duplicates write the same numbers


def tail_nodes() -> npt.NDArray[np.float64]:
    """[HORIZON + 1, 4]: x and w of the two nodes of T_s, for every s (constant from HORIZON on).

    They have the sum's moments Σ w·xⁿ for n = −2, −1, 0, 1: both its value and its slope at ε = 0,
    where all but vanishing gradients are, and at ε = ∞. Found as Gauss's rule for the weights w/x².
    """
    powers = np.array([-2, -1, 0, 1])
    ratio = BETA1 * BETA2 ** (powers / 2)
    moments = np.empty((HORIZON + 1, 4))
    moments[HORIZON] = ratio / (1 - ratio)
    for j in range(HORIZON, 0, -1):
        x = 1 / math.sqrt(-math.expm1(j * math.log(BETA2)))
        moments[j - 1] = ratio * (x**powers / (1 - BETA1**j) + moments[j])
    total, mean, square, cube = moments[:, 0], *(moments[:, 1:] / moments[:, :1]).T
    std = np.sqrt(square - mean**2)
    skew = (cube - 3 * mean * square + 2 * mean**3) / std**3
    wide = np.sqrt(1 + skew**2 / 4)
    low, high = mean + std * (skew / 2 - wide), mean + std * (skew / 2 + wide)
    share = (high - mean) / (high - low)
    nodes = (low, high, total * share * low**2, total * (1 - share) * high**2)
    return np.stack(nodes, axis=-1)


def _stepped(
    value: jax.Array,
    first: jax.Array,
    root: jax.Array,
    gradient: jax.Array,
    rate: Rate,
    clock: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Adam's update number `clock` + 1: value, m and √v after it."""
    first = BETA1 * first + (1 - BETA1) * gradient
    root = jnp.sqrt(BETA2 * root**2 + (1 - BETA2) * gradient**2)
    count = (clock + 1).astype(jnp.float32)
    unbiased_first = first / (1 - BETA1**count)
    unbiased_root = root / jnp.sqrt(1 - BETA2**count)
    own_step = unbiased_first / (unbiased_root + EPSILON)
    return value - _like(rate, own_step) * own_step, first, root


def _together(rows: Rows) -> bool:
    return rows.stamp.ndim == 0


def _apart(compute: Callable[[], T], clock: jax.Array) -> T:
    """`compute()` as a kernel of its own: XLA would redo it inside a slow transposed loop.

    What a branch computes is never fused with what uses it, and XLA cannot know that this one is
    always taken.
    """
    otherwise = lambda: jax.tree.map(jnp.zeros_like, compute())  # noqa: E731
    result: T = jax.lax.cond(clock >= 0, compute, otherwise)
    return result


def _take(rows: Rows, index: jax.Array) -> Rows:
    return Rows(*(x.at[index].get(mode=IN_BOUNDS) for x in rows))


def _as_of(row: Rows, rate: Rate, clock: jax.Array) -> jax.Array:
    moved_since = (row.stamp > clock)[..., None]
    return jnp.where(moved_since, row.values[..., 1, :], _moved(row, rate, clock))


def _moved(row: Rows, rate: Rate, clock: jax.Array) -> jax.Array:
    """Where its momentum has carried a row from its stamp to `clock`."""
    decay1, decay2 = _decays(clock - row.stamp)
    to_come = _tail(row.stamp, row.root)
    still_to_come = _tail(clock, decay2 * row.root)
    momentum = row.first * (to_come - decay1 * still_to_come)
    return row.values[..., 0, :] - _like(rate, momentum) * momentum


def _decays(updates: jax.Array) -> tuple[jax.Array, jax.Array]:
    """β₁ᵏ and β₂^(k/2), with an axis for the features; k < 0 is never used, only kept finite."""
    k = jnp.maximum(updates, 0).astype(jnp.float32)[..., None]
    return jnp.exp(math.log(BETA1) * k), jnp.exp(math.log(BETA2) / 2 * k)


def _tail(stamp: jax.Array, root: jax.Array) -> jax.Array:
    """T_s(a) for stamps [...] (or one for all) and roots [..., F], with one division."""
    nodes = jnp.asarray(_constant_nodes())[jnp.minimum(stamp, HORIZON)]
    per_row = (*stamp.shape, *[1] * (root.ndim - stamp.ndim))  # [..., 1]
    low, high, w_low, w_high = (nodes[..., i].reshape(per_row) for i in range(4))
    at_low, at_high = root * low + EPSILON, root * high + EPSILON
    return (w_low * at_high + w_high * at_low) / (at_low * at_high)


def _like(rate: Rate, x: jax.Array) -> Rate:
    return rate.reshape((1,) * (x.ndim - 1) + (-1,))


@cache
def _constant_nodes() -> npt.NDArray[np.float32]:
    return tail_nodes().astype(np.float32)


def _sum_of_duplicates(index: jax.Array, gradient: jax.Array, n: int) -> jax.Array:
    """For every row of the batch, the sum of the gradients of all rows with the same index."""
    batch = jnp.arange(index.shape[0], dtype=jnp.int32)
    place = jnp.zeros(n, jnp.int32).at[index].set(batch, mode=IN_BOUNDS)
    first_of = place.at[index].get(mode=IN_BOUNDS)  # one and the same for all duplicates
    sums = jnp.zeros_like(gradient).at[first_of].add(gradient, mode=IN_BOUNDS)
    return sums.at[first_of].get(mode=IN_BOUNDS)
