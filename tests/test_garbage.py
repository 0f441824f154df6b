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
