"""Every kind of observation works with every agent, in both loops, and in model files."""

import os
from functools import partial

import bsuite.sweep
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces as gym
from gymnasium.vector.utils import iterate
from hypothesis import given, settings
from hypothesis import strategies as st

from isl import DQN, Seeker, agents, load
from isl.agents.wrappers.expand_observations import expanded
from isl.envs import spaces
from isl.envs.adapters import DmEnvAdapter
from isl.errors import EnvironmentFault, UsageError
from isl.model import MODELS
from isl.nn.networks import dummy_observation
from isl.storage import checkpoint
from isl.training.host.program import compile_host, streams
from isl.training.python_envs.envs import PythonEnvs
from tests.support.sampled import ACTIONS, CompiledSampled, Sampled, samples

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 16, "replay_capacity": 64}
LINEAR = {name: value for name, value in TINY.items() if name != "hidden"}
FULL = "ISL_OBSERVATIONS_FULL" in os.environ  # train what is only traced otherwise (minutes)

FINITE = gym.Dict(
    {
        "place": gym.Tuple([gym.Discrete(3, start=4), gym.MultiDiscrete([2, 3], start=[1, -1])]),
        "doors": gym.MultiBinary(2),
        "level": gym.Box(-1, 2, (1,), np.int8),
    }
)
MIXED = gym.Tuple([gym.Discrete(3, start=1), gym.Box(-1, 1, (2, 2)), gym.MultiBinary(2)])
# One agent and one space of the documentation each; with FULL, every pair.
KINDS = {
    "isl": (FINITE, "table"),
    "isl_tables": (gym.MultiBinary(3), "table"),
    "isl_authors": (gym.Box(-1, 1, ()), "vector"),
    "boot_dqn": (MIXED, "vector"),
    "ube": (gym.Discrete(5, start=-2), "table"),
    "sbeed": (gym.Box(-1, 1, (1, 2, 1, 2), np.float64), "vector"),
    "dqn": (gym.Box(0, 9, (3, 3, 2), np.uint8), "symbols"),
    "stable_dqn": (gym.Box(0, 255, (4, 4), np.uint8), "image"),
    "seeker": (gym.MultiDiscrete([8, 8, 2]), "table"),
}


def pairs():
    for agent, (own, _) in KINDS.items():
        for space, kind in KINDS.values():
            if (space is own or FULL) and (agent != "isl_tables" or kind == "table"):
                yield pytest.param(agent, space, kind, id=f"{agent}-{type(space).__name__}-{kind}")


def tiny(agent, kind):
    """Small networks; tables of Seeker and of isl_tables have none."""
    if (agent, kind) == ("seeker", "table"):
        return {"replay_capacity": 64}
    return LINEAR if agent == "isl_tables" else TINY


def trained(model_class, env, steps, **options):
    model = model_class(env, **options)
    return model.learn(steps, progress_bar=False, n_eval_episodes=0)


@pytest.mark.parametrize(("agent", "space", "kind"), list(pairs()))
def test_every_agent_learns_predicts_and_is_saved_on_every_kind(agent, space, kind, tmp_path):
    options = tiny(agent, kind)
    if kind == "symbols":  # only if asked for
        options = options | {"observations": kind}
    model = trained(MODELS[agent], Sampled(space), 200, **options)
    assert model._observations.kind == kind
    batched, batch = samples(space)
    one, encoded = next(iter(iterate(batched, batch))), model._observations.encode(batch)
    actions, state = model.predict(batch)
    assert (actions.shape, state) == ((8,), None)
    assert model.predict(one)[0] == actions[0]
    assert model.inspect(one)["policy"].sum() == pytest.approx(1, abs=1e-5)
    begun = np.zeros(8, np.bool_)
    _, drawn = model.predict(batch, deterministic=False)
    _, later = model.predict(batch, state=drawn, episode_start=begun, deterministic=False)
    assert all(map(np.array_equal, jax.tree.leaves(drawn), jax.tree.leaves(later)))
    held = model._loop.state()["device"]["obs"]
    assert (held.shape[1:], held.dtype) == (encoded.shape[1:], encoded.dtype)
    model.save(tmp_path / "m.isl")
    loaded = load(tmp_path / "m.isl", env=Sampled(space))
    np.testing.assert_array_equal(loaded.predict(batch)[0], actions)
    meta = checkpoint.unpack(tmp_path / "m.isl", (tmp_path / "m.isl").read_bytes())[1]
    assert loaded._observations.kind == meta.get("observations", spaces.usual(space)) == kind
    assert ("observations" in meta) == (kind != spaces.usual(space))  # of 0.1, which did not say


@pytest.mark.parametrize(
    ("model_class", "space", "stored"),
    [(Seeker, FINITE, gym.Discrete(288)), (DQN, MIXED, gym.Box(-np.inf, np.inf, (9,)))],
    ids=["table", "vector"],
)
def test_the_compiled_loop_reads_nested_observations(model_class, space, stored, tmp_path):
    kind = "table" if isinstance(stored, gym.Discrete) else "vector"
    options = tiny(model_class.agent_name, kind) | {"replay_capacity": 700}  # all steps of a chunk
    model = trained(model_class, CompiledSampled(space), 20, **options)
    assert model._observations.stored == stored
    _, batch = samples(space)
    held = model._loop.state()["seed"]["storage"].obs[:7]  # an episode, but for its end
    np.testing.assert_array_equal(held, model._observations.encode(batch)[:7])
    actions, _ = model.predict(batch)
    model.save(tmp_path / "m.isl")
    loaded = load(tmp_path / "m.isl", env=CompiledSampled(space))
    np.testing.assert_array_equal(loaded.predict(batch)[0], actions)


