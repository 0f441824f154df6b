"""The compiled loop, driven with an agent that only counts: order, targets, streams, cohorts."""

import re
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl import agents, envs
from isl.training.compiled import NEVER, compile_training
from isl.training.compiled_loop import CompiledLoop, Programs
from tests.support import counting_agent


@lru_cache
def compiled(task, chunk_updates, hyper):
    env = envs.make(task)
    config = counting_agent.Config(**dict(hyper))
    agent = counting_agent.make(config, env.observation_space, env.num_actions)
    return compile_training(env, agent, chunk_updates)


def train(task, chunks, chunk_updates, seeds=(0,), **hyper):
    program = compiled(task, chunk_updates, tuple(hyper.items()))
    state, steps = program.warm_up(program.init(list(seeds)))
    records = [steps]
    for _ in range(chunks):
        state, steps, _ = program.chunk(state)
        records.append(steps)
    joined = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *map(jax.device_get, records))
    return program, jax.device_get(state), joined


@pytest.mark.parametrize(
    ("steps", "updates", "period"), [(1, 1, 1), (2, 1, 2), (1, 3, 4), (3, 2, 5)]
)
def test_order_of_steps_updates_and_target_copies(steps, updates, period):
    program, state, _ = train(
        "deep_sea/3", 2, 10, steps=steps, updates=updates, target_period=period
    )
    n = min(2 * program.updates_per_chunk, counting_agent.LOG)
    learner = jax.tree.map(lambda x: x[0], state.seeds.learner)
    for update in range(n):
        assert learner.targets[update] == update // period * period  # copied every `period`
        assert learner.steps[update] == 6 + (update // updates + 1) * steps  # T steps, I updates
    assert state.counters.updates == 2 * program.updates_per_chunk
    assert state.counters.steps == 6 + 2 * program.steps_per_chunk
    assert learner.observed == state.counters.steps


def test_replay_holds_the_latest_transitions_in_order():
    _, state, records = train("deep_sea/3", 3, 10, steps=2)
    numbers = np.asarray(state.seeds.storage.number[0])
    total = int(state.counters.steps)
    assert sorted(numbers) == list(range(total - 32, total))
    stored = state.seeds.storage.transition
    order = np.argsort(numbers)
    np.testing.assert_array_equal(stored.reward[0][order], records.reward[0][-32:])
    np.testing.assert_array_equal(stored.obs[0][order], records.cell[0][-32:])
    np.testing.assert_array_equal(stored.discount[0][order], 1.0 - records.last[0][-32:])


def test_what_is_stored_is_what_the_task_does():
    env = envs.make("deep_sea/4")
    _, state, _ = train("deep_sea/4", 3, 10)  # more transitions than the replay holds
    stored = jax.tree.map(lambda x: x[0], state.seeds.storage.transition)
    for i in range(32):
        row, column = divmod(int(stored.obs[i]), 4)
        here = type(jax.tree.map(lambda x: x[0], state.seeds.env))(
            jnp.int32(row), jnp.int32(column)
        )
        ts = env.step(here, stored.action[i], jax.random.key(0))
        assert (ts.obs, ts.reward, ts.discount) == (
            stored.next_obs[i],
            stored.reward[i],
            stored.discount[i],
        )


def test_results_do_not_depend_on_the_chunks():
    _, one, records_one = train("deep_sea_stochastic/4", 1, 40, steps=2, target_period=4)
    _, four, records_four = train("deep_sea_stochastic/4", 4, 10, steps=2, target_period=4)
    # 10 updates are rounded up to 12: whole target periods.
    n = records_one.reward.shape[1]
    assert records_four.reward.shape[1] > n
    np.testing.assert_array_equal(records_one.reward, records_four.reward[:, :n])
    np.testing.assert_array_equal(
        one.seeds.learner.rewards[0][:40], four.seeds.learner.rewards[0][:40]
    )


def test_a_cohort_is_its_seeds():
    _, together, records = train("deep_sea_stochastic/4", 2, 10, seeds=(3, 0, 7), steps=2)
    for position, seed in enumerate((3, 0, 7)):
        _, alone, record = train("deep_sea_stochastic/4", 2, 10, seeds=(seed,), steps=2)
        np.testing.assert_array_equal(records.reward[position], record.reward[0])
        np.testing.assert_array_equal(
            together.seeds.learner.rewards[position], alone.seeds.learner.rewards[0]
        )


def test_seeds_differ_and_repeat():
    first, again, other = (
        train("deep_sea_stochastic/4", 1, 10, seeds=(seed,), steps=2)[2].reward
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_agents_face_the_same_environment_stream():
    """Starting states of Cartpole by episode: the same under agents that act differently."""
    env = envs.make("cartpole_swingup/0")
    starts = []
    for name, hyper in (
        ("tests.support.counting_agent", {}),
        ("dqn", {"hidden": [4], "batch_size": 2}),
    ):
        module = agents.load(name)
        config = module.Config().replace(hyper)
        agent = module.make(config, env.observation_space, env.num_actions)
        starts.append(compile_training(env, agent, 10).init([5]).seeds.obs)
    np.testing.assert_array_equal(*starts)


def test_a_value_that_is_not_finite_is_noticed_at_its_update():
    _, state, _ = train("deep_sea/3", 2, 10, diverge_at=13)
    assert state.seeds.diverged_at[0] == 13
    _, state, _ = train("deep_sea/3", 2, 10, diverge_at=1_000)
    assert state.seeds.diverged_at[0] == NEVER


def test_a_learner_that_is_not_finite_has_diverged_though_its_metrics_are():
    """Looked at after each chunk, for each seed of a cohort by itself."""
    env = envs.make("deep_sea/3")
    agent = counting_agent.make(counting_agent.Config(), env.observation_space, env.num_actions)

    def update(learner, target, batch, key):
        after, metrics = agent.update(learner, target, batch, key)
        lost = (learner.updates == 998) & (jax.random.uniform(key) < 0.5)  # of some seeds only
        return after._replace(rewards=jnp.where(lost, jnp.inf, after.rewards)), metrics

    loop = CompiledLoop(Programs(env, agent._replace(update=update), 6), range(6))
    for expected in ({None}, {None}, {None, 999}):  # the random start, updates 0–499, 500–999
        loop.chunk(0)
        assert {loop.diverged_at(seed) for seed in range(6)} == expected
    lost = [not np.isfinite(loop.learner_of(seed).rewards).all() for seed in range(6)]
    assert lost == [loop.diverged_at(seed) is not None for seed in range(6)]


def test_a_cohort_continues_with_the_same_bits_in_any_company():
    """Seeds saved one by one, restored into a wider cohort; metrics are means since the last."""
    env = envs.make("deep_sea_stochastic/4")
    agent = counting_agent.make(counting_agent.Config(), env.observation_space, env.num_actions)
    whole = CompiledLoop(Programs(env, agent, 2), [3, 5])
    first = CompiledLoop(Programs(env, agent, 3), [5, 3])
    for _ in range(2):
        whole.chunk(0)
        first.chunk(0)
    assert first.read_metrics(1) == {"metric": 0.0}
    assert first.read_metrics(1) == {}
    saved = [(jax.device_get(first.learner_of(i)), first.state(i)) for i in (1, 0)]
    again = CompiledLoop(Programs(env, agent, 3), [3, 5])
    again.restore_all(saved)
    assert (again.steps, again.updates) == (whole.steps, whole.updates)
    for ours, theirs in zip(again.chunk(0), whole.chunk(0), strict=True):
        np.testing.assert_array_equal(ours.reward, theirs.reward)
    for seed in (0, 1):
        a, b = (jax.tree.leaves((x.learner_of(seed), x.state(seed))) for x in (again, whole))
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def copies_in_loops(text, size):
    """Copies of arrays of so many rows in the bodies of loops of a compiled program's text."""
    blocks = text.split("\n\n")
    bodies = {name for line in text.split("\n") for name in re.findall(r"body=%?([\w.\-]+)", line)}
    assert bodies, "the dump names no loop"
    found = [b for b in blocks if b.lstrip("%").split(" ")[0] in bodies]
    assert len(found) == len(bodies), "a loop's body is not in the dump"
    lines = [line for block in found for line in block.split("\n")]
    assert any(f"[{size}" in line for line in lines), "the buffer is in no loop"
    return [x for x in lines if re.search(rf"\[{size}[\],].* copy\(", x)]


def test_nothing_large_is_copied_per_step():
    """The replay buffer is written in place: no copy of its shape inside the compiled loops."""
    env = envs.make("deep_sea/3")
    config = counting_agent.Config(replay_capacity=77_777)
    agent = counting_agent.make(config, env.observation_space, env.num_actions)
    program = compile_training(env, agent, 100)
    text = program.chunk.lower(program.shapes(1)).compile().as_text()
    copies = copies_in_loops(text, 77_777)
    assert not copies, copies[:3]


def test_a_copy_in_a_loop_is_seen():
    """Two buffers that change places cannot both be written in place."""

    def swap(i, buffers):
        one, two = buffers
        return two, one.at[i].set(two[i] + 1)

    start = (jnp.zeros(77_777), jnp.ones(77_777))
    swapped = jax.jit(lambda n, x: jax.lax.fori_loop(0, n, swap, x))
    assert copies_in_loops(swapped.lower(9, start).compile().as_text(), 77_777)
