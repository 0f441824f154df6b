"""The ring buffer beside a plain Python list."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.training import replay


@pytest.mark.parametrize(("capacity", "items"), [(5, 3), (5, 5), (5, 13), (1, 4)])
def test_holds_the_latest_items(capacity, items):
    item = {"a": jnp.zeros((2,)), "b": jnp.zeros((), jnp.int32)}
    storage = replay.create(item, capacity)
    kept: list[int] = []
    for number in range(items):
        new = {"a": jnp.full((2,), float(number)), "b": jnp.int32(number)}
        storage = replay.add(storage, new, jnp.int32(number))
        kept = [*kept, number][-capacity:]
    held = sorted(np.asarray(storage["b"])[: min(items, capacity)].tolist())
    assert held == kept
    batch = replay.sample(storage, jax.random.key(0), jnp.int32(items), 256)
    assert set(np.asarray(batch["b"]).tolist()) == set(kept)  # all of them, and nothing unwritten
    np.testing.assert_array_equal(batch["a"][:, 0], batch["b"])  # fields stay together


def test_samples_uniformly():
    storage = {"x": jnp.arange(10)}
    batch = replay.sample(storage, jax.random.key(1), jnp.int32(10), 50_000)
    counts = np.bincount(np.asarray(batch["x"]), minlength=10)
    assert np.abs(counts - 5_000).max() < 5 * np.sqrt(5_000)


def test_cohorts_share_one_write_position():
    storage = jax.vmap(lambda _: replay.create(jnp.float32(0), 4))(jnp.arange(3))
    add = jax.vmap(replay.add, in_axes=(0, 0, None))
    np.testing.assert_array_equal(add(storage, jnp.arange(3.0), jnp.int32(6))[:, 2], [0, 1, 2])
