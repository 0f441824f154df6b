"""Other projects' agents as contestants, where they are installed. A unit of work is an env step.

Each gets our DQN's or BSP's batch, widths and one update per environment step, and runs in its own
loop as its users run it. They come with the extra `peers`; a missing one is named in the table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from isl.analysis.bsuite import fixed
from isl.bench.timing import Contestant
from isl.envs.registry import number_of
from isl.model.evaluation import playable

HIDDEN = (50, 50)
CAPACITY = 100_000
WARM_UP = 200  # env steps before timing: replay filled, update compiled


def bsuite_task(task: str) -> Any:
    """bsuite's own version of one of our tasks."""
    from bsuite import bsuite

    _, known = fixed(task)
    index = known.numbers.index(number_of(task) or 0)
    return bsuite.load_from_id(f"{task.partition('/')[0]}/{index}")


def _bsuite_loop(name: str, task: str, agent: Any, env: Any, steps: int) -> Contestant:
    held = [env.reset()]

    def run(count: int = steps) -> None:
        timestep = held[0]
        for _ in range(count):
            if timestep.last():
                timestep = env.reset()
            action = agent.select_action(timestep)
            after = env.step(action)
            agent.update(timestep, action, after)
            timestep = after
        held[0] = timestep

    run(WARM_UP)
    return Contestant(f"{name} {task}", steps, run, {"steps": 1.0})


def _bsuite_options(env: Any) -> dict[str, Any]:
    """What both of bsuite's agents are told."""
    import optax

    return {
        "obs_spec": env.observation_spec(),
        "action_spec": env.action_spec(),
        "batch_size": 128,
        "discount": 0.99,
        "replay_capacity": CAPACITY,
        "min_replay_size": 128,
        "sgd_period": 1,
        "target_update_period": 4,
        "optimizer": optax.adam(5e-4),
    }


def bsuite_boot_dqn(task: str, steps: int) -> Contestant:
    """bsuite's JAX bootstrapped DQN: 20 members with priors, as ours."""
    import haiku as hk
    import jax
    from bsuite.baselines.jax.boot_dqn import BootstrappedDqn

    env = bsuite_task(task)
    actions = env.action_spec().num_values

    def network(inputs: Any) -> Any:
        flat = hk.Flatten()(inputs)
        prior = hk.nets.MLP([*HIDDEN, actions])(flat)
        return hk.nets.MLP([*HIDDEN, actions])(flat) + 3.0 * jax.lax.stop_gradient(prior)

    agent = BootstrappedDqn(
        network=network,
        num_ensemble=20,
        **_bsuite_options(env),
        mask_prob=0.5,
        noise_scale=0.0,
    )
    return _bsuite_loop("bsuite boot_dqn", task, agent, env, steps)


def bsuite_dqn(task: str, steps: int) -> Contestant:
    """bsuite's JAX DQN."""
    import haiku as hk
    from bsuite.baselines.jax.dqn import DQN

    env = bsuite_task(task)
    actions = env.action_spec().num_values

    def network(inputs: Any) -> Any:
        return hk.nets.MLP([*HIDDEN, actions])(hk.Flatten()(inputs))

    agent = DQN(
        network=network,
        **_bsuite_options(env),
        epsilon=0.05,
        rng=hk.PRNGSequence(0),
    )
    return _bsuite_loop("bsuite dqn", task, agent, env, steps)


def sb3_like_dqn(module: str, env: Any, policy: str = "MlpPolicy", **options: Any) -> Any:
    """The DQN of Stable-Baselines3 or of SBX, on one thread, learning after every step."""
    import torch

    torch.set_num_threads(1)
    return importlib.import_module(module).DQN(
        policy, env, train_freq=1, device="cpu", seed=0, verbose=0, **options
    )


def _sb3_like(module: str, name: str, task: str, steps: int) -> Contestant:
    import gymnasium

    env = playable(task)  # our Gymnasium twin
    if isinstance(env.observation_space, gymnasium.spaces.Discrete):
        env = gymnasium.wrappers.FlattenObservation(env)  # one-hot
    model = sb3_like_dqn(
        module,
        env,
        learning_rate=5e-4,
        buffer_size=CAPACITY,
        learning_starts=128,
        batch_size=128,
        gamma=0.99,
        gradient_steps=1,
        target_update_interval=4,
        policy_kwargs={"net_arch": list(HIDDEN)},
    )
    model.learn(WARM_UP)

    def run() -> None:
        model.learn(steps, reset_num_timesteps=False)

    return Contestant(f"{name} {task}", steps, run, {"steps": 1.0})


def sb3_dqn(task: str, steps: int) -> Contestant:
    """Stable-Baselines3's DQN (PyTorch)."""
    return _sb3_like("stable_baselines3", "SB3 dqn", task, steps)


def sbx_dqn(task: str, steps: int) -> Contestant:
    """SBX's DQN (Stable-Baselines3 on JAX)."""
    return _sb3_like("sbx", "SBX dqn", task, steps)


def rejax_dqn(task: str, steps: int) -> Contestant:
    """rejax's DQN, compiled as ours is, on gymnax's Deep Sea."""
    import jax
    from gymnax.environments.bsuite.deep_sea import DeepSea
    from rejax import get_algo

    family, size = task.split("/")
    if family != "deep_sea":
        raise LookupError(f"gymnax has no {family}")
    env = DeepSea(size=int(size))
    algorithm = get_algo("dqn").create(
        env=env,
        env_params=env.default_params,
        total_timesteps=CAPACITY,
        eval_freq=CAPACITY,
        num_envs=1,
        buffer_size=CAPACITY,
        fill_buffer=128,
        batch_size=128,
        learning_rate=5e-4,
        gamma=0.99,
        target_update_freq=4,
        num_epochs=1,
        eps_start=0.05,
        eps_end=0.05,
        exploration_fraction=1.0,
        max_grad_norm=10.0,
        ddqn=False,
        agent_kwargs={"activation": "relu"},  # rejax fixes the widths at 64, 64
    )
    loop = jax.jit(
        lambda state: jax.lax.fori_loop(0, steps, lambda _, s: algorithm.train_iteration(s), state)
    )
    held = [algorithm.init_state(jax.random.key(0))]

    def run() -> None:
        held[0] = jax.block_until_ready(loop(held[0]))

    while int(held[0].global_step) < WARM_UP:
        run()
    return Contestant(f"rejax dqn {task}", steps, run, {"steps": 1.0})


PEERS: dict[str, Callable[[str, int], Contestant]] = {
    "bsuite boot_dqn": bsuite_boot_dqn,
    "bsuite dqn": bsuite_dqn,
    "SB3 dqn": sb3_dqn,
    "SBX dqn": sbx_dqn,
    "rejax dqn": rejax_dqn,
}


def available(task: str, steps: int) -> tuple[list[Contestant], dict[str, str]]:
    """The peers that run here, and why the others do not."""
    found, missing = [], {}
    for name, make in PEERS.items():
        try:
            found.append(make(task, steps))
        except Exception as error:  # another project's code: whatever it raises is its reason
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            missing[f"{name} {task}"] = reason
    return found, missing
