"""A picture of a grid: what the agent sees is lit, the rest lies in the dark."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isl.envs.minigrid import cells, view
from isl.envs.minigrid.grid import GridState, GridTask
from isl.envs.render import GOLD, INK, WHITE, Canvas, Colour, Point, text_width

LONGEST_SIDE = 560  # of the grid, in pixels
MARGIN, HEAD = 16, 48  # around the grid, and above it for the caption
NIGHT: Colour = (30, 36, 50)
FLOOR: Colour = (62, 70, 88)
LIT: Colour = (216, 206, 180)
WALL: Colour = (98, 110, 132)
WALL_TOP: Colour = (138, 152, 176)
COLOURS: tuple[Colour, ...] = (
    (224, 72, 66),  # red
    (58, 176, 104),  # green
    (66, 126, 226),  # blue
    (148, 92, 206),  # purple
    (240, 190, 50),  # yellow
    (150, 158, 168),  # grey
)


def draw(task: GridTask, state: GridState, steps: int, episode_return: float) -> NDArray[np.uint8]:
    """The grid, the agent, what it carries, and the score of the episode."""
    tile = max(16, min(64, LONGEST_SIDE // max(task.width, task.height)))
    width = max(task.width * tile, 300) + 2 * MARGIN
    height = task.height * tile + MARGIN + HEAD
    canvas = Canvas.blank(width, height, NIGHT)
    left = (width - task.width * tile) // 2
    grid = np.asarray(state.grid).reshape(-1, task.stride)
    lit = _lit(task, state).reshape(grid.shape)
    inside = _inside(grid, int(state.position))
    for y in range(task.height):
        for x in range(task.width):
            here = (y + view.PADDING, x + view.PADDING)
            corner = (left + x * tile, HEAD + y * tile)
            if grid[here] & 15 == cells.WALL_TYPE:
                below = grid[here[0] + 1, here[1]] & 15 == cells.WALL_TYPE
                _wall(canvas, corner, tile, front=not below and y + 1 < task.height)
            elif inside[here]:
                _tile(canvas, corner, tile, int(grid[here]), bool(lit[here]))
    row, column = divmod(int(state.position), task.stride)
    centre = (
        left + (column - view.PADDING + 0.5) * tile,
        HEAD + (row - view.PADDING + 0.5) * tile,
    )
    _agent(canvas, centre, tile, int(state.direction))
    if int(state.carrying) != cells.EMPTY:
        canvas.box((MARGIN, 8), (MARGIN + 32, 40), FLOOR, corner=6)
        _object(canvas, (MARGIN + 16, 24), 30, int(state.carrying))
    caption = f"STEP {steps}/{task.max_episode_steps}  RETURN {episode_return:.2f}"
    canvas.text(caption, width - MARGIN - text_width(caption, 12), 18, 12, WHITE)
    return canvas.image()


def _lit(task: GridTask, state: GridState) -> NDArray[np.bool_]:
    """Which cells of the padded grid the agent sees."""
    seen = np.asarray(task.observe(state))[..., 0] != cells.UNSEEN
    around = int(state.position) + view.offsets(task.stride)[int(state.direction)]
    lit = np.zeros(state.grid.shape, np.bool_)
    lit[around[seen]] = True
    return lit


def _inside(grid: NDArray[np.uint16], position: int) -> NDArray[np.bool_]:
    """Cells without a wall between them and the agent; MultiRoom's map is also empty elsewhere."""
    passable: NDArray[np.bool_] = grid & 15 != cells.WALL_TYPE
    inside: NDArray[np.bool_] = np.zeros_like(passable)
    inside.flat[position] = True
    while True:
        near = inside.copy()
        for axis in (0, 1):
            near |= np.roll(inside, 1, axis) | np.roll(inside, -1, axis)
        near &= passable
        if (near == inside).all():
            return inside
        inside = near


def _wall(canvas: Canvas, corner: Point, tile: float, front: bool) -> None:
    """A block from above; where there is floor before it, its front can be seen."""
    x, y = corner
    canvas.box((x, y), (x + tile, y + tile), WALL_TOP)
    if front:
        canvas.box((x, y + 0.55 * tile), (x + tile, y + tile), WALL)


