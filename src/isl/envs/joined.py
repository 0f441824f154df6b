"""Dict and Tuple observations with images in them: each part is read by layers of its own.

The replay keeps one row of bytes: the pixels as they are, and every other number as the four bytes
of a float32. On the device they become one float32 vector, pixels from 0 to 1, that knows where its
parts are (`Joined`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from isl.envs import encoding
from isl.envs.kinds import is_image
from isl.errors import UsageError

FLOAT_BYTES = 4


class Section(NamedTuple):
    """A part of a joined vector."""

    begin: int
    end: int
    shape: tuple[int, ...]  # of an image; of other numbers (end − begin,)
    is_image: bool


class Joined(spaces.Box):
    """A vector that is made of images and other numbers."""

    def __init__(self, sections: tuple[Section, ...]) -> None:
        super().__init__(-np.inf, np.inf, (sections[-1].end,), np.float32)
        self.sections = sections

    @property
    def pixels(self) -> NDArray[np.bool_]:
        """Which of the numbers belong to images."""
        found = np.zeros(self.shape, np.bool_)
        for section in self.sections:
            found[section.begin : section.end] = section.is_image
        return found


def has_images(space: spaces.Space[Any]) -> bool:
    """Whether there are images beside other parts."""
    parts = encoding.parts(space)
    return len(parts) > 1 and any(is_image(part.space) for part in parts)


class Reading(NamedTuple):
    """How observations of such a space are stored and seen."""

    stored: spaces.Box
    encode: Callable[..., Any]
    seen: Joined
    expand: Callable[[Any], Any]


def reading(space: spaces.Space[Any]) -> Reading:
    """Each image of the space is one section; all the other numbers together are another."""
    images = [part for part in encoding.parts(space) if is_image(part.space)]
    others = [part for part in encoding.parts(space) if not is_image(part.space)]
    flats = [encoding.flat_part(part) for part in others]
    sections, begin = [], 0
    for part in images:
        size = math.prod(part.shape)
        sections.append(Section(begin, begin + size, part.shape, True))
        begin += size
    pixels, numbers = begin, sum(size for size, _ in flats)
    if numbers:
        sections.append(Section(begin, begin + numbers, (numbers,), False))
    stored = spaces.Box(0, 255, (pixels + FLOAT_BYTES * numbers,), np.uint8)

    def encode(obs: Any, xp: Any = np) -> Any:
        rows = [_bytes_of_image(part.numbers(obs, xp), xp) for part in images]
        rows += [_bytes_of_floats(flat(obs, xp), xp) for _, flat in flats]
        return xp.concatenate(rows, axis=-1)

    def expand(x: Any) -> Any:
        import jax
        import jax.numpy as jnp

        light, rest = x[..., :pixels].astype(jnp.float32) / 255, x[..., pixels:]
        if x.dtype != jnp.uint8:  # from `without_bytes`
            return jnp.concatenate([light, rest], axis=-1)
        rest = rest.reshape(*x.shape[:-1], numbers, FLOAT_BYTES)
        floats = jax.lax.bitcast_convert_type(rest, jnp.float32)
        return jnp.concatenate([light, floats], axis=-1)

    return Reading(stored, encode, Joined(tuple(sections)), expand)


def without_bytes(space: spaces.Space[Any]) -> Callable[..., Any]:
    """Another `encode`, for exported programs: `expand` takes its float32 numbers too.

    They are the pixels, 0 to 255, and then the other numbers: nothing has to be made of single
    bytes, for which ONNX has no operation.
    """
    parts = sorted(encoding.parts(space), key=lambda part: not is_image(part.space))
    flats = [flat for _, flat in map(encoding.flat_part, parts)]

    def encode(obs: Any, xp: Any = np) -> Any:
        return xp.concatenate([flat(obs, xp) for flat in flats], axis=-1)

    return encode


def _bytes_of_image(pixels: Any, xp: Any) -> Any:
    if xp is np and pixels.dtype != np.uint8:
        raise UsageError(f"observed {pixels.dtype} values, expected uint8")
    return pixels.astype(np.uint8)


def _bytes_of_floats(numbers: Any, xp: Any) -> Any:
    if xp is np:
        if not np.isfinite(numbers).all():
            raise UsageError("observed a number that is not finite, expected finite numbers")
        return np.ascontiguousarray(numbers).view(np.uint8)
    import jax

    found = jax.lax.bitcast_convert_type(numbers, xp.uint8)
    return found.reshape(*numbers.shape[:-1], -1)
