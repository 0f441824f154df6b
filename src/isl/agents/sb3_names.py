"""Stable-Baselines3's options by their names here: one table, for messages alone.

An option may have several names here, of which an agent has some or none. Of an agent that has none
the answer says what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple


class Here(NamedTuple):
    """What an option is called here."""

    names: tuple[str, ...] = ()
    differs: str = ""  # from what it means there
    instead: str = ""  # for agents that have none of the names


_REPLAY = "it is for learning from rollouts; the agents here learn from a replay"
_DITHER = "this agent does not explore by a falling share of random actions"
NETWORK = (
    'the observations decide the network; hidden=(64, 64) sets layers, torso="mlp", "cnn" or a '
    "flax module what reads the observations"
)

SB3 = {
    "policy": Here(instead=NETWORK),
    "policy_kwargs": Here(
        ("hidden",), 'the units of each layer; torso="mlp", "cnn" or a flax module is a choice too'
    ),
    "net_arch": Here(("hidden",), "the units of each layer"),
    "learning_rate": Here(
        ("lr", "lr_q", "lr_v", "lr_pi", "lr_u", "lr_rho", "lr_ell", "lr_codes"),
        'a number, a function of what remains of the training, or "linear:5e-4"',
    ),
    "buffer_size": Here(("replay_capacity",)),
    "train_freq": Here(("steps",), "environment steps between updates"),
    "gradient_steps": Here(("updates",), "after every `steps` environment steps"),
    "target_update_interval": Here(("target_period",), "counted in updates"),
    "tau": Here(instead="targets are copied whole, every target_period updates"),
    "exploration_fraction": Here(("epsilon_steps",), "counted in environment steps", _DITHER),
    "exploration_initial_eps": Here(("epsilon_start", "epsilon"), instead=_DITHER),
    "exploration_final_eps": Here(("epsilon_end", "epsilon"), instead=_DITHER),
    "ent_coef": Here(
        ("kappa",), "the weight of exploration in units of the rewards", "this agent has none"
    ),
    "max_grad_norm": Here(instead="gradients are not clipped"),
    "n_steps": Here(instead=_REPLAY),
    "n_epochs": Here(instead=_REPLAY),
    "gae_lambda": Here(instead=_REPLAY),
    "clip_range": Here(instead=_REPLAY),
    "vf_coef": Here(instead=_REPLAY),
    "use_sde": Here(instead="it is for continuous actions"),
    "action_noise": Here(instead="it is for continuous actions"),
    "n_envs": Here(
        instead="models take num_envs=…, given the environment's name or a function that makes it"
    ),
    "device": Here(
        instead="JAX chooses the device; JAX_PLATFORMS=cpu in the environment changes it"
    ),
    "verbose": Here(
        instead="commands show their progress by themselves; in Python models take verbose=1"
    ),
    "tensorboard_log": Here(instead="it is an argument of learn"),
    "stats_window_size": Here(instead="means are over the last 100 episodes"),
    "replay_buffer_class": Here(instead="there is one replay; replay_capacity sets its size"),
    "replay_buffer_kwargs": Here(instead="there is one replay; replay_capacity sets its size"),
    "optimize_memory_usage": Here(instead="there is one replay; replay_capacity sets its size"),
    "monitor_wrapper": Here(instead="returns are recorded without one: model.episodes"),
}


def answer(
    name: str, known: Collection[str], spelled: Callable[[str], str] = lambda name: name
) -> str | None:
    """What to use instead of an option of Stable-Baselines3; None if it has no such option.

    Args:
        name: the unknown option, spelled as in Python.
        known: the options that there are, spelled likewise.
        spelled: how the user spells options: with dashes on the command line.
    """
    here = SB3.get(name)
    if here is None:
        return None
    names = [spelled(ours) for ours in here.names if ours in known]
    if not names:
        return f"leave it out: {here.instead}"
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return f"here it is {listed}" + (f", {here.differs}" if here.differs else "")


def is_policy(given: object) -> bool:
    """Whether the first argument of a model is what comes first there: `MlpPolicy` and the like."""
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    return name.endswith("Policy")
