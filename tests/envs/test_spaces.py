"""What networks and replay see of each space, and what actions become."""

import numpy as np
import pytest
from gymnasium import spaces as gym
from gymnasium.vector.utils import batch_space

from isl.envs import spaces
from isl.errors import UsageError

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
    assert reading.encode_batch(np.array([-1, 2])).tolist() == [0, 3]
    assert not reading.is_batch(2)
    assert reading.is_batch(np.array([2]))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
def test_a_box_of_one_axis_becomes_a_float32_vector(dtype):
    reading = spaces.observations(gym.Box(0, 100, (3,), dtype))
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
    assert np.array_equal(reading.encode_batch(batch)[1], reading.encode(one))


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
    there, back = spaces.observations(space), spaces.observations(rebuilt)
    assert np.array_equal(there.encode(obs), back.encode(obs))
    assert there.seen.shape == back.seen.shape


def test_a_description_of_something_else_is_refused():
    with pytest.raises(UsageError, match="not one that isl writes"):
        spaces.from_description({"kind": "Text", "max_length": 5})
