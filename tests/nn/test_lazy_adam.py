"""Adam on rows against optax's dense Adam and against float64, untouched rows and targets too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from isl.nn import lazy_adam

ROWS, WIDTH, BATCH, PERIOD = 120, 6, 16, 3
RATE = 1e-3


def gradients(step, scale):
    """Row numbers with duplicates, rows that are rare, and rows that are never touched."""
    draw = np.random.default_rng(step)
    index = draw.integers(0, ROWS - 20, BATCH)
    index[:3] = 5
    if step % 40:
        index = np.where(index > 70, 7, index)
    gradient = draw.normal(size=(BATCH, WIDTH)) * scale
    return jnp.asarray(index, jnp.int32), jnp.asarray(gradient, jnp.float32)


def train(updates, scale, together=False):
    """After every update: its number, the rows our way and optax's, the frozen ones, float64."""
    start = jnp.asarray(np.random.default_rng(0).normal(size=(ROWS, WIDTH)) * 0.1, jnp.float32)
    rates = np.full(WIDTH, RATE, np.float32)
    everything = jnp.arange(ROWS)
    adam = optax.adam(RATE)

    @jax.jit
    def update(rows, dense, state, index, gradient, clock, frozen_clock):
        values = lazy_adam.read_to_train(rows, index, rates, clock, frozen_clock)
        rows = lazy_adam.step(rows, index, values, gradient, rates, clock)
        full = jnp.zeros((ROWS, WIDTH)).at[index].add(gradient)
        step, state = adam.update(full, state)
        return (
            rows,
            optax.apply_updates(dense, step),
            state,
            lazy_adam.read(rows, everything, rates, clock + 1),
            lazy_adam.read_frozen(rows, everything, rates, frozen_clock),
            full,
        )

    rows, dense, state = lazy_adam.create(start, together), start, adam.init(start)
    exact, first, second = (np.array(x, np.float64) for x in (start, start * 0, start * 0))
    for t in range(updates):
        if t % PERIOD == 0:
            target, frozen_clock = dense, t
        index, gradient = gradients(t, scale)
        rows, dense, state, now, frozen, full = update(
            rows, dense, state, index, gradient, jnp.int32(t), jnp.int32(frozen_clock)
        )
        full = np.asarray(full, np.float64)
        first, second = 0.9 * first + 0.1 * full, 0.999 * second + 0.001 * full**2
        step = (first / (1 - 0.9 ** (t + 1))) / (np.sqrt(second / (1 - 0.999 ** (t + 1))) + 1e-8)
        exact = exact - RATE * step
        yield t, now, dense, frozen, target, exact


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_it_is_optaxs_adam_to_rounding(scale, together):
    """Every row at every update, with gaps of up to hundreds of updates between touches."""
    exact = None
    for t, now, dense, frozen, target, in_float64 in train(600, scale, together):
        exact = in_float64
        # A thousandth of one step; optax's own rounding is as large.
        np.testing.assert_allclose(now, dense, rtol=0, atol=1e-3 * RATE, err_msg=str(t))
        np.testing.assert_allclose(frozen, target, rtol=0, atol=1e-3 * RATE, err_msg=str(t))
    ours, theirs = (np.abs(np.asarray(x) - exact).max() for x in (now, dense))
    assert ours <= 2 * theirs + 1e-8


def test_vanishing_gradients_cost_a_hundredth_of_a_step():
    """Where √v is about ε, the first updates are the worst case of the two nodes."""
    for _, now, dense, *_ in train(300, 1e-7):
        np.testing.assert_allclose(now, dense, rtol=0, atol=1e-2 * RATE)


@pytest.mark.parametrize("together", [False, True])
def test_rows_without_a_gradient_never_move(together):
    *_, (_, now, dense, *_) = train(50, 1.0, together)
    np.testing.assert_array_equal(now[ROWS - 20 :], dense[ROWS - 20 :])


@pytest.mark.parametrize("stamp", [30, 100, 1_000, lazy_adam.HORIZON + 5_000])
def test_two_nodes_give_the_sum_of_all_steps_to_come(stamp):
    low, high, w_low, w_high = lazy_adam.tail_nodes()[min(stamp, lazy_adam.HORIZON)]
    later = np.arange(stamp + 1, stamp + 1_000, dtype=np.float64)
    weight = 0.9 ** (later - stamp) / (1 - 0.9**later)
    x = 0.999 ** ((later - stamp) / 2) / np.sqrt(-np.expm1(later * np.log(0.999)))
    for root in 10.0 ** np.arange(-12, 4):
        exact = np.sum(weight / (root * x + 1e-8))
        nodes = w_low / (root * low + 1e-8) + w_high / (root * high + 1e-8)
        assert nodes == pytest.approx(exact, rel=2e-5 if stamp < 100 else 1e-6)
