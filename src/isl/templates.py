"""What a tree of arrays is expected to look like before it is read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AnyLength:
    """Leaf of a template for an array that grows, such as the records of the episodes so far."""

    dtype: Any
    row_shape: tuple[int, ...] = ()
