"""The contents of a cell as one number: object, colour and state in four, three and two bits."""

from __future__ import annotations

from typing import Any

import jax

# MiniGrid's numbers.
EMPTY_TYPE, WALL_TYPE, DOOR_TYPE, KEY_TYPE, BALL_TYPE, GOAL_TYPE = 1, 2, 4, 5, 6, 8
GREEN, YELLOW, GREY = 1, 4, 5
NUM_COLOURS = 6  # red, green, blue, purple, yellow, grey
OPEN, CLOSED, LOCKED = 0, 1, 2


def pack(kind: Any, colour: Any, state: Any = 0) -> Any:
    """The code of an object, from MiniGrid's three numbers for it."""
    return kind | colour << 4 | state << 7


def unpacked(code: Any) -> tuple[Any, Any, Any]:
    """MiniGrid's (object, colour, state)."""
    return code & 15, (code >> 4) & 7, code >> 7


UNSEEN = 0
EMPTY = pack(EMPTY_TYPE, 0)
WALL = pack(WALL_TYPE, GREY)
GOAL = pack(GOAL_TYPE, GREEN)


def is_opaque(code: jax.Array) -> jax.Array:
    """Walls, and doors that are not open: the only objects with a state other than 0."""
    shut: jax.Array = (code & 15 == WALL_TYPE) | (code >= pack(0, 0, CLOSED))
    return shut
