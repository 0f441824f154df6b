"""The host loop beside the compiled one, ends of episodes, and what a checkpoint brings back."""

from functools import cache, partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from jax._src import compiler

import isl  # noqa: F401  (registers the tasks)
from isl import envs
from isl.agents import boot_dqn
from isl.agents.base import Agent, Schedule, store_as_is
from isl.training.compiled import compile_training
from isl.training.host.loop import HostLoop
from isl.training.host.packing import SMALL, Packing
from isl.training.python_envs.envs import PythonEnvs
from isl.training.python_envs.vector import VectorEnvs

TINY = {"hidden": (8,), "batch_size": 8, "learning_starts": 12}


class Walk(gymnasium.Env):
    """Observation [episode, time]; terminates after `ends_at` steps or is cut after `cut_at`."""

    observation_space = Box(0, 1000, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, ends_at=99, cut_at=99, noise=False):
        self._ends_at, self._cut_at, self._noise = ends_at, cut_at, noise
        self._episode = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._episode, self._time = self._episode + 1, 0
        self._start = float(self.np_random.integers(100)) if self._noise else 0.0
        return self._obs(), {}

    def step(self, action):
        self._time += 1
        terminated, truncated = self._time == self._ends_at, self._time == self._cut_at
        return self._obs(), float(self._time), terminated, truncated, {}

    def _obs(self):
        first = self._start if self._noise else self._episode
        return np.array([first, self._time], np.float32)


@cache  # the loop compiles once per agent
def drawing_agent(**schedule):
    """Learns nothing, compiles at once: its learner counts updates, its actions are random."""
    zero = jnp.zeros((), jnp.int32)
    plan = {"steps": 1, "updates": 1, "target_period": 2, "learning_starts": 12} | schedule
    return Agent(
        Schedule(**plan, batch_size=2, replay_capacity=100, random_start=False),
        init=lambda key: zero,
        begin_episode=lambda learner, key: jax.random.uniform(key),
        act=lambda learner, episode, obs, key: jax.random.bernoulli(key).astype(jnp.int32),
        exploit=lambda learner, obs: zero,
        observe=store_as_is,
        update=lambda learner, target, batch, key: (
            learner + 1,
            {"loss": jnp.where(learner == 20, jnp.nan, learner.astype(jnp.float32))},
        ),
        target=lambda learner: learner,
        inspect=lambda learner, obs: {},
    )


def drawing_loop(python_envs, **schedule):
    return HostLoop(drawing_agent(**schedule), python_envs, "walk", 0)


def stored(loop):
    """The transitions held, oldest first."""
    storage = loop.state()["device"]["storage"]
    obs, _, reward, discount, next_obs = (x.tolist() for x in storage[:5])
    return list(zip(obs, next_obs, reward, discount, strict=True))


