"""The three small tasks: their dynamics against what is written of them, and their twins."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import stats

import isl  # noqa: F401  registers the environments
from isl.envs import point_maze
from isl.envs.lock import Lock, LockState, combination
from isl.envs.point_maze import MazeState, PointMaze
from isl.envs.river_swim import RiverState, RiverSwim


@pytest.mark.parametrize(
    ("name", "options"),
    [("isl/Lock-v0", {"length": 3}), ("isl/RiverSwim-v0", {}), ("isl/PointMaze-v0", {})],
)
def test_gymnasium_finds_nothing_to_complain_about(name, options):
    env = gymnasium.make(name, render_mode="rgb_array", **options)
    check_env(env.unwrapped)
    env.reset(seed=0)
    env.step(0)
    assert env.render().shape[1] == 560


def test_only_the_combination_opens_the_lock():
    task = Lock(5, mapping_seed=1)
    state, obs = task.reset(jax.random.key(0))
    assert int(obs) == 0
    for i, digit in enumerate(combination(5, 1)):
        wrong = task.step(state, jnp.int32((digit + 1) % 4), jax.random.key(0))
        assert (int(wrong.obs), float(wrong.reward)) == (0, 0.0)
        ts = task.step(state, jnp.int32(digit), jax.random.key(0))
        assert int(ts.obs) == i + 1
        state = ts.state
    assert (float(ts.reward), float(ts.discount), bool(ts.last)) == (1.0, 0.0, True)
    assert int(ts.info["goal"]) == 1


def test_the_locks_limit_is_a_truncation():
    task = Lock(3)
    ts = task.step(LockState(jnp.int32(0), jnp.int32(5)), jnp.int32(0), jax.random.key(0))
    assert (bool(ts.last), float(ts.discount)) == (True, 1.0)


@pytest.mark.parametrize(
    ("cell", "moves"),
    [(0, {0: 0.4, 1: 0.6}), (2, {1: 0.05, 2: 0.6, 3: 0.35}), (5, {4: 0.4, 5: 0.6})],
)
def test_strokes_against_the_current(cell, moves):
    task, samples = RiverSwim(6), 20_000
    state = RiverState(jnp.int32(cell), jnp.int32(0))
    keys = jax.random.split(jax.random.key(cell), samples)
    ts = jax.jit(jax.vmap(task.step, (None, None, 0)))(state, jnp.int32(1), keys)
    counts = np.bincount(np.asarray(ts.obs), minlength=6)
    assert set(np.flatnonzero(counts)) == set(moves)
    expected = np.array([samples * p for p in moves.values()])
    assert stats.chisquare(counts[list(moves)], expected).pvalue > 1e-3
    np.testing.assert_array_equal(ts.reward, (cell == 5) & (np.asarray(ts.obs) == 5))


def test_drifting_is_certain_and_pays_little_at_the_end():
    task = RiverSwim(6)
    for cell, reward in ((3, 0.0), (0, 0.005)):
        ts = task.step(RiverState(jnp.int32(cell), jnp.int32(119)), jnp.int32(0), jax.random.key(0))
        assert int(ts.obs) == max(cell - 1, 0)
        assert float(ts.reward) == pytest.approx(reward)
        assert (bool(ts.last), float(ts.discount)) == (True, 1.0)


def test_the_point_never_enters_a_wall_and_can_reach_the_goal():
    task, walls = PointMaze(), point_maze.plan()

    def wander(key):
        state, _ = task.reset(key)

        def body(state, key):
            action = jax.random.randint(key, (), 0, 4)
            ts = task.step(state, action, key)
            return ts.state, (ts.state.place, ts.obs)

        return jax.lax.scan(body, state, jax.random.split(key, 2000))[1]

    places, obs = jax.jit(jax.vmap(wander))(jax.random.split(jax.random.key(0), 20))
    cells = np.asarray(places).astype(int)
    assert not walls[cells[..., 1], cells[..., 0]].any()
    assert np.abs(np.asarray(obs)).max() <= 1
    assert len({tuple(cell) for cell in cells.reshape(-1, 2)}) > 15, "it hardly moved"
    goal = point_maze.cell_of("G")
    before = MazeState(jnp.array([goal[0] + 0.5, goal[1] - 0.1]), jnp.int32(0))
    ts = task.step(before, jnp.int32(1), jax.random.key(0))
    assert (float(ts.reward), float(ts.discount), bool(ts.last)) == (1.0, 0.0, True)


def test_every_open_cell_of_the_maze_is_connected_with_the_start():
    open_cells = {tuple(c) for c in np.argwhere(~point_maze.plan())}
    column, row = point_maze.cell_of("S")
    reached, frontier = {(row, column)}, [(row, column)]
    while frontier:
        y, x = frontier.pop()
        near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & open_cells - reached
        reached |= near
        frontier += near
    assert reached == open_cells
