"""turns: every role gets its share of the steps, however long its episodes are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents.wrappers import turns


def drawn(shares: tuple[float, ...], lengths: turns.Lengths, many: int = 3000) -> np.ndarray:
    """How often each role is next."""
    numbers = jax.random.uniform(jax.random.key(0), (many,))
    roles = jax.vmap(lambda x: turns.next_role(shares, lengths, x))(numbers)
    return np.bincount(np.asarray(roles), minlength=len(shares)) / many


def ended(lengths: turns.Lengths, role: int, steps: int) -> turns.Lengths:
    return turns.with_episode(lengths, jnp.int32(role), jnp.int32(steps), jnp.bool_(True))


def test_roles_share_the_steps():
    shares, own = (0.5, 0.25, 0.25), (300, 20, 100)
    next_role = jax.jit(turns.next_role, static_argnums=0)
    lengths, taken = turns.no_lengths(3), np.zeros(3)
    for number in np.asarray(jax.random.uniform(jax.random.key(1), (2000,))):
        role = int(next_role(shares, lengths, number))
        lengths = ended(lengths, role, own[role])
        taken[role] += own[role]
    np.testing.assert_allclose(taken / taken.sum(), shares, atol=0.03)


def test_before_the_first_episode_roles_are_drawn_by_their_shares():
    np.testing.assert_allclose(
        drawn((0.6, 0.3, 0.1), turns.no_lengths(3)), (0.6, 0.3, 0.1), atol=0.03
    )


def test_a_role_that_never_played_is_next():
    lengths = ended(turns.no_lengths(2), 0, 500)
    assert drawn((0.5, 0.5), lengths)[1] > 0.99


@pytest.mark.parametrize("without", [0, 1, 2])
def test_a_role_without_a_share_never_plays(without):
    shares = tuple(0.0 if role == without else 0.5 for role in range(3))
    lengths = ended(ended(turns.no_lengths(3), 0, 50), 2, 500)
    assert drawn(shares, lengths)[without] == 0
    for edge in (0.0, 1 - 2**-24):  # the least and the largest number that is drawn
        assert turns.next_role(shares, lengths, jnp.float32(edge)) != without


def test_a_length_is_of_the_latest_episodes():
    lengths = turns.no_lengths(2)
    for steps in (10, 30):
        lengths = ended(lengths, 1, steps)
    np.testing.assert_allclose(lengths.mean, [0, 20])
    for _ in range(200):
        lengths = ended(lengths, 1, 500)
    np.testing.assert_allclose(lengths.mean, [0, 500], rtol=1e-3)


def test_an_episode_that_goes_on_counts_for_nothing():
    before = ended(turns.no_lengths(2), 0, 7)
    after = turns.with_episode(before, jnp.int32(0), jnp.int32(9), jnp.bool_(False))
    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(after.episodes, before.episodes)
