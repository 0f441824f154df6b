"""Dict observations with images and vectors: one torso per image, beside the other numbers."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple

from isl import DQN, Seeker, agents, load
from isl.envs import spaces
from isl.errors import UsageError
from isl.model.evaluation import evaluate
from isl.nn.networks import Network

SPACE = Dict(
    {
        "camera": Box(0, 255, (6, 6, 1), np.uint8),
        "goal": Discrete(2),
        "speed": Box(-np.inf, np.inf, (2,), np.float32),
    }
)


class Lamp(gymnasium.Env):
    """A lamp is on the left or on the right: go there, or away from it if the goal is 1."""

    observation_space = SPACE
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._side, self._goal = (int(x) for x in self.np_random.integers(2, size=2))
        return self._seen(), {}

    def step(self, action):
        right = (self._side + self._goal) % 2 == action
        return self._seen(), float(right), True, False, {}

    def _seen(self):
        picture = np.zeros((6, 6, 1), np.uint8)
        picture[2:4, 5 if self._side else 0] = 255
        return {"camera": picture, "goal": self._goal, "speed": np.array([1.0, -2.0], np.float32)}


def test_what_is_stored_is_what_was_observed():
    read = spaces.observations(SPACE)
    assert read.kind == read.recorded == "parts"
    assert read.stored.shape == (36 + 4 * 4,)
    assert read.stored.dtype == np.uint8
    obs = SPACE.sample()
    row = read.encode(obs)
    seen = np.asarray(read.expand(jnp.asarray(row)))
    np.testing.assert_allclose(seen[:36], obs["camera"].ravel() / 255, rtol=1e-6)
    np.testing.assert_array_equal(seen[36:38], np.eye(2, dtype=np.float32)[obs["goal"]])
    np.testing.assert_array_equal(seen[38:], obs["speed"])
    np.testing.assert_array_equal(
        read.encode({k: jnp.asarray(v) for k, v in obs.items()}, jnp), row
    )
    assert [section.is_image for section in read.seen.sections] == [True, False]
    assert read.seen.pixels.sum() == 36


def test_each_image_has_convolutions_of_its_own():
    two = Tuple([SPACE["camera"], Box(0, 255, (8, 8), np.uint8), SPACE["speed"]])
    read = spaces.observations(two)
    network = Network(read.seen, (5,), 3)
    params = network.init(jax_key(), jnp.zeros(read.seen.shape))
    torso = params["params"]["torso"]
    assert set(torso) == {"Convolutions_0", "Convolutions_1"}
    inputs = params["params"]["first"]["kernel"].shape[1]
    assert inputs == 3 * 3 * 16 + 4 * 4 * 16 + 2
    assert network.apply(params, jnp.ones((4, *read.seen.shape))).shape == (4, 3)


def jax_key():
    import jax

    return jax.random.key(0)


@pytest.mark.parametrize("model_class", [DQN, Seeker])
def test_both_parts_are_needed_and_used(model_class, tmp_path):
    more = {"epsilon_steps": 200} if model_class is DQN else {"averaging": 0.02}
    hyper = {"hidden": (32,), "batch_size": 32, "learning_starts": 64, "lr": 3e-3, "gamma": 0.5}
    model = model_class(Lamp, **hyper, **more)
    model.learn(600, progress_bar=False, n_eval_episodes=0)
    result = evaluate(model, Lamp, 20)
    assert result.mean == 1.0
    model.save(tmp_path / "m.isl", replay=False)
    again = load(tmp_path / "m.isl")
    obs = Lamp().reset(seed=3)[0]
    np.testing.assert_array_equal(again.inspect(obs)["q"], model.inspect(obs)["q"])
    batch = {name: np.stack([x, x]) for name, x in obs.items()}
    assert again.predict(batch)[0].shape == (2,)


@pytest.mark.parametrize("agent", agents.AGENTS)
def test_every_agent_can_be_made_for_it(agent):
    if agent == "isl_tables":
        pytest.skip("reads tables only")
    seen = spaces.observations(SPACE).seen
    module = agents.load(agent)
    made = module.make(module.Config(), seen, 2)
    import jax

    learner = jax.eval_shape(made.init, jax_key())
    found = jax.eval_shape(made.exploit, learner, jax.ShapeDtypeStruct(seen.shape, seen.dtype))
    assert found.shape == ()


def test_pixels_are_not_normalised_and_other_numbers_are():
    model = Seeker(Lamp, hidden=(8,))
    model.learn(20, progress_bar=False, n_eval_episodes=0)
    from isl.agents.wrappers.normalise_observations import normalise

    seen = model._observations.seen
    obs = jnp.linspace(0.1, 1.0, seen.shape[0])
    found = np.asarray(normalise(model.learner.inner.statistics, obs, seen.pixels))
    np.testing.assert_array_equal(found[seen.pixels], np.asarray(obs)[seen.pixels])
    assert not np.array_equal(found[~seen.pixels], np.asarray(obs)[~seen.pixels])


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="expected a Dict or Tuple with images in it"):
        DQN("CartPole-v1", observations="parts")
    read = spaces.observations(SPACE)
    bad = SPACE.sample() | {"speed": np.array([0.0, np.nan], np.float32)}
    with pytest.raises(UsageError, match="not finite"):
        read.encode(bad)
    with pytest.raises(UsageError, match="observed float64 values, expected uint8"):
        read.encode(SPACE.sample() | {"camera": np.zeros((6, 6, 1))})
    assert spaces.observations(SPACE, "vector").stored.dtype == np.float32
