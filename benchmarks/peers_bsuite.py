"""Our BSP beside bsuite's own JAX `boot_dqn`: environment steps per second, and their ratio.

    python benchmarks/peers_bsuite.py --task deep_sea/20 --steps 400

Both run in this process, on one core, one after the other: the same ensemble, batch, hidden layers,
learning rate, masks, prior scale, replay capacity and target period, one update per environment
step. Compilation and warm-up are left out. Needs the extras `test` and `peers` (bsuite, dm-haiku,
rlax).
"""

from __future__ import annotations

import os

# One core and one XLA thread; must be set before JAX starts.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import argparse
import time
from typing import Any

import jax
import numpy as np

from isl import envs
from isl.agents import boot_dqn
from isl.training.compiled import compile_training

REPEATS = 3


def ours(task: str, config: boot_dqn.Config, steps: int) -> list[float]:
    """Steps per second of the compiled loop, one figure per repeat."""
    env = envs.make(task)
    agent = boot_dqn.make(config, env.observation_space, env.num_actions)
    program = compile_training(env, agent, steps)
    state, _ = program.warm_up(program.init([0]))
    state, *_ = jax.block_until_ready(program.chunk(state))
    speeds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        state, *_ = jax.block_until_ready(program.chunk(state))
        speeds.append(program.steps_per_chunk / (time.perf_counter() - start))
    return speeds


def theirs(task: str, config: boot_dqn.Config, steps: int) -> list[float]:
    """Steps per second of bsuite's agent in bsuite's loop, on bsuite's task."""
    import haiku as hk
    import optax
    from bsuite.baselines.jax.boot_dqn import BootstrappedDqn

    env = _bsuite_task(task)
    actions = env.action_spec().num_values

    def network(inputs: jax.Array) -> jax.Array:
        flat = hk.Flatten()(inputs)
        prior = hk.nets.MLP([*config.hidden, actions])(flat)
        trained = hk.nets.MLP([*config.hidden, actions])(flat)
        return trained + config.prior_scale * jax.lax.stop_gradient(prior)

    agent = BootstrappedDqn(
        obs_spec=env.observation_spec(),
        action_spec=env.action_spec(),
        network=network,
        num_ensemble=config.ensemble,
        batch_size=config.batch_size,
        discount=config.gamma,
        replay_capacity=config.replay_capacity,
        min_replay_size=config.learning_starts,
        sgd_period=1,
        target_update_period=config.target_period,
        optimizer=optax.adam(config.lr),
        mask_prob=config.mask_probability,
        noise_scale=0.0,
    )
    timestep = env.reset()

    def run(count: int) -> None:
        nonlocal timestep
        for _ in range(count):
            if timestep.last():
                timestep = env.reset()
            action = agent.select_action(timestep)
            after = env.step(action)
            agent.update(timestep, action, after)
            timestep = after

    run(config.learning_starts + 20)  # fills the replay, then compiles the update
    speeds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run(steps)
        speeds.append(steps / (time.perf_counter() - start))
    return speeds


def _bsuite_task(task: str) -> Any:
    from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup
    from bsuite.experiments.deep_sea.deep_sea import load as load_deep_sea

    family, number = task.split("/")
    if family == "cartpole_swingup":
        return CartpoleSwingup(
            height_threshold=int(number) / 20, x_reward_threshold=1 - int(number) / 20
        )
    return load_deep_sea(size=int(number), deterministic=family == "deep_sea", mapping_seed=42)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="deep_sea/20")
    parser.add_argument("--steps", type=int, default=200, help="bsuite's steps per repeat")
    args = parser.parse_args()
    config = boot_dqn.Config()
    fast = ours(args.task, config, 10 * args.steps)
    slow = theirs(args.task, config, args.steps)
    print(f"task {args.task}, {config.ensemble} members, batch {config.batch_size}, one core")
    for name, speeds in (("isl boot_dqn", fast), ("bsuite boot_dqn", slow)):
        low, middle, high = np.quantile(speeds, [0.0, 0.5, 1.0])
        print(f"{name:16s} {middle:8.1f} env steps/s  (lowest {low:.1f}, highest {high:.1f})")
    print(f"ratio of medians {np.median(fast) / np.median(slow):8.1f}")


if __name__ == "__main__":
    main()
