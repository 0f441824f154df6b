"""Pictures of the tasks, drawn with NumPy alone.

Every shape is a signed distance: negative inside, positive outside, in pixels. Clipping it to one
pixel around the outline gives smooth edges for free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isl.envs.cartpole_swingup import EDGE, HALF_LENGTH, MAX_STEPS, CartpoleSwingup

Colour = tuple[int, int, int]
Point = tuple[float, float]  # (x, y) in pixels, y downwards

INK: Colour = (16, 24, 40)
PAPER: Colour = (244, 246, 248)
WHITE: Colour = (255, 255, 255)
GREY: Colour = (150, 160, 172)
GREEN: Colour = (38, 166, 110)
GOLD: Colour = (255, 200, 60)

# Strokes of each glyph on a 3 × 5 lattice lettered a–o row by row: "acn" goes from the top left to
# the top right to the bottom middle.
TEXT_ADVANCE = 3.4  # from letter to letter, in units of the lattice
GLYPHS = {
    "0": "acoma", "1": "dbn mo", "2": "acigmo", "3": "acom gi", "4": "agi co",
    "5": "cagiom", "6": "camoig", "7": "acn", "8": "acoma gi", "9": "igacom",
    "-": "gi", ".": "nn", "/": "mc", " ": "",
    "C": "camo", "E": "camo gi", "G": "camoih", "H": "am co gi", "I": "bn", "L": "amo",
    "N": "maoc", "O": "acoma", "P": "macig", "R": "macig ho", "S": "cagiom", "T": "ac bn",
    "U": "amoc", "W": "amhoc",
}  # fmt: skip


class Canvas:
    """An RGB picture that shapes are painted on, later ones on top."""

    def __init__(self, pixels: NDArray[np.float32]) -> None:
        self.pixels = pixels

    @classmethod
    def blank(cls, width: int, height: int, colour: Colour) -> Canvas:
        return cls(np.broadcast_to(np.array(colour, np.float32), (height, width, 3)).copy())

    def stroke(self, a: Point, b: Point, width: float, colour: Colour, alpha: float = 1.0) -> None:
        """A line with round ends; from a point to itself it is a disc."""
        (ax, ay), (bx, by), reach = a, b, width / 2 + 1
        box = (min(ax, bx) - reach, min(ay, by) - reach, max(ax, bx) + reach, max(ay, by) + reach)
        patch, x, y = self._patch(box)
        dx, dy = bx - ax, by - ay
        length_squared = max(dx * dx + dy * dy, 1e-12)
        along = np.clip(((x - ax) * dx + (y - ay) * dy) / length_squared, 0.0, 1.0)
        _blend(patch, np.hypot(x - ax - along * dx, y - ay - along * dy) - width / 2, colour, alpha)

    def disc(self, centre: Point, radius: float, colour: Colour, alpha: float = 1.0) -> None:
        self.stroke(centre, centre, 2 * radius, colour, alpha)

    def box(
        self, a: Point, b: Point, colour: Colour, alpha: float = 1.0, corner: float = 0.0
    ) -> None:
        """The rectangle from its top left `a` to its bottom right `b`, corners rounded."""
        patch, x, y = self._patch((a[0] - 1, a[1] - 1, b[0] + 1, b[1] + 1))
        outside_x = np.abs(x - (a[0] + b[0]) / 2) - ((b[0] - a[0]) / 2 - corner)
        outside_y = np.abs(y - (a[1] + b[1]) / 2) - ((b[1] - a[1]) / 2 - corner)
        outer = np.hypot(np.maximum(outside_x, 0.0), np.maximum(outside_y, 0.0))
        inner = np.minimum(np.maximum(outside_x, outside_y), 0.0)
        _blend(patch, outer + inner - corner, colour, alpha)

    def text(self, words: str, left: float, top: float, height: float, colour: Colour) -> None:
        unit = height / 4
        for i, letter in enumerate(words):
            corner_x = left + i * TEXT_ADVANCE * unit
            for line in GLYPHS[letter].split():
                points = [
                    (
                        corner_x + (ord(c) - ord("a")) % 3 * unit,
                        top + (ord(c) - ord("a")) // 3 * unit,
                    )
                    for c in line
                ]
                for a, b in pairwise(points):
                    self.stroke(a, b, height / 7, colour)

    def image(self) -> NDArray[np.uint8]:
        return np.round(self.pixels).astype(np.uint8)

    def _patch(
        self, box: tuple[float, float, float, float]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        """The pixels inside `box` (left, top, right, bottom), and the x and y of their centres."""
        height, width, _ = self.pixels.shape
        left, top = max(math.floor(box[0]), 0), max(math.floor(box[1]), 0)
        right, bottom = min(math.ceil(box[2]), width), min(math.ceil(box[3]), height)
        x, y = np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5
        return self.pixels[top : top + len(y), left : left + len(x)], x[None, :], y[:, None]


def _blend(
    patch: NDArray[np.float32], distance: NDArray[np.float64], colour: Colour, alpha: float
) -> None:
    cover = alpha * np.clip(0.5 - distance, 0.0, 1.0)[..., None].astype(np.float32)
    patch += cover * (np.array(colour, np.float32) - patch)


def text_width(words: str, height: float) -> float:
    return (len(words) * TEXT_ADVANCE - 1) * height / 4


# --- Deep Sea -----------------------------------------------------------------------------------

SEA_WIDTH, SEA_HEIGHT = 512, 560
SEA_LEFT, SEA_TOP, SEA_SIDE = 24, 48, 464  # the grid; above it the sky, below it the sea bed
SKY: Colour = (222, 240, 247)
SHALLOW, ABYSS = np.array([104, 200, 222], np.float32), np.array([8, 28, 66], np.float32)
ROCK_TOP, ROCK_BOTTOM = np.array([196, 168, 128], np.float32), np.array([50, 46, 52], np.float32)
TRAIL: Colour = (226, 244, 248)


def draw_deep_sea(
    size: int, path: Sequence[tuple[int, int]], found: bool, steps: int, episode_return: float
) -> NDArray[np.uint8]:
    """The diver, the cells it came through, the treasure, and the score of the episode.

    Rock fills the cells that no dive can reach. `found` says that the treasure was just taken.
    """
    canvas = Canvas(_sea(size).copy())
    cell = SEA_SIDE / size
    centres = [(SEA_LEFT + (c + 0.5) * cell, SEA_TOP + (r + 0.5) * cell) for r, c in path]

    _draw_treasure(canvas, SEA_LEFT + (size - 0.5) * cell, found)
    for a, b in pairwise(centres):
        canvas.stroke(a, b, max(0.10 * cell, 1.6), TRAIL)
    for centre in centres[:-1]:
        canvas.disc(centre, max(0.13 * cell, 1.8), TRAIL)
    if centres:
        _draw_diver(canvas, centres[-1], max(0.34 * cell, 6.0))

    caption = f"STEP {steps}/{size}  RETURN {episode_return:.3f}"
    canvas.text(caption, SEA_WIDTH - SEA_LEFT - text_width(caption, 14), 16, 14, INK)
    return canvas.image()


@lru_cache(maxsize=4)
def _sea(size: int) -> NDArray[np.float32]:
    """What never moves: sky, water that darkens with depth, the cliff, the sea bed and the boat."""
    canvas = Canvas.blank(SEA_WIDTH, SEA_HEIGHT, SKY)
    x, y = np.arange(SEA_WIDTH) + 0.5, np.arange(SEA_TOP, SEA_HEIGHT) + 0.5
    depth = np.clip((y - SEA_TOP) / SEA_SIDE, 0, 1).astype(np.float32)[:, None, None]
    # The light goes as exp(−depth); rescaled to reach the darkest colour at the bottom.
    dark = (1 - np.exp(-1.6 * depth)) / (1 - math.exp(-1.6))
    water, rock = SHALLOW + dark * (ABYSS - SHALLOW), ROCK_TOP + dark * (ROCK_BOTTOM - ROCK_TOP)

    cell = SEA_SIDE / size
    row, column = np.floor((y - SEA_TOP) / cell), np.floor((x - SEA_LEFT) / cell)
    reachable = (column[None, :] <= row[:, None]) & (column[None, :] < size)
    reachable &= row[:, None] < size
    canvas.pixels[SEA_TOP:] = np.where(reachable[..., None], water, rock)
    right, bottom = SEA_LEFT + SEA_SIDE, SEA_TOP + SEA_SIDE
    for i in range(size + 1):  # grid lines, as far as the cliff
        line_x, line_y = SEA_LEFT + i * cell, SEA_TOP + i * cell
        canvas.stroke((SEA_LEFT, line_y), (min(line_x + cell, right), line_y), 1, WHITE, 0.16)
        canvas.stroke((line_x, max(line_y - cell, SEA_TOP)), (line_x, bottom), 1, WHITE, 0.16)

    # The boat that the diver came from.
    canvas.box((10, 30), (62, 46), (190, 70, 56), corner=6)
    canvas.box((10, 27), (62, 36), (120, 42, 40), corner=2)
    canvas.box((22, 14), (44, 28), PAPER, corner=3)
    canvas.disc((33, 21), 3.2, (90, 150, 180))
    canvas.pixels.setflags(write=False)
    return canvas.pixels


def _draw_diver(canvas: Canvas, centre: Point, radius: float) -> None:
    x, y = centre
    canvas.disc((x, y), 1.12 * radius, INK, 0.55)
    canvas.disc((x, y), radius, (250, 176, 48))
    canvas.disc((x, y + 0.06 * radius), 0.66 * radius, (122, 74, 18))
    canvas.disc((x, y + 0.06 * radius), 0.54 * radius, (38, 88, 120))
    canvas.disc((x - 0.18 * radius, y - 0.12 * radius), 0.15 * radius, WHITE, 0.9)
    for dx, dy, r in ((0.5, -1.4, 0.20), (0.75, -1.9, 0.14), (0.55, -2.3, 0.10)):
        canvas.disc((x + dx * radius, y + dy * radius), r * radius, WHITE, 0.6)


def _draw_treasure(canvas: Canvas, x: float, found: bool) -> None:
    y = SEA_TOP + SEA_SIDE + 26
    for radius in range(10, 46, 4) if found else range(10, 30, 4):
        canvas.disc((x, y), radius, GOLD, 0.13 if found else 0.06)
    canvas.box((x - 17, y - 10), (x + 17, y + 14), INK, corner=5)
    canvas.box((x - 15, y - 8), (x + 15, y + 12), (150, 92, 46), corner=4)
    canvas.box((x - 15, y - 8), (x + 15, y), GOLD if found else (178, 112, 58), corner=3)
    canvas.box((x - 15, y - 1), (x + 15, y + 1.5), GOLD)
    canvas.disc((x, y + 2), 3.6, GOLD)
    canvas.disc((x, y + 2), 1.4, INK)


# --- Cartpole swing-up --------------------------------------------------------------------------

POLE_WIDTH, POLE_HEIGHT = 672, 384
RAIL_Y = 226.0
PIXELS_PER_METRE = 100.0


def draw_cartpole(
    task: CartpoleSwingup,
    *,
    x: float,
    swing: float,
    push: int,
    conditions: tuple[bool, bool, bool],
    steps: int,
    episode_return: float,
) -> NDArray[np.uint8]:
    """The cart on its rail, the zone that pays (green), and which of its conditions hold.

    Pay needs the cart on the green part of the rail, the tip above the dashed line, and the pole
    slow: the three lamps. The arrow is the push of the last step.
    """
    canvas = Canvas.blank(POLE_WIDTH, POLE_HEIGHT, PAPER)
    centre, scale = POLE_WIDTH / 2, PIXELS_PER_METRE
    length = 2 * HALF_LENGTH * scale
    earns = all(conditions)

    # The rail, its ends, the zone that pays.
    zone = task.centre * scale
    tint = 0.30 if earns else 0.14
    top, line_y = RAIL_Y - length - 14, RAIL_Y - task.height * length
    canvas.box((centre - zone, top), (centre + zone, line_y), GREEN, tint)
    for left in range(round(centre - 140), round(centre + 140), 14):
        canvas.stroke((left, line_y), (left + 7, line_y), 1.5, GREEN, 0.8)
    for side in (-1, 1):
        end = centre + side * EDGE * scale
        canvas.stroke((end, RAIL_Y - 16), (end, RAIL_Y + 16), 6, GREY)
    canvas.stroke((centre - EDGE * scale, RAIL_Y), (centre + EDGE * scale, RAIL_Y), 4, GREY)
    canvas.stroke((centre - zone, RAIL_Y), (centre + zone, RAIL_Y), 4, GREEN)

    # The cart and the pole; swing 0 hangs straight down.
    cart = centre + x * scale
    tip = (cart - math.sin(swing) * length, RAIL_Y + math.cos(swing) * length)
    canvas.box((cart - 30, RAIL_Y - 15), (cart + 30, RAIL_Y + 15), INK, corner=6)
    canvas.box((cart - 28, RAIL_Y - 13), (cart + 28, RAIL_Y + 13), (62, 84, 120), corner=5)
    if push:
        nose, tail = (cart + push * 66, RAIL_Y), (cart + push * 38, RAIL_Y)
        canvas.stroke(tail, nose, 4, (214, 92, 60))
        for dy in (-7, 7):
            canvas.stroke(nose, (nose[0] - push * 8, RAIL_Y + dy), 4, (214, 92, 60))
    canvas.stroke((cart, RAIL_Y), tip, 11, INK)
    canvas.stroke((cart, RAIL_Y), tip, 8, GREEN if earns else (226, 158, 72))
    canvas.disc((cart, RAIL_Y), 4, INK)

    for i, (label, lit) in enumerate(zip(("HIGH", "SLOW", "CENTRE"), conditions, strict=True)):
        left = 36 + 92 * i
        canvas.disc((left, 26), 8, INK)
        canvas.disc((left, 26), 6.4, GREEN if lit else (214, 219, 225))
        canvas.text(label, left + 15, 20, 12, INK)
    caption = f"STEP {steps}/{MAX_STEPS}  RETURN {episode_return:.1f}"
    canvas.text(caption, POLE_WIDTH - 28 - text_width(caption, 14), 19, 14, INK)
    return canvas.image()