def test_the_host_loop_makes_the_run_that_the_compiled_loop_makes():
    """Same streams, same schedule: BSP draws at every step, stored transition and episode."""
    task = "deep_sea/5"
    env = envs.make(task)
    hyper = {"ensemble": 3, "steps": 2, "updates": 3, "target_period": 4}
    config = boot_dqn.Config().replace(TINY | hyper)
    agent = boot_dqn.make(config, env.observation_space, env.num_actions)
    program = compile_training(env, agent, 24)
    state, first = program.warm_up(program.init([0]))
    state, then, _ = program.chunk(state)
    expected = np.concatenate([first.reward[0], then.reward[0]])

    python_envs = PythonEnvs([gymnasium.make("isl/DeepSea-v0", size=5)], task, 0)
    loop = HostLoop(agent, python_envs, task, 0)
    steps = loop.run(len(expected))
    assert np.array_equal(steps.reward, expected)
    assert loop.updates == int(state.counters.updates)
    for ours, theirs in zip(
        jax.tree.leaves(loop.learner), jax.tree.leaves(state.seeds.learner), strict=True
    ):
        np.testing.assert_allclose(ours, theirs[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("steps", "updates", "learning_starts", "expected"),
    [(1, 1, 12, 8), (2, 3, 12, 12), (4, 1, 30, 0)],
)
def test_updates_follow_the_schedule(steps, updates, learning_starts, expected):
    python_envs = PythonEnvs([Walk(7)], "walk", 0)
    loop = drawing_loop(python_envs, steps=steps, updates=updates, learning_starts=learning_starts)
    loop.run(20)
    assert loop.updates == int(loop.learner) == expected
    # The target is the learner as it was at the last multiple of the period.
    assert int(loop.state()["device"]["target"]) == max(0, (expected - 1) // 2 * 2)


def test_termination_ends_the_future_and_truncation_does_not():
    loop = drawing_loop(PythonEnvs([Walk(ends_at=3, cut_at=99)], "walk", 0))
    loop.run(4)
    assert stored(loop) == [
        ([0, 0], [0, 1], 1, 1),
        ([0, 1], [0, 2], 2, 1),
        ([0, 2], [0, 3], 3, 0),
        ([1, 0], [1, 1], 1, 1),
    ]
    cut = drawing_loop(PythonEnvs([Walk(ends_at=99, cut_at=3)], "walk", 0))
    steps = cut.run(4)
    assert stored(cut)[2] == ([0, 2], [0, 3], 3, 1)  # the true last observation, discount 1
    assert steps.last.tolist() == [False, False, True, False]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("ends", [(3, 99), (99, 3)])
def test_vector_environments_give_the_same_transitions_whichever_way_they_reset(mode, ends):
    """Two environments, of which the second lives longer."""
    makers = [lambda: Walk(*ends), lambda: Walk(*(end + 2 for end in ends))]
    vector = VectorEnvs(SyncVectorEnv(makers, autoreset_mode=mode), "walk", 0)
    plain = PythonEnvs([make() for make in makers], "walk", 0)
    early = []
    for python_envs in (vector, plain):
        loop = drawing_loop(python_envs)
        steps = loop.run(40)
        found = stored(loop)
        assert len(found) == len(steps.reward) == loop.steps
        # Every step leads on from where the one before it in its episode ended.
        assert all(obs[0] == after[0] and after[1] == obs[1] + 1 for obs, after, *_ in found)
        early.append(sorted(t for t in found if t[0][0] < 3))
    assert early[0] == early[1]


def test_asynchronous_environments_run():
    make = partial(gymnasium.make, "CartPole-v1")
    vector = AsyncVectorEnv([make, make], context="spawn")  # JAX does not survive a fork
    try:
        loop = drawing_loop(VectorEnvs(vector, "walk", 0))
        steps = loop.run(20)
        assert sorted(set(steps.env.tolist())) == [0, 1]
        assert loop.steps == len(steps.reward) >= 20
    finally:
        vector.close()


def test_several_environments_are_apart():
    """Each its own seeds and its own actions."""
    loop = drawing_loop(PythonEnvs([Walk(noise=True) for _ in range(3)], "walk", 0))
    loop.run(3)
    starts = [obs[0] for obs, *_ in stored(loop)]
    assert len(set(starts)) == 3


@pytest.mark.parametrize("count", [1, 3])
def test_a_restored_loop_continues_with_the_same_bits(count):
    def fresh():
        made = [gymnasium.make("CartPole-v1") for _ in range(count)]
        return drawing_loop(PythonEnvs(made, "walk", 0))

    whole = fresh()
    whole.run(60)
    first = fresh()
    first.run(30)
    learner, state = jax.device_get(first.learner), first.state()
    second = fresh()
    second.restore(learner, state)
    second.run(30)
    assert second.steps == whole.steps
    whole_leaves, tree = jax.tree.flatten((whole.learner, whole.state()))
    second_leaves, second_tree = jax.tree.flatten((second.learner, second.state()))
    assert tree == second_tree
    assert all(np.array_equal(a, b) for a, b in zip(whole_leaves, second_leaves, strict=True))


def test_an_environment_that_cannot_be_brought_back_begins_a_new_episode():
    """`Walk` counts its episodes, so the same seed gives another observation."""
    loop = drawing_loop(PythonEnvs([Walk(5)], "walk", 0))
    loop.run(7)
    shifted = Walk(5)
    for _ in range(3):
        shifted.reset()
    again = drawing_loop(PythonEnvs([shifted], "walk", 0))
    again.restore(loop.learner, loop.state())
    assert again.steps == 7
    again.run(1)
    obs, next_obs, _, _ = stored(again)[7]
    assert (obs[1], next_obs[1]) == (0, 1)


def test_metrics_are_means_since_they_were_last_read():
    loop = drawing_loop(PythonEnvs([Walk(5)], "walk", 0))
    loop.run(20)
    assert loop.read_metrics() == {"loss": 3.5}  # of updates 0 to 7
    assert loop.read_metrics() == {}
    loop.run(2)
    assert loop.read_metrics() == {"loss": 8.5}
    assert loop.diverged_at() is None
    loop.run(20)  # the twentieth update gives a value that is not finite
    assert loop.diverged_at() == 20


def test_packing_gives_the_tree_back_and_leaves_large_arrays_alone():
    tree = {
        "a": jnp.arange(6.0).reshape(2, 3),
        "b": (jnp.int32(4), jnp.zeros((0,), jnp.float32)),
        "large": jnp.ones(SMALL + 1),
    }
    packing = Packing(tree)
    packed = packing.pack(tree)
    assert [x.shape for x in packed] == [(SMALL + 1,), (6,), (1,)]
    back = packing.unpack(packed)
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, back, tree)))


