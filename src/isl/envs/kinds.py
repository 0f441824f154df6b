"""Kinds of arrays that agents see: images, symbols, vectors of amounts, and what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces


class Symbols(spaces.Box):
    """Whole numbers from 0 to `number` − 1, as uint8, that are names and not amounts."""

    def __init__(self, shape: tuple[int, ...], number: int) -> None:
        super().__init__(0, number - 1, shape, np.uint8)
        self.number = number


class Recurring(spaces.Box):
    """Images or vectors of which the same ones come back: agents may keep a table of them."""

    def __init__(self, space: spaces.Box) -> None:
        super().__init__(space.low, space.high, space.shape, space.dtype.type)
        self.space = space


def is_image(space: Any) -> bool:
    """uint8 with two axes, or three of which one is for channels."""
    if not isinstance(space, spaces.Box) or isinstance(space, Symbols):
        return False
    return space.dtype == np.uint8 and len(space.shape) in (2, 3)


def is_vector(space: Any) -> bool:
    """A Box of numbers that are amounts."""
    return isinstance(space, spaces.Box) and not isinstance(space, Symbols) and not is_image(space)
