"""Grids are drawn with the distribution of MiniGrid's generator."""

from collections import Counter

import jax
import numpy as np
import pytest
from scipy import ndimage, stats

from isl.envs.minigrid import cells
from tests.envs.minigrid.worlds import FULL, PAIRS, both, codes, unpadded

DRAWS = 20_000 if FULL else 600
DRAWN = [name for name in PAIRS if not name.startswith("empty")]  # the others are always the same


def facts(grid, x, y, direction):
    """Numbers that say what a grid looks like, by name. A number may be missing (−1)."""
    height, width = grid.shape
    kind, colour, state = grid & 15, grid >> 4 & 7, grid >> 7
    at = {"agent": y * width + x, "direction": direction}
    for name, number in (
        ("goal", cells.GOAL_TYPE),
        ("key", cells.KEY_TYPE),
        ("ball", cells.BALL_TYPE),
    ):
        found = np.flatnonzero(kind == number)
        assert len(found) <= 1
        at[name] = int(found[0]) if len(found) else -1
        at[f"{name} colour"] = int(colour.flat[found[0]]) if len(found) else -1
    doors = np.flatnonzero(kind == cells.DOOR_TYPE)
    hues = [int(colour.flat[door]) for door in doors]
    at |= {
        "doors": len(doors),
        "locked": int(np.flatnonzero(state == cells.LOCKED).sum()),
        "first door": int(doors[0]) if len(doors) else -1,
        "last door": int(doors[-1]) if len(doors) else -1,
        "first two colours": hues[0] * 8 + hues[1] if len(doors) > 1 else sum(hues),
        "last colour": hues[-1] if len(doors) else -1,
        "walls": int((kind == cells.WALL_TYPE).sum()),
    }
    # Rooms: cells connected without passing a door. MiniGrid's map is empty around MultiRoom's.
    regions, count = ndimage.label((kind != cells.WALL_TYPE) & (kind != cells.DOOR_TYPE))
    boxes = ndimage.find_objects(regions)
    sides = [(b[0].stop - b[0].start, b[1].stop - b[1].start) for b in boxes]
    at["regions"] = count
    for name, label in (
        ("first", regions[y, x]),
        ("last", regions.flat[max(at["goal"], at["ball"])]),
    ):
        at[f"{name} room"] = sides[label - 1][0] * width + sides[label - 1][1]
        at[f"{name} corner"] = boxes[label - 1][0].start * width + boxes[label - 1][1].start
    for name, line in (("row", kind[height // 2]), ("column", kind[:, width // 2])):  # gaps
        gaps = np.flatnonzero(line != cells.WALL_TYPE)
        ends = (int(gaps[0]), int(gaps[-1])) if len(gaps) else (-1, -1)
        at[f"first in middle {name}"], at[f"last in middle {name}"] = ends
    at |= {"x": x, "y": y}
    at["end x"] = max(at["goal"], at["ball"]) % width
    at["end y"] = max(at["goal"], at["ball"]) // width
    at["all rooms"] = sum(h * w for h, w in sides)
    # Pairs: two things that are right alone may be wrong together.
    quarter = (2 * y // height) * 2 + 2 * x // width
    gone = max(at["goal"], at["ball"])
    at["agent, end"] = (
        quarter * 8 + (2 * (gone // width) // height) * 2 + 2 * (gone % width) // width
    )
    at["agent, key"] = quarter * 64 + at["key"] % 31
    at["agent, direction"] = quarter * 4 + direction
    return at


def p_value(ours, theirs):
    """Of the χ² test that two samples have one distribution; rare values are taken together."""
    a, b = Counter(ours), Counter(theirs)
    values = set(a) | set(b)
    common = [v for v in values if a[v] + b[v] >= 20]
    rare = [v for v in values if a[v] + b[v] < 20]
    table = [[a[v], b[v]] for v in common]
    if rare and sum(a[v] + b[v] for v in rare) >= 20:
        table.append([sum(a[v] for v in rare), sum(b[v] for v in rare)])
    if len(table) < 2:
        return 1.0
    return float(stats.chi2_contingency(np.array(table)).pvalue)


@pytest.mark.parametrize("name", DRAWN)
def test_layouts_have_minigrids_distribution(name):
    task, theirs = both(name)
    keys = jax.random.split(jax.random.key(sum(map(ord, name))), DRAWS)
    state, _ = jax.jit(jax.vmap(task.reset))(keys)
    grids, xs, ys = unpadded(task, state)
    ours = [
        facts(grid.astype(np.int32), int(x), int(y), int(d))
        for grid, x, y, d in zip(grids, xs, ys, np.asarray(state.direction), strict=True)
    ]
    others = []
    theirs.reset(seed=0)
    for _ in range(DRAWS):
        theirs.agent_pos, theirs.agent_dir = (-1, -1), -1  # as `reset` does before it draws
        theirs._gen_grid(theirs.width, theirs.height)
        x, y = (int(v) for v in theirs.agent_pos)
        others.append(facts(codes(theirs), x, y, int(theirs.agent_dir)))
    names = list(ours[0])
    found = {fact: p_value([o[fact] for o in ours], [t[fact] for t in others]) for fact in names}
    tested = {fact: p for fact, p in found.items() if p < 1.0}
    assert len(tested) >= 5, "too little varies"
    worst = min(tested, key=tested.get)
    print(f"{name}: {len(tested)} facts of {DRAWS} draws, smallest p {tested[worst]:.3g} ({worst})")
    assert tested[worst] * len(tested) > 1e-3, f"{worst}: p = {tested[worst]:.2g}"


def test_the_statistic_sees_a_small_difference():
    """A die that shows its six a tenth too rarely is found out in 20,000 throws."""
    rng = np.random.default_rng(0)
    fair = rng.integers(6, size=20_000)
    bent = rng.choice(6, size=20_000, p=[0.17, 0.17, 0.17, 0.17, 0.17, 0.15])
    assert p_value(fair.tolist(), bent.tolist()) < 1e-6
    assert p_value(fair.tolist(), rng.integers(6, size=20_000).tolist()) > 1e-3


def test_empty_is_always_the_same():
    task, theirs = both("empty/8")
    theirs.reset(seed=0)
    grid, x, y = unpadded(task, task.reset(jax.random.key(3))[0])
    np.testing.assert_array_equal(grid, codes(theirs))
    assert (int(x), int(y)) == (1, 1)
