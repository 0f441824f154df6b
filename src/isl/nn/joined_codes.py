"""Codes of vectors that are made of images and other numbers: each section has some of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from isl.envs.joined import Joined, Section
from isl.nn.codes import Codes, Encode, image_codes, vector_codes


def joined_codes(space: Joined, number: int, width: float, cells: int) -> Codes:
    """For a joined vector, whose numbers beside the pixels have a standard deviation of about 1."""
    sections = space.sections
    shares = [len(part) for part in _dealt(number, len(sections))]
    encoders = [
        _of_section(section, max(share, 1), width, cells)
        for section, share in zip(sections, shares, strict=True)
    ]

    def encode(obs: jax.Array) -> jax.Array:
        return jnp.concatenate([part(obs) for part in encoders], axis=-1)[..., :number]

    return Codes(encode, number)


def _dealt(number: int, hands: int) -> list[range]:
    """The numbers below `number`, dealt out in turn."""
    return [range(first, number, hands) for first in range(hands)]


def _of_section(section: Section, number: int, width: float, cells: int) -> Encode:
    own = slice(section.begin, section.end)
    if not section.is_image:
        vector = vector_codes(section.end - section.begin, number, width, cells).encode
        return lambda obs: vector(obs[..., own])
    image = image_codes(section.shape, number, cells).encode

    def encode(obs: jax.Array) -> jax.Array:
        light = jnp.round(obs[..., own] * 255).astype(jnp.int32)
        return image(light.reshape(*obs.shape[:-1], *section.shape))

    return encode
