"""Rows for observations as they are met: each its own, found again, never more than there are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents.seeker import rows

NOT_FULL = jnp.zeros((), jnp.bool_)
added = jax.jit(rows.added)
find = jax.jit(rows.find)


@pytest.mark.parametrize(
    "observations",
    [
        np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), -1).reshape(-1, 2) / 29,
        np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), -1).reshape(-1, 2),
        np.eye(900, dtype=np.uint8).reshape(900, 30, 30),
    ],
    ids=["places", "whole places", "images"],
)
def test_every_observation_has_a_row_of_its_own_in_the_order_of_discovery(observations):
    stored = observations.astype(np.float32 if observations.dtype == float else np.uint8)
    found = rows.no_rows(1024, jnp.asarray(stored[0]))
    for number, obs in enumerate(stored):
        found, row = added(found, jnp.asarray(obs), NOT_FULL)
        assert row == number
    assert found.known == len(stored)
    np.testing.assert_array_equal(found.obs[: len(stored)], stored)
    for number, obs in enumerate(stored):
        again, row = added(found, jnp.asarray(obs), NOT_FULL)
        assert row == number
        assert again.known == len(stored)


def test_a_table_takes_as_many_rows_as_it_promises():
    rng, found = np.random.default_rng(0), rows.no_rows(4096, jnp.zeros(3))

    def put(found, obs):
        return rows.added(found, obs, NOT_FULL)

    seen = jnp.asarray(rng.normal(size=(4096, 3)), jnp.float32)
    found, numbers = jax.jit(lambda r: jax.lax.scan(put, r, seen))(found)
    np.testing.assert_array_equal(numbers, np.arange(4096))
    again = jax.vmap(lambda obs: rows.find(found, obs))(seen)
    assert again.known.all()
    np.testing.assert_array_equal(again.row, np.arange(4096))


def test_what_was_never_met_is_not_found_and_would_get_the_next_row():
    found, _ = added(rows.no_rows(16, jnp.zeros(2)), jnp.asarray([0.5, 1.0]), NOT_FULL)
    other = find(found, jnp.asarray([1.0, 0.5]))
    assert not other.known
    assert other.row == 1


def test_minus_zero_is_zero():
    found, _ = added(rows.no_rows(16, jnp.zeros(2)), jnp.asarray([0.0, 1.0]), NOT_FULL)
    assert find(found, jnp.asarray([-0.0, 1.0])).known


def test_nothing_is_added_to_rows_that_are_full():
    empty = rows.no_rows(16, jnp.zeros(1))
    found, _ = added(empty, jnp.asarray([1.0]), jnp.ones((), jnp.bool_))
    assert found.known == 0
    assert not find(found, jnp.asarray([1.0])).known