def simple_spaces():
    sizes = st.integers(1, 3)
    shapes = st.lists(sizes, max_size=4).map(tuple)
    low = st.integers(-3, 3)
    wide = st.sampled_from([np.float32, np.float64, np.int16, np.int64])
    return st.one_of(
        st.builds(gym.Discrete, sizes, start=low),
        st.lists(sizes, min_size=1, max_size=3).map(gym.MultiDiscrete),
        st.lists(sizes, min_size=1, max_size=2).map(gym.MultiBinary),
        st.builds(lambda shape, kind: gym.Box(-1000, 1000, shape, kind), shapes, wide),
        st.builds(lambda shape, low: gym.Box(low, low + 1, shape, np.int32), shapes, low),
        st.lists(sizes, min_size=2, max_size=3).map(lambda s: gym.Box(0, 255, s, np.uint8)),
    )


def any_space():
    return st.recursive(
        simple_spaces(),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=2).map(gym.Tuple),
            st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2).map(gym.Dict),
        ),
        max_leaves=4,
    )


@settings(max_examples=60)
@given(space=any_space())
def test_any_space_is_read_and_described(space):
    reading = spaces.observations(space)
    batched, batch = samples(space)
    each = [reading.encode(obs) for obs in iterate(batched, batch)]
    together = reading.encode(batch)
    np.testing.assert_array_equal(together, np.stack(each))
    assert together.dtype == (np.int32 if reading.kind == "table" else reading.stored.dtype)
    assert together.shape[1:] == reading.stored.shape
    if reading.kind == "table":
        assert together.min() >= 0
        assert together.max() < reading.stored.n
    again = spaces.observations(spaces.from_description(reading.describe()), reading.kind)
    np.testing.assert_array_equal(again.encode(batch), together)
    assert again.describe() == reading.describe()


@settings(max_examples=8)
@given(space=any_space(), agent=st.sampled_from(sorted(set(KINDS) - {"isl_tables"})))
def test_every_agent_can_be_traced_on_any_space(space, agent):
    """All that the host loop compiles, without compiling it, which takes ten times as long."""
    reading, module = spaces.observations(space), agents.load(agent)
    config = module.Config().replace(TINY)
    made = expanded(module.make(config, reading.seen, ACTIONS), reading.expand)
    obs = jax.eval_shape(lambda: dummy_observation(reading.stored))
    program = compile_host(made, obs, ACTIONS, 1, False)
    packed = jax.eval_shape(program.init, streams("", 0))
    state = program.packing.template()
    batch = jax.ShapeDtypeStruct((1, *obs.shape), obs.dtype)
    feedback = jax.ShapeDtypeStruct((4, 1), jnp.float32)
    after, action = jax.eval_shape(partial(program.advance, updates=1), packed, batch, feedback)
    assert (after, action.shape) == (packed, (1,))
    assert jax.eval_shape(program.store, packed, batch, feedback) == packed
    told = jax.eval_shape(made.inspect, state.learner, obs)
    assert told["q"].shape == told["policy"].shape == (ACTIONS,)
    if FULL:
        trained(MODELS[agent], Sampled(space), 200, **tiny(agent, reading.kind))


BSUITE = sorted({name.split("/")[0] for name in bsuite.sweep.SWEEP})
BSUITE = [name for name in BSUITE if not name.startswith("mnist")]  # it would be downloaded


@pytest.mark.parametrize("name", BSUITE)
def test_every_environment_of_bsuite_can_be_read(name):
    env = DmEnvAdapter(bsuite.load_from_id(f"{name}/0"))
    envs = PythonEnvs([env], name, 0)
    assert isinstance(envs.observations.seen, gym.Box)
    envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        outcome = envs.step(rng.integers(envs.actions.number, size=1))
    assert outcome.obs.shape == (1, *envs.observations.stored.shape)


@pytest.mark.parametrize("agent", sorted(set(KINDS) - {"isl_tables"}) if FULL else ["seeker"])
@pytest.mark.parametrize("name", BSUITE if FULL else ["catch"])
def test_agents_learn_on_bsuite(agent, name):
    model = trained(MODELS[agent], bsuite.load_from_id(f"{name}/0"), 60, **TINY)
    assert np.isfinite(model.inspect(model.env.reset()[0])["q"]).all()


def test_a_number_that_is_no_symbol_is_named():
    env = Sampled(gym.Box(0, 255, (2, 2, 1), np.uint8))
    envs = PythonEnvs([env], "grid", 0, None, spaces.observations(env.observation_space, "symbols"))
    with pytest.raises(
        EnvironmentFault, match=r"of grid: observed .* expected symbols from 0 to 15"
    ):
        envs.reset()


def test_a_choice_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match='observations "table" do not fit Box'):
        DQN("CartPole-v1", observations="table")
    with pytest.raises(UsageError, match="unknown kind of observations 'pixels'"):
        DQN("CartPole-v1", observations="pixels")
