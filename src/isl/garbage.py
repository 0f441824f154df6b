"""Garbage collection stands still while many objects are made and hardly any is given up.

Importing and tracing are like that: looking through all objects again and again, as Python does
when their number grows, takes a tenth of the time of a start.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No collections in the block, unless there were none before either.

    Nor is what the block made looked through at once afterwards: it counts as old.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():  # what somebody else froze must stay so
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()
