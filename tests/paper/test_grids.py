"""The environments of isl.paper.grids: that they are Gymnasium's, and what their best return is."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from isl.paper.cases import LABYRINTHS, PIXELS
from isl.paper.grids import MOVES, Labyrinth, passages


@pytest.mark.parametrize("case", [*LABYRINTHS, PIXELS], ids=lambda case: case.name)
def test_they_pass_gymnasiums_checks(case):
    check_env(case.make().unwrapped, skip_render_check=True)


def test_every_cell_of_the_labyrinth_is_reached_in_one_way():
    size = Labyrinth.size
    open_ = passages(size)
    assert open_.sum() == 2 * (size**2 - 1)  # a tree, each passage from both sides
    for x, y, move in np.argwhere(open_):
        there = np.array([x, y]) + MOVES[move]
        assert open_[(*there, (move + 2) % 4)]
    reached, new = set(), {(0, 0)}
    while new:
        reached |= new
        steps = [(x, y, move) for x, y in new for move in range(4) if open_[x, y, move]]
        new = {tuple(int(i) for i in np.array([x, y]) + MOVES[m]) for x, y, m in steps} - reached
    assert len(reached) == size**2


@pytest.mark.parametrize("case", LABYRINTHS, ids=lambda case: case.name)
def test_the_best_return_of_the_labyrinth_is_what_the_case_says(case):
    env = case.make()
    labyrinth = env.unwrapped
    target = (labyrinth.size - 1,) * 2
    ways = {(0, 0): []}
    while target not in ways:
        for at, way in list(ways.items()):
            for move in range(4):
                to = tuple(int(i) for i in np.array(at) + MOVES[move])
                if labyrinth._open[(*at, move)] and to not in ways:
                    ways[to] = [*way, move]
    assert len(ways[target]) == 28
    env.reset(seed=0)
    paid, over = 0.0, False
    for move in ways[target]:
        assert not over
        _, reward, over, _, _ = env.step(move)
        paid += reward
    assert over
    assert case.threshold < paid < case.threshold + labyrinth.cost


def test_walls_hold_and_both_encodings_go_the_same_way():
    place, table = (gymnasium.make("isl/Labyrinth-v0", table=shown) for shown in (False, True))
    (xy, _), (number, _) = place.reset(seed=0), table.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        x, y = np.round(xy * 6).astype(int)
        assert number == x * 7 + y
        move = rng.integers(4)
        xy, *told = place.step(move)
        number, *same = table.step(move)
        assert told == same
        moved = np.round(xy * 6).astype(int) - [x, y]
        assert np.array_equal(moved, MOVES[move] if place.unwrapped._open[x, y, move] else [0, 0])
        if told[1]:
            break


def test_the_bright_pixel_moves_and_the_goal_stays():
    env = gymnasium.make("isl/Pixels-v0")
    picture, _ = env.reset(seed=0)
    assert picture[0, 0, 0] == 255
    assert picture[-1, -1, 0] == 128
    paid = 0.0
    for move in [0] * 15 + [1] * 15:
        assert paid == 0
        picture, reward, over, _, _ = env.step(move)
        paid += reward
    assert over
    assert paid == 1
    assert np.count_nonzero(picture) == 1  # both are in the same place
