"""Tasks by name, and what the user is told when there is no such task."""

import jax
import jax.numpy as jnp
import pytest

from isl.envs.cartpole_swingup import CartpoleSwingup
from isl.envs.deep_sea import DeepSea
from isl.envs.lock import Lock
from isl.envs.minigrid.four_rooms import FourRooms
from isl.envs.registry import (
    TASKS,
    TaskFamily,
    family_of,
    has_goal,
    is_compiled_task,
    make,
    number_of,
    parameters_of,
)
from isl.errors import UsageError


def test_make_builds_the_task_that_is_named():
    assert make("deep_sea/20") == DeepSea(20)
    assert make("deep_sea_stochastic/8", mapping_seed=3) == DeepSea(8, True, 3)
    assert make("cartpole_swingup/0") == CartpoleSwingup(0)
    assert make("lock/3", mapping_seed=3) == Lock(3, 3)
    assert make("four_rooms") == FourRooms()


def test_parameters_are_the_families_own():
    assert parameters_of("deep_sea/4", {"mapping_seed": 3, "size": 9}) == {"mapping_seed": 3}
    assert parameters_of("deep_sea/4", {"mapping_seed": None}) == {}
    assert parameters_of("cartpole_swingup/0", {"mapping_seed": 3}) == {}
    assert parameters_of("CartPole-v1", {"mapping_seed": 3}) == {}
    with pytest.raises(UsageError, match="cartpole_swingup has no parameter 'mapping_seed'"):
        make("cartpole_swingup/0", mapping_seed=3)
    with pytest.raises(UsageError, match="deep_sea has no parameter 'seed'; it has mapping_seed"):
        make("deep_sea/4", seed=3)


def test_a_task_says_what_it_is():
    assert family_of("deep_sea/7") is TASKS["deep_sea"]
    assert family_of("CartPole-v1") is None
    assert (number_of("deep_sea/7"), number_of("CartPole-v1")) == (7, None)
    goals = {name for name, family in TASKS.items() if has_goal(family.example)}
    assert goals >= {"deep_sea", "deep_sea_stochastic", "door_key", "lock"}
    assert "cartpole_swingup" not in goals
    assert not has_goal("CartPole-v1")
    for family in TASKS.values():  # its goal is one of the facts that it records
        assert family.goal is None or family.goal in {fact.name for fact in family.facts}


def test_a_single_task_has_no_number(monkeypatch):
    family = TaskFamily(lambda: DeepSea(3), "about", "title", "toy")
    monkeypatch.setitem(TASKS, "toy", family)
    assert make("toy") == DeepSea(3)
    assert number_of("toy") is None
    with pytest.raises(UsageError, match="toy has no number: leave out /3"):
        make("toy/3")


@pytest.mark.parametrize("family", TASKS)
def test_names_make_the_task_they_come_from(family):
    task = make(TASKS[family].example)
    assert make(task.name) == task
    assert task.name == TASKS[family].example
    assert is_compiled_task(task.name)


@pytest.mark.parametrize("family", TASKS)
def test_a_step_keeps_the_types_of_a_reset(family):
    task = make(TASKS[family].example)
    assert hash(task) == hash(make(task.name))
    state, obs = task.reset(jax.random.key(0))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((state, obs)))
    ts = jax.jit(task.step)(state, jnp.int32(0), jax.random.key(0))
    shape = lambda x: (x.shape, x.dtype, x.weak_type)  # noqa: E731
    assert jax.tree.map(shape, ts.state) == jax.tree.map(shape, state)
    assert (ts.obs.shape, ts.obs.dtype) == (obs.shape, obs.dtype)
    assert (ts.reward.dtype, ts.discount.dtype) == (jnp.float32, jnp.float32)
    assert ts.last.dtype == jnp.bool_
    assert set(ts.info) <= {fact.name for fact in TASKS[family].facts}


def test_default_budgets_are_bsuites():
    bsuite = [family for family in TASKS.values() if family.bsuite is not None]
    assert [make(family.example).default_episodes for family in bsuite] == [10_000, 10_000, 1_000]
    assert [family.bsuite.episodes for family in bsuite] == [10_000, 10_000, 1_000]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("deep_see/20", "unknown task 'deep_see/20': did you mean 'deep_sea/20'?"),
        ("Deep_Sea/7", "did you mean 'deep_sea/7'?"),
        ("deepsea_stochastic/30", "did you mean 'deep_sea_stochastic/30'?"),
        ("cartpole_swing/3", "did you mean 'cartpole_swingup/3'?"),
        ("deep_see", "did you mean 'deep_sea/20'?"),
        ("tetris", "compiled tasks are deep_sea/20, deep_sea_stochastic/20, cartpole_swingup/10"),
        ("", "unknown task ''"),
        ("cartpole_swingup/25", "range 0–19, got 25"),
        ("deep_sea/1", "≥ 2 (and at most 46340), got 1"),
        ("deep_sea/-3", "got -3"),
        ("deep_sea", "deep_sea needs a size, a whole number after a slash, got none"),
        ("deep_sea/", "got none: try deep_sea/20"),
        ("deep_sea/ten", "got 'ten': try deep_sea/20"),
        ("deep_sea/2.5", "got '2.5'"),
        ("deep_sea/20/3", "got '20/3'"),
        ("deep_sea/" + "9" * 5000, "needs a size"),
        ("cartpole_swingup", "needs a difficulty"),
        ("four_rooms/3", "four_rooms has no number: leave out /3"),
        ("multi_room/3", "number of rooms must be one of 2, 4, 6, got 3"),
        ("door_key/4", "size must be a whole number from 5 to 100, got 4"),
        ("key_corridor/0", "rows must be a whole number from 1 to 6, got 0"),
        ("lock/0", "length must be a whole number from 1 to 1000, got 0"),
    ],
)
def test_one_line_says_what_is_wrong(name, message):
    with pytest.raises(UsageError) as error:
        make(name)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_only_compiled_families_are_compiled_tasks():
    assert is_compiled_task("deep_sea/1")  # it is ours to complain about
    assert not is_compiled_task("deep_see/20")
    assert not is_compiled_task("FrozenLake-v1")
    assert not is_compiled_task("isl/DeepSea-v0")
    assert not is_compiled_task("minigrid:MiniGrid-Empty-5x5-v0")  # Gymnasium's module:Id
    assert is_compiled_task("gymnax:MountainCar-v0")
