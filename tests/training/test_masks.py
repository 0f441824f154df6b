"""Environments that forbid actions: both ways to say so, in single and in vector environments."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isl.agents.base import Agent, Schedule, greedy, no_episode, store_as_is
from isl.envs import action_masks
from isl.errors import EnvironmentFault, UsageError
from isl.training.host.loop import HostLoop
from isl.training.python_envs.envs import PythonEnvs
from isl.training.python_envs.vector import SB3Envs, VectorEnvs
from tests.support.masked_envs import Corridor, as_vec_env

ANYHOW = Agent(  # any action that is allowed, uniformly, in its first steps by the loop's own hand
    schedule=Schedule(
        steps=1,
        updates=1,
        target_period=1,
        batch_size=2,
        replay_capacity=1000,
        learning_starts=20,
        random_start=True,
    ),
    init=lambda key: jnp.int32(0),
    begin_episode=no_episode,
    act=lambda learner, episode, obs, key, mask=None: greedy(jax.random.uniform(key, (3,)), mask),
    exploit=lambda learner, obs, mask=None: greedy(jnp.zeros(3), mask),
    observe=store_as_is,
    update=lambda learner, target, batch, key: (learner + 1, {"loss": jnp.float32(0)}),
    target=lambda learner: learner,
    inspect=lambda learner, obs: {},
)


def loop_over(envs):
    return HostLoop(ANYHOW, envs, "corridor", 0)


def makers(says, number=2):
    return [lambda i=i: Corridor(says=says, length=4 + i) for i in range(number)]


KINDS = {
    "single": lambda says: PythonEnvs([make() for make in makers(says)], "corridor", 0),
    "vec_env": lambda says: SB3Envs(as_vec_env(makers(says)), "corridor", 0),
    **{
        mode.value: lambda says, mode=mode: VectorEnvs(
            SyncVectorEnv(makers(says), autoreset_mode=mode), "corridor", 0
        )
        for mode in AutoresetMode
    },
}


@pytest.mark.parametrize("says", ["info", "method"])
@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_followed_and_stored(kind, says):
    """The corridor raises on a forbidden move, so that each step is a test."""
    loop = loop_over(KINDS[kind](says))
    steps = loop.run(300)
    assert loop.masked
    assert steps.last.sum() > 10
    held = loop.state()["device"]["storage"]
    lengths = held.obs[:, 1]
    for obs, length, action, mask in zip(held.obs, lengths, held.action, held.mask, strict=True):
        np.testing.assert_array_equal(mask, Corridor.allowed(int(obs[0]), int(length)))
        assert mask[action]
    on = held.discount == 1  # where an episode ended by itself, nothing depends on the mask
    assert (~on).any()
    unknown = says == "method" and kind in ("vec_env", "SameStep")  # it has begun another episode
    for obs, mask in zip(held.next_obs[on], held.next_mask[on], strict=True):
        if unknown and mask.all():
            continue
        np.testing.assert_array_equal(mask, Corridor.allowed(int(obs[0]), int(obs[1])))


@pytest.mark.parametrize("says", ["info", "method"])
def test_a_restored_loop_knows_its_masks(says):
    loop = loop_over(PythonEnvs([Corridor(says=says)], "corridor", 0))
    loop.run(41)
    other = loop_over(PythonEnvs([Corridor(says=says)], "corridor", 0))
    other.restore(loop.learner, loop.state())
    assert np.array_equal(loop.run(60).reward, other.run(60).reward)


class Forgetful(Corridor):
    """Gives a mask only at its reset, or only at its steps; it forbids nothing."""

    allowed = staticmethod(lambda at, length: np.ones(3, bool))

    def __init__(self, at):
        super().__init__(says="info")
        self._when = at

    def reset(self, **options):
        obs, info = super().reset(**options)
        return obs, info if self._when == "reset" else {}

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated, truncated, info if self._when == "step" else {}


@pytest.mark.parametrize(
    ("at", "line"),
    [
        ("reset", "step 1 of corridor: gave no action mask; it gave one at its first reset"),
        ("step", "step 1 of corridor: gave an action mask, but none at its first reset"),
    ],
)
def test_half_of_the_masks_is_refused(at, line):
    with pytest.raises(EnvironmentFault, match=line):
        loop_over(PythonEnvs([Forgetful(at)], "corridor", 0)).run(5)


class Wrong(Corridor):
    def __init__(self, mask):
        super().__init__(says="info")
        self._wrong = mask

    def reset(self, **options):
        obs, _ = super().reset(**options)
        return obs, {"action_mask": self._wrong}


@pytest.mark.parametrize(
    ("mask", "line"),
    [
        ([1, 1], r"an action mask has shape \(2,\), expected 3 flags"),
        ([0, 0, 0], "gave an action mask that allows no action"),
        ([0.0, 0.5, 1.0], "an action mask holds float64 values, expected only 0 and 1"),
        ([[1, 1, 1]], r"gave an action mask of shape \(1, 3\), expected one axis"),
    ],
)
def test_a_mask_that_cannot_be_followed_is_named(mask, line):
    with pytest.raises(EnvironmentFault, match=f"^step 0 of corridor: {line}"):
        loop_over(PythonEnvs([Wrong(np.asarray(mask))], "corridor", 0))


def test_masks_of_several_choices_are_masks_of_their_combinations():
    space = MultiDiscrete([2, 3])
    mask = action_masks.read(space, [0, 1, 1, 0, 1])
    np.testing.assert_array_equal(mask, [0, 0, 0, 1, 0, 1])
    np.testing.assert_array_equal(action_masks.read(space, [[1, 1, 1, 0, 0]]), [[1, 0, 0] * 2])
    with pytest.raises(UsageError, match="expected 5 flags"):
        action_masks.read(space, np.ones(6))
    assert action_masks.read(Discrete(2), np.array([1, 0], np.int8)).tolist() == [True, False]


def test_a_wrapped_environment_is_asked_too():
    wrapped = gymnasium.wrappers.TimeLimit(Corridor(says="method"), 5)
    loop = loop_over(PythonEnvs([wrapped], "corridor", 0))
    loop.run(50)
    assert loop.masked
