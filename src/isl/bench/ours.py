"""Our agents as contestants: the compiled loop, and one update of ISL with its replay sample."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl.agents.base import Agent
from isl.bench.limit import adam, isl_products, products
from isl.bench.timing import Contestant
from isl.envs.base import Environment
from isl.experiments.spec import resolve
from isl.training import replay, rng
from isl.training.compiled import compile_training


def build(task: str, agent: str, overrides: dict[str, Any]) -> tuple[Environment, Agent, Any]:
    """The environment, the agent and its config, with the task's preset."""
    spec = resolve(task, agent, overrides)
    env, config = spec.environment(), spec.config()
    return env, spec.make_agent(env.observation_space, env.num_actions), config


def training_loop(
    task: str, agent: str, updates: int = 400, seeds: int = 1, **overrides: Any
) -> Contestant:
    """The whole compiled loop; a unit of work is an update of one seed."""
    env, made, _ = build(task, agent, overrides)
    program = compile_training(env, made, updates)
    state, _ = program.warm_up(program.init(list(range(seeds))))
    held = [state]

    def run() -> None:
        held[0], *_ = jax.block_until_ready(program.chunk(held[0]))

    run()
    units = program.updates_per_chunk * seeds
    steps = program.steps_per_chunk * seeds / units
    return Contestant(f"{agent} {task}", units, run, {"steps": steps})


def isl_update(task: str, updates: int = 400, **overrides: Any) -> Contestant:
    """ISL's updates alone, each with its batch from the replay; targets renewed as in training."""
    env, made, config = build(task, "isl", overrides)
    program = compile_training(env, made, updates)
    state, _ = program.warm_up(program.init([0]))
    seed = jax.tree.map(lambda x: x[0], state.seeds)
    period = config.target_period

    def one_period(number: jax.Array, learner: Any) -> Any:
        frozen = made.target(learner)

        def one_update(i: jax.Array, learner: Any) -> Any:
            key = rng.at(seed.streams["learn"], number * period + i)
            batch = replay.sample(seed.storage, key, jnp.int32(512), config.batch_size)
            return made.update(learner, frozen, batch, key)[0]

        return jax.lax.fori_loop(0, period, one_update, learner)

    periods = max(1, updates // period)
    loop = jax.jit(
        lambda learner: jax.lax.fori_loop(0, periods, one_period, learner), donate_argnums=0
    )
    held = [jax.tree.map(jnp.copy, seed.learner)]

    def run() -> None:
        held[0] = jax.block_until_ready(loop(held[0]))

    run()
    return Contestant(f"isl update {task}", periods * period, run)


def isl_limit(task: str, repeats: int = 400, **overrides: Any) -> tuple[Contestant, Contestant]:
    """The products of that update, and Adam's pass over as many parameters."""
    env, made, config = build(task, "isl", overrides)
    space = env.observation_space
    inputs = None if isinstance(space, Discrete) else int(jnp.prod(jnp.array(space.shape)))
    shapes = isl_products(config.batch_size, env.num_actions, config.hidden, inputs)
    learner = jax.eval_shape(made.init, jax.random.key(0))
    trained = [(part.params, part.rows.first if part.rows else ()) for part in learner]
    parameters = sum(leaf.size for leaf in jax.tree.leaves(trained))
    return (
        products(f"limit: products {task}", shapes, repeats),
        adam(f"limit: Adam {task}", parameters, repeats),
    )
