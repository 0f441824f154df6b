"""Codes: the more alike two observations are, the more codes they share."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from isl.nn.codes import image_codes, symbol_codes, vector_codes

CELLS = 4096


def shared(encode, one, other) -> float:
    a, b = (np.asarray(encode(jnp.asarray(x))) for x in (one, other))
    assert a.min() >= 0
    assert max(a.max(), b.max()) < CELLS
    return float(np.mean(a == b))


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_near_vectors_share_more_codes_than_far_ones(size):
    encode = vector_codes(size, 32, 0.5, CELLS).encode
    rng = np.random.default_rng(1)
    found = {distance: [] for distance in (0.0, 0.05, 0.2, 3.0)}
    for _ in range(50):
        x, direction = rng.normal(size=(2, size))
        direction /= np.linalg.norm(direction)
        for distance, shares in found.items():
            moved = (x + distance * direction).astype(np.float32)
            shares.append(shared(encode, x.astype(np.float32), moved))
    same, near, off, far = (np.mean(shares) for shares in found.values())
    assert same == 1.0 > near > off > far
    assert far < 0.05


def test_images_that_differ_in_a_part_share_the_codes_of_other_parts():
    encode = image_codes((16, 16, 1), 16, CELLS).encode
    image = np.random.default_rng(0).integers(0, 256, (16, 16, 1), dtype=np.uint8)
    changed = image.copy()
    changed[3, 4] = 255 - changed[3, 4]
    assert shared(encode, image, image) == 1.0
    assert 0.3 < shared(encode, image, changed) < 1.0
    assert np.asarray(encode(image))[0] != np.asarray(encode(changed))[0]  # the whole differs
    assert shared(encode, image, 255 - image) < 0.1


@pytest.mark.parametrize("shape", [(84, 84, 4), (3, 64, 64), (8, 8)])
def test_images_of_any_layout_are_read_in_batches(shape):
    encode = image_codes(shape, 4, CELLS).encode
    images = np.full((5, *shape), 20, np.uint8)
    for i, image in enumerate(images):
        image[..., : 1 + i * shape[-2] // 5, :] = 200  # a bright part that grows
    together = np.asarray(encode(jnp.asarray(images)))
    np.testing.assert_array_equal(together, [encode(jnp.asarray(x)) for x in images])
    assert len(np.unique(together[:, 0])) == 5


def test_a_changed_cell_changes_its_own_code_and_those_of_parts_with_it():
    codes = symbol_codes((7, 7, 3), 16, CELLS)
    assert (codes.number, codes.alone) == (49 + 16, 49)
    view = np.random.default_rng(0).integers(0, 11, (7, 7, 3), dtype=np.uint8)
    changed = view.copy()
    changed[6, 3] = (5, 4, 0)
    one, other = (np.asarray(codes.encode(jnp.asarray(x))) for x in (view, changed))
    assert np.flatnonzero(one[:49] != other[:49]).tolist() == [6 * 7 + 3]
    assert one[49] != other[49]  # the whole view
    assert 0.2 < np.mean(one[50:] == other[50:]) < 1.0
    together = np.asarray(codes.encode(jnp.asarray(np.stack([view, changed]))))
    np.testing.assert_array_equal(together, [one, other])


def test_a_long_vector_is_told_apart_by_any_of_its_numbers():
    encode = vector_codes(900, 16, 0.5, CELLS).encode
    cells = np.eye(900, dtype=np.float32) * 10.0
    codes = np.asarray(encode(jnp.asarray(cells)))
    alike = np.mean([np.mean(codes[i] == codes[i + 1]) for i in range(899)])
    assert alike < 0.01
    drifted = cells - 0.1  # of the other numbers the mean has moved
    np.testing.assert_array_equal(encode(jnp.asarray(drifted)), codes)
    one = np.random.default_rng(0).normal(size=900).astype(np.float32)
    near = one + 0.02 * np.random.default_rng(1).normal(size=900).astype(np.float32)
    assert shared(encode, one, near) > 0.7
    assert shared(encode, one, -one) < 0.1
