"""Attributes that Stable-Baselines3's models have under another name: for messages alone."""

from __future__ import annotations

from typing import Any

HERE = {
    "policy": "model.inspect(obs) says what it believes, model.get_parameters() what was learned",
    "q_net": "model.inspect(obs) says what it believes, model.get_parameters() what was learned",
    "replay_buffer": "it is model.replay",
    "save_replay_buffer": "model.save holds the replay",
    "load_replay_buffer": "model.save holds the replay",
    "get_vec_normalize_env": "models normalise by themselves: normalize=True",
    "ep_info_buffer": "the latest (return, length) of episodes are model.episodes.recent",
    "learning_rate": "it is model.config.lr, of most agents",
    "n_envs": "it is model.episodes.width",
    "set_logger": "learn(tensorboard_log=…) writes a log, callbacks have self.logger",
    "set_random_seed": "the seed is an argument of the model",
}


def missing(model: object, name: str) -> Any:
    """For `__getattr__`: what to use instead."""
    owner = type(model).__name__
    hint = f"; here {HERE[name]}" if name in HERE else ""
    raise AttributeError(f"{owner!r} object has no attribute {name!r}{hint}", name=name, obj=model)
