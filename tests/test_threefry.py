"""The bits are JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np

from isl import threefry


def test_the_words_are_those_of_jax():
    key = jax.random.key(7)
    np.testing.assert_array_equal(threefry.bits(key, (4, 5)), jax.random.bits(key, (4, 5)))


def test_skipped_words_are_the_later_ones_of_the_same_sequence():
    key = jax.random.key(7)
    words = jax.random.bits(key, (12,))
    np.testing.assert_array_equal(threefry.bits(key, (5,), jnp.uint32(7)), words[7:])
