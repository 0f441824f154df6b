"""The user's object: `Model` and one class per agent, with a Stable-Baselines3-style API."""

from isl.model.model import DQN, ISL, MODELS, SBEED, UBE, BootDQN, Model, load

__all__ = ["DQN", "ISL", "MODELS", "SBEED", "UBE", "BootDQN", "Model", "load"]
