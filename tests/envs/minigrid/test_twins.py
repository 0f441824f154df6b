"""The Gymnasium environments: Gymnasium's own checks, MiniGrid's numbers, pictures."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import isl  # noqa: F401  registers the environments
from isl.envs.minigrid import cells
from isl.envs.minigrid.grid import TOGGLE
from isl.envs.minigrid.gymnasium import EmptyEnv
from isl.errors import UsageError
from tests.envs.minigrid.worlds import both, copied

TWINS = {
    "isl/Empty-v0": {"size": 5},
    "isl/DoorKey-v0": {"size": 6},
    "isl/MultiRoom-v0": {"rooms": 2},
    "isl/KeyCorridor-v0": {"rows": 2, "room_size": 4},
    "isl/FourRooms-v0": {},
}


@pytest.mark.parametrize("name", TWINS)
def test_gymnasium_finds_nothing_to_complain_about(name):
    env = gymnasium.make(name, render_mode="rgb_array", **TWINS[name])
    check_env(env.unwrapped)
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8)
    assert env.action_space == gymnasium.spaces.Discrete(7)


def test_an_episode_is_minigrids():
    """One whole episode, from a copied state to its truncation."""
    _, theirs = both("door_key/5")
    theirs.reset(seed=3)
    ours = gymnasium.make("isl/DoorKey-v0", size=5)
    ours.reset(seed=0)
    ours.unwrapped._state = jax.tree.map(jax.numpy.asarray, copied(theirs))
    for action in np.random.default_rng(0).integers(0, 7, theirs.max_steps):
        image, *rest, _ = theirs.step(int(action))
        obs, *ends, info = ours.step(action)
        np.testing.assert_array_equal(obs, image["image"])
        assert ends == pytest.approx(rest, abs=1e-6)
        assert info == {"goal": int(rest[1])}
        if rest[1] or rest[2]:
            break
    with pytest.raises(ResetNeeded):
        ours.step(0)


def test_the_carried_object_is_shown_under_the_agent():
    env = gymnasium.make("isl/DoorKey-v0", size=5).unwrapped
    env.reset(seed=0)
    held = cells.pack(cells.KEY_TYPE, cells.YELLOW)
    env._state = env._state._replace(carrying=np.uint16(held))
    obs, *_ = env.step(6)
    assert obs[3, 6].tolist() == [cells.KEY_TYPE, cells.YELLOW, 0]


def test_a_picture_shows_what_the_agent_sees():
    env = gymnasium.make("isl/MultiRoom-v0", rooms=2, render_mode="rgb_array")
    env.reset(seed=1)
    dark = env.render()
    assert dark.dtype == np.uint8
    assert dark.ndim == 3
    env.step(0)
    assert (env.render() != dark).any(), "a turn lights other cells"


def test_wrong_arguments_are_named():
    with pytest.raises(UsageError, match="room size must be a whole number from 4 to 10, got 3"):
        gymnasium.make("isl/MultiRoom-v0", rooms=2, room_size=3)
    with pytest.raises(UsageError, match="render_mode must be None or one of"):
        EmptyEnv(render_mode="ansi")
    env = gymnasium.make("isl/Empty-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(UsageError, match="action must be one of"):
        env.step(7)
    env.step(TOGGLE)
