"""What the agent sees: the 7 × 7 cells in front of it, without those behind walls and doors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from isl.envs.minigrid import cells

SIZE = 7
MIDDLE = SIZE // 2  # the agent stands in the middle of the nearest row
PADDING = SIZE - 1  # cells of wall around a grid; the view then never leaves the array
FORWARD = ((1, 0), (0, 1), (-1, 0), (0, -1))  # (x, y) by direction: right, down, left, up


def offsets(stride: int) -> NDArray[np.int32]:
    """Where the cells of the view lie from the agent's, by direction: [4, SIZE, SIZE].

    Args:
        stride: length of a row of the flat grid.

    Returns:
        Distances in the flat grid. Column i of the view runs from the agent's left to its right,
        row j from far to near.
    """
    right, ahead = np.meshgrid(np.arange(SIZE) - MIDDLE, SIZE - 1 - np.arange(SIZE), indexing="ij")
    views = [(ahead * dx - right * dy) + stride * (ahead * dy + right * dx) for dx, dy in FORWARD]
    return np.stack(views).astype(np.int32)


def observe(
    grid: jax.Array, around: jax.Array, carrying: jax.Array, see_through: bool
) -> jax.Array:
    """MiniGrid's observation [SIZE, SIZE, 3] of (object, colour, state); zeros where unseen.

    Args:
        grid: codes of a padded grid, flat.
        around: indices [SIZE, SIZE] of the cells in view.
        carrying: code of the carried object, shown in the agent's own cell.
        see_through: whether walls and doors are transparent.
    """
    view = grid.at[around].get(mode="promise_in_bounds")
    here = np.zeros((SIZE, SIZE), np.bool_)
    here[MIDDLE, SIZE - 1] = True
    shown = jnp.where(here, carrying, view)
    if not see_through:
        column = np.arange(SIZE, dtype=np.uint32)[:, None]
        clear = (~cells.is_opaque(view)).astype(jnp.uint32) << column
        rows = jnp.stack(visible(list(clear.sum(axis=0, dtype=jnp.uint32))))
        shown = jnp.where((rows[None, :] >> column) & 1 == 1, shown, cells.UNSEEN)
    return jnp.stack(cells.unpacked(shown), axis=-1).astype(jnp.uint8)


def visible(clear: list[jax.Array]) -> list[jax.Array]:
    """MiniGrid's `process_vis`: the visible cells of each row, one bit per column.

    Light starts in the agent's cell. In every row, from the nearest to the farthest, it first runs
    right and then left through clear cells. A lit clear cell lights its neighbour in that direction
    and the two cells beyond them in the next row. MiniGrid visits the cells one by one; here a row
    is a word and each run is three shifts (Kogge and Stone 1973).

    Args:
        clear: by row, which cells light passes through; bit i is column i.

    Returns:
        By row, which cells are lit.
    """
    every = jnp.uint32(2**SIZE - 1)
    lit = jnp.uint32(1 << MIDDLE)
    rows: list[jax.Array] = []
    for passing in reversed(clear):
        through = passing << 1  # cells whose left neighbour passes light on
        for reach in (1, 2, 4):
            lit = lit | (through & (lit << reach))
            through = through & (through << reach)
        lit = lit & every
        rightwards = lit & passing & (every >> 1)  # the last column has no right neighbour
        through = passing >> 1
        for reach in (1, 2, 4):
            lit = lit | (through & (lit >> reach))
            through = through & (through >> reach)
        leftwards = lit & passing & (every - 1)
        rows.append(lit)
        lit = rightwards | (rightwards << 1) | leftwards | (leftwards >> 1)
    return rows[::-1]