def _tile(canvas: Canvas, corner: Point, tile: float, code: int, seen: bool) -> None:
    x, y = corner
    kind, colour, state = cells.unpacked(code)
    floor = LIT if seen else FLOOR
    canvas.box((x + 0.5, y + 0.5), (x + tile - 0.5, y + tile - 0.5), floor, corner=0.06 * tile)
    centre = (x + tile / 2, y + tile / 2)
    if kind == cells.GOAL_TYPE:
        canvas.box((x + 1, y + 1), (x + tile - 1, y + tile - 1), COLOURS[cells.GREEN], 0.85)
        for radius, ink in ((0.36, WHITE), (0.26, COLOURS[cells.GREEN]), (0.15, GOLD)):
            canvas.disc(centre, radius * tile, ink)
    elif kind == cells.DOOR_TYPE:
        _door(canvas, corner, tile, COLOURS[colour], state)
    elif kind != cells.EMPTY_TYPE:
        _object(canvas, centre, tile, code)


def _door(canvas: Canvas, corner: Point, tile: float, colour: Colour, state: int) -> None:
    """Open: a frame. Closed: a panel with a knob. Locked: a panel with a keyhole."""
    x, y = corner
    frame = 0.1 * tile
    dark = (colour[0] // 2, colour[1] // 2, colour[2] // 2)
    if state == cells.OPEN:
        for a, b in (((0, 0), (1, 0)), ((0, 0), (0, 1)), ((1, 0), (1, 1)), ((0, 1), (1, 1))):
            ends = [
                (x + frame / 2 + u * (tile - frame), y + frame / 2 + v * (tile - frame))
                for u, v in (a, b)
            ]
            canvas.stroke(ends[0], ends[1], frame, colour)
        return
    canvas.box((x, y), (x + tile, y + tile), dark)
    canvas.box((x + frame, y + frame), (x + tile - frame, y + tile - frame), colour, corner=frame)
    middle_x, middle_y = x + tile / 2, y + tile / 2
    if state == cells.LOCKED:
        canvas.disc((middle_x, middle_y - 0.08 * tile), 0.13 * tile, INK)
        bottom = (middle_x, middle_y + 0.2 * tile)
        canvas.stroke((middle_x, middle_y), bottom, 0.1 * tile, INK)
    else:
        canvas.disc((x + 0.76 * tile, middle_y), 0.08 * tile, INK)


def _object(canvas: Canvas, centre: Point, tile: float, code: int) -> None:
    """A key or a ball."""
    x, y = centre
    kind, number, _ = cells.unpacked(code)
    colour = COLOURS[number]
    if kind == cells.BALL_TYPE:
        canvas.disc(centre, 0.34 * tile, INK)
        canvas.disc(centre, 0.30 * tile, colour)
        canvas.disc((x - 0.1 * tile, y - 0.1 * tile), 0.07 * tile, WHITE, 0.8)
        return
    strokes = (((0, -0.05), (0, 0.34)), ((0, 0.34), (0.16, 0.34)), ((0, 0.2), (0.12, 0.2)))
    for width, ink in ((0.17, INK), (0.1, colour)):
        for (ax, ay), (bx, by) in strokes:
            a, b = (x + ax * tile, y + ay * tile), (x + bx * tile, y + by * tile)
            canvas.stroke(a, b, width * tile, ink)
    for radius, ink in ((0.21, INK), (0.17, colour), (0.07, INK)):
        canvas.disc((x, y - 0.16 * tile), radius * tile, ink)


def _agent(canvas: Canvas, centre: Point, tile: float, direction: int) -> None:
    """An arrowhead that points where the agent looks."""
    x, y = centre
    turn = direction * math.pi / 2
    cos, sin = math.cos(turn), math.sin(turn)

    def at(ahead: float, aside: float) -> Point:
        return x + tile * (ahead * cos - aside * sin), y + tile * (ahead * sin + aside * cos)

    for width, ink in ((0.17, INK), (0.09, (242, 96, 60))):
        for aside in np.linspace(-0.24, 0.24, 9):
            canvas.stroke(at(0.3, 0.0), at(-0.26, float(aside)), width * tile, ink)
