"""assert_shapes: a loss that would broadcast is told so."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from isl.agents.shapes import assert_shapes

ROW, ONE = jnp.zeros(3), jnp.float32(0)


def test_arrays_of_actions_and_scalars_pass():
    assert_shapes([ROW, ROW], [ONE, ONE])


@pytest.mark.parametrize(
    ("of_actions", "scalars", "told"),
    [
        ([ROW, jnp.zeros(2)], [ONE], "not one"),
        ([ROW[None], ROW[None]], [ONE], "not one"),
        ([ROW], [jnp.zeros(1)], "not scalars"),
    ],
)
def test_others_do_not(of_actions, scalars, told):
    with pytest.raises(AssertionError, match=told):
        assert_shapes(of_actions, scalars)
