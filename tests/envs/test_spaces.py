"""What networks and replay see of each space, and what actions become."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces as gym
from gymnasium.spaces.utils import flatten
from gymnasium.vector.utils import batch_space, iterate

from isl.envs import kinds, spaces
from isl.errors import UsageError

TABLES = [
    gym.Discrete(5, start=-2),
    gym.Discrete(3, start=10**12),
    gym.MultiDiscrete([8, 8, 2]),
    gym.MultiDiscrete([[2, 3], [4, 5]], start=[[1, -1], [0, 7]]),
    gym.MultiBinary(3),
    gym.MultiBinary([2, 2]),
    gym.Box(0, 7, (2,), np.int32),
    gym.Box(np.array([-3, 5]), np.array([3, 6]), dtype=np.int8),
    gym.Box(0, 1, (2, 2), np.uint8),
    gym.Box(0, 1, (3,), np.bool_),
    gym.Box(2, 9, (), np.int64),
    gym.Tuple([gym.Discrete(3, start=1), gym.Dict({"b": gym.MultiBinary(2)}), gym.Discrete(2)]),
]
NESTED = gym.Dict(
    {
        "where": gym.Discrete(3, start=5),
        "speed": gym.Box(-1, 1, (2,), np.float64),
        "rest": gym.Tuple([gym.MultiBinary(2), gym.MultiDiscrete([2, 3])]),
    }
)


def test_a_discrete_observation_becomes_an_index_from_zero():
    reading = spaces.observations(gym.Discrete(4, start=-1))
    assert reading.seen == gym.Discrete(4)
    assert reading.encode(-1) == 0
    assert reading.encode(np.int64(2)) == 3
    assert reading.encode(-1).dtype == np.int32
    assert reading.encode(np.array([-1, 2])).tolist() == [0, 3]
    assert not reading.is_batch(2)
    assert reading.is_batch(np.array([2]))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
def test_a_box_of_one_axis_becomes_a_float32_vector(dtype):
    reading = spaces.observations(gym.Box(0, 100, (3,), dtype))  # 1,030,301 combinations
    assert reading.seen.shape == (3,)
    assert reading.encode(np.array([1, 2, 3], dtype)).dtype == np.float32
    assert reading.is_batch(np.zeros((5, 3), dtype))
    assert not reading.is_batch(np.zeros(3, dtype))


@pytest.mark.parametrize("shape", [(7, 7), (8, 8, 3), (4, 20, 20)])
def test_an_image_stays_uint8(shape):
    reading = spaces.observations(gym.Box(0, 255, shape, np.uint8))
    assert spaces.is_image(reading.seen)
    assert reading.encode(np.full(shape, 200, np.uint8)).dtype == np.uint8


def test_nested_spaces_are_joined_to_one_vector():
    reading = spaces.observations(NESTED)
    obs = {
        "where": np.int64(6),
        "speed": np.array([0.5, -0.5]),
        "rest": (np.array([1, 0], np.int8), np.array([1, 2])),
    }
    parts = {"where": [0, 1, 0], "speed": [0.5, -0.5], "rest": [1, 0, 0, 1, 0, 0, 1]}
    joined = reading.encode(obs)
    assert joined.dtype == np.float32
    assert joined.tolist() == [x for name in NESTED.spaces for x in parts[name]]
    assert reading.seen.shape == (12,)
    assert not reading.is_batch(obs)


def test_a_batch_of_nested_observations_is_read_one_by_one():
    reading = spaces.observations(NESTED)
    batched = batch_space(NESTED, 3)
    batched.seed(0)
    batch = batched.sample()
    assert reading.is_batch(batch)
    one = {
        "where": batch["where"][1],
        "speed": batch["speed"][1],
        "rest": (batch["rest"][0][1], batch["rest"][1][1]),
    }
    assert np.array_equal(reading.encode(batch)[1], reading.encode(one))


@pytest.mark.parametrize("space", TABLES, ids=str)
def test_a_small_finite_space_is_a_table_with_an_entry_per_observation(space):
    reading = spaces.observations(space)
    assert (reading.kind, reading.seen, reading.expand) == ("table", reading.stored, None)
    space.seed(0)
    some = [space.sample() for _ in range(15 * int(reading.seen.n))]
    entries = {}
    for obs in some:
        index = reading.encode(obs)
        assert (index.dtype, index.shape) == (np.int32, ())
        assert not reading.is_batch(obs)
        entries.setdefault(int(index), flatten(space, obs).tolist())
        assert entries[int(index)] == flatten(space, obs).tolist()
    assert sorted(entries) == list(range(reading.seen.n))
    batched = batch_space(space, 7)
    batched.seed(1)
    batch = batched.sample()
    assert reading.is_batch(batch)
    each = [reading.encode(one) for one in iterate(batched, batch)]
    assert reading.encode(batch).tolist() == each
    if np.max(getattr(space, "start", 0)) < 10**12:  # not beyond the 32 bits of compiled tasks
        assert reading.encode(jax.tree.map(jnp.asarray, batch), jnp).tolist() == each


FLAT = [space for space in TABLES[2:] if not spaces.is_image(space)]


@pytest.mark.parametrize("space", [*FLAT, NESTED], ids=str)
def test_a_vector_is_what_gymnasium_flattens_to(space):
    reading = spaces.observations(space, "vector")
    assert reading.expand is None
    space.seed(2)
    obs = space.sample()
    vector = reading.encode(obs)
    assert (vector.dtype, vector.shape) == (np.float32, reading.seen.shape)
    assert vector.ravel().tolist() == flatten(space, obs).astype(np.float32).tolist()
    assert np.array_equal(reading.encode(jax.tree.map(jnp.asarray, obs), jnp), vector)


def test_what_is_too_large_for_a_table_stays_a_vector():
    for space in (
        gym.MultiDiscrete([100, 100, 100]),
        gym.MultiBinary(17),
        gym.Box(0, 999, (1,), np.int32),  # a magnitude, not a symbol
        gym.Box(-(2**63), 2**63 - 1, (1,), np.int64),
    ):
        assert spaces.observations(space).kind == "vector"
    asked = spaces.observations(gym.MultiBinary(17), "table")
    assert asked.seen == gym.Discrete(2**17)


@pytest.mark.parametrize(
    ("obs", "words"),
    [
        ([3, 8], r"observed \[3 8\], which is not in MultiDiscrete"),
        ([-1, 0], r"observed \[-1  0\], which is not in"),
        ([0.5, 1], "observed float64 values, expected whole numbers"),
        ([1, 2, 3], r"observed an array of shape \(3,\), expected \(2,\)"),
    ],
)
def test_an_observation_outside_of_its_table_is_refused(obs, words):
    reading = spaces.observations(gym.MultiDiscrete([4, 8]))
    with pytest.raises(UsageError, match=words):
        reading.encode(np.array(obs))


def test_symbols_stay_bytes_and_are_no_image():
    reading = spaces.observations(gym.Box(0, 255, (2, 2, 3), np.uint8), "symbols")
    assert reading.stored.dtype == np.uint8
    assert (reading.seen.shape, reading.seen.number) == ((2, 2, 3), 16)
    assert not spaces.is_image(reading.seen)
    assert not kinds.is_vector(reading.seen)
    obs = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    stored = reading.encode(obs)
    assert stored.dtype == np.uint8
    np.testing.assert_array_equal(stored, obs)
    with pytest.raises(UsageError, match="observed 16, expected symbols from 0 to 15"):
        reading.encode(obs + 5)
    few = spaces.observations(gym.Box(0, 3, (20, 20), np.int64), "symbols")
    assert (few.seen.shape, few.seen.number) == ((20, 20), 4)
    with pytest.raises(UsageError, match="expected whole numbers from 0 to 255"):
        few.encode(np.full((20, 20), 256))


def test_minigrids_view_is_one_of_symbols_unless_something_else_is_said():
    view = gym.Box(0, 255, (7, 7, 3), np.uint8)
    reading = spaces.observations(view)
    assert (reading.kind, reading.recorded) == ("symbols", "symbols")
    assert spaces.observations(view, "image").recorded is None, "as files of 0.1 have it"
    with pytest.raises(UsageError, match='if these are pixels, give observations="image"'):
        reading.encode(np.full((7, 7, 3), 200, np.uint8))
    for shape in [(7, 7), (8, 8, 3), (3, 7, 7)]:
        assert spaces.observations(gym.Box(0, 255, shape, np.uint8)).kind == "image"


def test_an_image_as_a_vector_stays_bytes_in_the_replay():
    reading = spaces.observations(gym.Box(0, 255, (8, 8), np.uint8), "vector")
    assert (reading.stored.dtype, reading.seen.dtype) == (np.uint8, np.float32)
    assert reading.expand(reading.encode(np.full((8, 8), 200, np.uint8))).max() == 200
    table = spaces.observations(gym.Discrete(3, start=1), "vector")
    assert table.expand(table.encode(np.array([1, 3]))).tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("kind", "space", "words"),
    [
        ("table", gym.Box(-1, 1, (2,)), "more than 256 values"),
        ("table", gym.MultiBinary(30), "more than 10,000,000 states"),
        ("image", gym.Discrete(4), "expected a Box with 2 or 3 axes"),
        ("image", gym.Box(0, 1, (4, 4)), "expected whole numbers from 0 to 255"),
        ("symbols", gym.Box(-1, 5, (4, 4), np.int32), "whole numbers from 0 on"),
        ("symbols", gym.Discrete(4), "expected a Box of whole numbers"),
    ],
)
def test_a_choice_that_does_not_fit_the_space_is_refused_in_one_line(kind, space, words):
    with pytest.raises(UsageError, match=f'observations "{kind}" do not fit .*{words}') as error:
        spaces.observations(space, kind)
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="unknown kind of observations 'tabel'; did you mean"):
        spaces.observations(space, "tabel")


@pytest.mark.parametrize(
    "space", [gym.Dict({}), gym.Tuple([]), gym.Box(0, 1, (0,)), gym.Dict({"a": gym.Tuple([])})]
)
def test_a_space_without_content_is_refused(space):
    with pytest.raises(UsageError, match="is not supported"):
        spaces.observations(space)


def test_a_part_that_cannot_be_read_may_be_left_out():
    space = gym.Dict({"image": gym.Box(0, 1, (2,)), "mission": gym.Text(5)})
    told = r"FilterObservation\(env, \['image'\]\) leaves that part out"
    with pytest.raises(UsageError, match=told) as error:
        spaces.observations(space)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "space", [gym.Text(5), gym.Dict({"a": gym.Text(5)}), gym.Sequence(gym.Discrete(2))]
)
def test_an_observation_space_that_cannot_be_read_is_named(space):
    with pytest.raises(UsageError, match=r"(Text|Sequence).*not supported; expected Discrete, Box"):
        spaces.observations(space)


def test_discrete_actions_keep_their_start():
    reading = spaces.actions(gym.Discrete(3, start=-1))
    assert reading.number == 3
    assert reading.decode(np.int32(2)) == 1
    hash(reading.decode(2))  # environments look actions up in dicts
    assert reading.decode(np.array([0, 2])).tolist() == [-1, 1]


def test_multi_discrete_actions_are_all_combinations():
    space = gym.MultiDiscrete([2, 3], start=[1, 0])
    reading = spaces.actions(space)
    assert reading.number == 6
    every = [reading.decode(i) for i in range(6)]
    assert len({tuple(action) for action in every}) == 6
    assert all(space.contains(action) for action in every)
    assert np.array_equal(reading.decode(np.arange(6)), np.stack(every))


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (gym.Box(-1, 1, (2,)), "Box.*expected Discrete"),
        (gym.MultiDiscrete([100, 100]), "10000 combinations"),
    ],
)
def test_an_action_space_that_cannot_be_counted_is_named(space, words):
    with pytest.raises(UsageError, match=words):
        spaces.actions(space)


@pytest.mark.parametrize(
    "space",
    [
        gym.Discrete(4, start=2),
        gym.Box(-1, 1, (2, 3), np.float64),
        gym.Box(0, 255, (4, 4, 3), np.uint8),
        gym.MultiDiscrete([2, 3], start=[1, 0]),
        gym.MultiBinary(3),
        NESTED,
    ],
)
def test_a_description_rebuilds_a_space_that_reads_the_same(space):
    described = spaces.describe(space)
    rebuilt = spaces.from_description(described)
    assert spaces.describe(rebuilt) == described
    space.seed(1)
    obs = space.sample()
    kind = spaces.usual(space)
    there, back = spaces.observations(space, kind), spaces.observations(rebuilt, kind)
    assert np.array_equal(there.encode(obs), back.encode(obs))
    assert there.seen.shape == back.seen.shape


@pytest.mark.parametrize("space", TABLES, ids=str)
def test_the_description_of_a_table_has_the_bounds_that_it_needs(space):
    reading = spaces.observations(space)
    described = json.loads(json.dumps(reading.describe()))
    back = spaces.observations(spaces.from_description(described), "table")
    assert (back.seen, back.describe()) == (reading.seen, described)
    space.seed(3)
    obs = space.sample()
    assert back.encode(obs) == reading.encode(obs)


def test_a_description_of_something_else_is_refused():
    with pytest.raises(UsageError, match="not one that isl writes"):
        spaces.from_description({"kind": "Text", "max_length": 5})
