"""Collections stand still in a block, and go on after it as before."""

import gc

import pytest

from isl.garbage import uncollected


def test_collecting_goes_on_after_the_block():
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), uncollected():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_what_was_made_is_not_looked_through_at_once():
    looks = []
    gc.callbacks.append(lambda phase, info: looks.append(info["generation"]))
    try:
        with uncollected():
            kept = [[] for _ in range(100_000)]
        [[] for _ in range(10)]
    finally:
        gc.callbacks.pop()
    assert not looks
    assert len(kept) == 100_000


def test_what_somebody_froze_stays_frozen():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncollected():
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
