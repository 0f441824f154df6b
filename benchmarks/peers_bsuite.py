"""Our BSP beside bsuite's own JAX `boot_dqn`: environment steps per second, and their ratio.

    python benchmarks/peers_bsuite.py --task deep_sea/20 --steps 400

Both run in this process, on one core, in turns: the same ensemble, batch, hidden layers, learning
rate, masks, prior scale, replay capacity and target period, one update per environment step.
Compilation and warm-up are left out. Needs the extras `test` and `peers` (bsuite, dm-haiku,
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
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from isl import envs
from isl.agents import boot_dqn
from isl.training.compiled import compile_training


def ours(task: str, config: boot_dqn.Config, steps: int) -> Callable[[], None]:
    """A function that runs `steps` more steps of the compiled loop."""
    env = envs.make(task)
    agent = boot_dqn.make(config, env.observation_space, env.num_actions)
    program = compile_training(env, agent, steps)
    assert program.steps_per_chunk == steps
    state, _ = program.warm_up(program.init([0]))

    def run() -> None:
        nonlocal state
        state, *_ = jax.block_until_ready(program.chunk(state))

    run()  # compiles
    return run


def theirs(task: str, config: boot_dqn.Config, steps: int) -> Callable[[], None]:
    """A function that runs `steps` more steps of bsuite's agent, in its loop, on its task."""
    import haiku as hk
    import optax
    from bsuite.baselines.jax.boot_dqn import BootstrappedDqn

    env = _bsuite_task(task)
    actions = env.action_spec().num_values

    def network(inputs: jax.Array) -> Any:
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

    def run(count: int = steps) -> None:
        nonlocal timestep
        for _ in range(count):
            if timestep.last():
                timestep = env.reset()
            action = agent.select_action(timestep)
            after = env.step(action)
            agent.update(timestep, action, after)
            timestep = after

    run(config.learning_starts + 20)  # fills the replay, then compiles the update
    return run


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
    parser.add_argument(
        "--steps", type=int, default=200, help="bsuite's steps per repeat; ours: ×10"
    )
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    config = boot_dqn.Config()
    contestants = {
        "isl boot_dqn": (10 * args.steps, ours(args.task, config, 10 * args.steps)),
        "bsuite boot_dqn": (args.steps, theirs(args.task, config, args.steps)),
    }
    clocks = {"wall": time.perf_counter, "CPU": time.process_time}
    speeds: dict[str, dict[str, list[float]]] = {
        name: {clock: [] for clock in clocks} for name in contestants
    }
    for _ in range(args.repeats):  # in turns, so that a busy machine slows both
        for name, (steps, run) in contestants.items():
            start = {clock: read() for clock, read in clocks.items()}
            run()
            for clock, read in clocks.items():
                speeds[name][clock].append(steps / (read() - start[clock]))
    print(f"task {args.task}, {config.ensemble} members, batch {config.batch_size}, one core")
    for clock in clocks:  # they differ if other programs use the core: then believe the CPU's
        fast, slow = (np.array(by_clock[clock]) for by_clock in speeds.values())
        for name, values in zip(speeds, (fast, slow), strict=True):
            spread = f"lowest {values.min():.1f}, highest {values.max():.1f}"
            print(f"{name:16s} {np.median(values):8.1f} env steps per {clock} second  ({spread})")
        print(f"ratio            {np.median(fast / slow):8.1f}  by {clock} time")


if __name__ == "__main__":
    main()
