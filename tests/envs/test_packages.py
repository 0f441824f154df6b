"""Environments of other packages in the compiled loop, each beside the package's own step."""

import importlib.util
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl import agents, envs
from isl.errors import UsageError
from isl.experiments.spec import resolve
from isl.training.compiled import compile_training

# What the packages themselves are warned of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")
EXAMPLES = [family.example for family in envs.PACKAGES.values()]


def needs(package):
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None,
        reason=f"needs the extra {package}: pip install 'isl[{package}]'",
    )


@pytest.fixture(autouse=True)
def their_broadcasting():
    """The packages broadcast as NumPy does, which our tests forbid elsewhere."""
    with jax.numpy_rank_promotion("allow"):
        yield


EACH = [pytest.param(name, marks=needs(name.partition(":")[0])) for name in EXAMPLES]


@partial(jax.jit, static_argnums=0)
def walk(task, key, actions):
    """Steps of one episode, over its end."""
    state, first = task.reset(key)

    def body(state, action):
        timestep = task.step(state, action, key)
        return timestep.state, timestep._replace(state=0)

    return first, jax.lax.scan(body, state, actions)[1]


@pytest.mark.parametrize("name", EACH)
def test_a_package_makes_a_compiled_task(name):
    assert envs.is_compiled_task(name)
    task = envs.make(name)
    assert task.name == name
    key = jax.random.key(0)
    actions = jax.random.randint(key, (50,), 0, task.num_actions)
    first, steps = walk(task, key, actions)
    space = task.observation_space
    assert space.contains(np.asarray(first))
    assert all(space.contains(obs) for obs in np.asarray(steps.obs))
    assert steps.reward.dtype == steps.discount.dtype == jnp.float32
    assert (np.asarray(steps.discount) == 1).all() or np.asarray(steps.last).any()


@pytest.mark.parametrize("name", EACH)
def test_an_agent_learns_on_it_in_the_compiled_loop(name):
    hyper = {"hidden": (8,), "replay_capacity": 64, "learning_starts": 32, "batch_size": 8}
    spec = resolve(name, "dqn", hyper, episodes=2)
    task = spec.environment()
    agent = agents.load("dqn").make(spec.config(), task.observation_space, task.num_actions)
    program = compile_training(task, agent, chunk_updates=8)
    state, _ = program.warm_up(program.init([0, 1]))  # two seeds: resets under vmap
    state, records, metrics = program.chunk(state)
    assert np.isfinite(np.asarray(records.reward)).all()
    assert all(np.isfinite(np.asarray(value)).all() for value in metrics.values())


@needs("gymnax")
def test_gymnaxs_limit_is_a_truncation_and_its_steps_are_its_own():
    import gymnax

    env, params = gymnax.make("MountainCar-v0")
    task = envs.make("gymnax:MountainCar-v0")
    limit = params.max_steps_in_episode
    assert task.max_episode_steps == limit
    key = jax.random.key(1)
    actions = jax.random.randint(key, (limit,), 0, 3)
    first, ours = walk(task, key, actions)
    obs, state = env.reset_env(key, params)
    np.testing.assert_array_equal(first, obs)
    step = jax.jit(env.step_env)
    for t, action in enumerate(actions):
        obs, state, reward, *_ = step(key, state, action, params)
        np.testing.assert_allclose(ours.obs[t], obs, rtol=0, atol=1e-6)
        assert float(ours.reward[t]) == float(reward)
    assert np.flatnonzero(ours.last).tolist() == [limit - 1]
    assert (np.asarray(ours.discount) == 1).all()


@needs("craftax")
def test_craftaxs_limit_is_understood():
    task = envs.make("craftax:Craftax-Classic-Symbolic-v1")
    assert task.max_episode_steps == task.params.max_timesteps == 10_000
    state, _ = task.reset(jax.random.key(0))
    late = state._replace(
        inner=state.inner.replace(timestep=jnp.int32(10_000)), steps=jnp.int32(9_999)
    )
    ts = jax.jit(task.step)(late, jnp.int32(0), jax.random.key(0))
    assert (bool(ts.last), float(ts.discount)) == (True, 1.0)
    dying = state._replace(inner=state.inner.replace(player_health=jnp.int32(0)))
    ts = jax.jit(task.step)(dying, jnp.int32(0), jax.random.key(0))
    assert (bool(ts.last), float(ts.discount)) == (True, 0.0)


@needs("navix")
def test_navixs_ends_are_told_apart():
    task = envs.make("navix:Navix-Empty-5x5-v0")
    _, idle = walk(task, jax.random.key(0), jnp.full(100, 6))
    assert np.flatnonzero(idle.last).tolist() == [99]
    assert (np.asarray(idle.discount) == 1).all()
    actions = jax.random.randint(jax.random.key(0), (100,), 0, 3)
    ends = [walk(task, jax.random.key(k), jnp.roll(actions, k))[1] for k in range(20)]
    found = [np.asarray(e.reward) > 0 for e in ends]
    assert any(f.any() for f in found), "no walk reached the goal"
    for end, reached in zip(ends, found, strict=True):
        np.testing.assert_array_equal(np.asarray(end.discount)[reached], 0)


@needs("xminigrid")
def test_xminigrids_steps_are_its_own():
    import xminigrid

    env, params = xminigrid.make("MiniGrid-DoorKey-5x5")
    task = envs.make("xminigrid:MiniGrid-DoorKey-5x5")
    assert task.max_episode_steps == params.max_steps
    key = jax.random.key(2)
    actions = jax.random.randint(key, (params.max_steps,), 0, task.num_actions)
    _, ours = walk(task, key, actions)
    timestep, step = env.reset(params, key), jax.jit(env.step)
    for t, action in enumerate(actions):
        timestep = step(params, timestep, action)
        np.testing.assert_array_equal(ours.obs[t], timestep.observation)
        assert float(ours.reward[t]) == pytest.approx(float(timestep.reward), abs=1e-6)
        assert bool(ours.last[t]) == bool(timestep.last())
        assert float(ours.discount[t]) == float(timestep.discount)
        if timestep.last():
            break


@pytest.mark.parametrize("name", EACH)
def test_an_unknown_name_is_answered_with_the_nearest(name):
    with pytest.raises(UsageError, match=f"did you mean {name}?"):
        envs.make(name[:-1])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_missing_package_is_named_with_its_extra(name, monkeypatch):
    package = name.partition(":")[0]
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, f"{package}.{package}_env", None)
    with pytest.raises(UsageError, match=rf"pip install 'isl\[{package}\]'"):
        envs.make(name)
