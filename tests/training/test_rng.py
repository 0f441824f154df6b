import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.nn.random_indices import uniform_indices
from isl.training import rng


def test_streams_differ_by_task_seed_and_name():
    keys = {
        tuple(rng.stream_key(task, seed, name))
        for task in ("deep_sea/10", "deep_sea/20")
        for seed in (0, 1, 10)
        for name in ("env", "act")
    }
    assert len(keys) == 12


def test_streams_are_not_confused_by_where_the_words_end():
    assert tuple(rng.stream_key("a", 11, "x")) != tuple(rng.stream_key("a\x001", 1, "x"))


def test_stream_keys_never_change():
    # Results that people have kept depend on these numbers.
    assert rng.stream_key("deep_sea/20", 0, "env").tolist() == [3061206859, 2280584902]


def test_uniform_indices_cover_their_range_evenly():
    drawn = np.asarray(uniform_indices(jax.random.key(0), jnp.int32(7), (70_000,)))
    counts = np.bincount(drawn, minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000)


@pytest.mark.parametrize("shape", [(), (1,), (256,), (3, 5)])
def test_indices_come_from_jaxs_own_bits(shape):
    for seed in range(20):
        key = rng.at(jnp.array([seed, 7 * seed + 1], jnp.uint32), jnp.uint32(seed))
        bits = jax.random.bits(key, shape, jnp.uint32)
        expected = np.asarray(bits) % np.uint32(1_000_003)
        np.testing.assert_array_equal(uniform_indices(key, jnp.uint32(1_000_003), shape), expected)