def test_parts_of_what_is_packed_are_read_and_replaced_without_a_program(monkeypatch):
    tree = {"a": jnp.arange(6.0).reshape(2, 3), "b": jnp.float32(4), "large": jnp.ones(SMALL + 1)}
    packing = Packing(tree)
    packed = packing.pack(tree)
    monkeypatch.setattr(compiler, "compile_or_get_cached", None)  # whoever compiles fails
    a, b = packing.read(packed, lambda t: (t["a"], t["b"]))
    assert (a.shape, b) == ((2, 3), 4.0)
    given = [np.full((2, 3), 7.0), np.zeros(SMALL + 1)]
    changed = packing.replace(packed, lambda t: [t["a"], t["large"]], given)
    given[1][:] = 1.0  # it was copied
    back = packing.read(changed, lambda t: t)
    assert (back["a"] == 7).all()
    assert back["b"] == 4.0
    assert (back["large"] == 0).all()
    assert np.array_equal(packing.read(packed, lambda t: t["a"]), np.asarray(tree["a"]))


def test_the_first_steps_compile_four_programs(monkeypatch):
    """Reading what was learned, its metrics and the whole state needs none."""
    asked = []
    compiled = compiler.compile_or_get_cached
    monkeypatch.setattr(
        compiler,
        "compile_or_get_cached",
        lambda backend, module, *rest, **more: (
            asked.append(module.operation.attributes["sym_name"].value)
            or compiled(backend, module, *rest, **more)
        ),
    )
    agent = drawing_agent()
    agent = agent._replace(schedule=agent.schedule._replace(random_start=True))
    loop = HostLoop(agent, PythonEnvs([Walk(5)], "walk", 0), "walk", 0)
    loop.run(30)
    assert loop.read_metrics() == {"loss": 8.5}
    assert loop.diverged_at() is None
    assert int(loop.learner) == 18
    loop.restore(loop.learner, loop.state())
    assert asked == ["jit_init", "jit_begin", "jit_store", "jit_advance"]


@pytest.mark.parametrize(
    "length", [5, 99]
)  # of episodes: one ends within the random steps, or none
def test_actions_are_random_until_learning_starts_and_then_the_agents(length):
    agent = drawing_agent()
    agent = agent._replace(
        schedule=agent.schedule._replace(random_start=True),
        act=lambda learner, episode, obs, key: jnp.int32(1),
    )
    loop = HostLoop(agent, PythonEnvs([Walk(length)], "walk", 0), "walk", 0)
    loop.run(30)
    actions = loop.state()["device"]["storage"].action.tolist()
    assert set(actions[:12]) == {0, 1}
    assert set(actions[12:]) == {1}
