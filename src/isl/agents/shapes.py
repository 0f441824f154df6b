"""The shapes that the losses of an agent expect."""

from __future__ import annotations

from collections.abc import Sequence

import jax


def assert_shapes(of_actions: Sequence[jax.Array], scalars: Sequence[jax.Array]) -> None:
    """What a loss of one transition is given: arrays [A] and scalars, or it would broadcast.

    chex asserts this too, but importing it takes a twentieth of a start.
    """
    shape, *others = (x.shape for x in of_actions)
    assert len(shape) == 1, f"not one [A]: {shape}"
    assert set(others) <= {shape}, f"not one [A]: {shape} and {others}"
    assert {x.shape for x in scalars} == {()}, f"not scalars: {[x.shape for x in scalars]}"
