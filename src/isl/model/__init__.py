"""The user's object: `Model` and one class per agent, with a Stable-Baselines3-style API."""

from isl.model.classes import DQN, ISL, SBEED, UBE, BootDQN, Seeker, StableDQN, load
from isl.model.loading import MODELS
from isl.model.model import Model

__all__ = [
    "DQN",
    "ISL",
    "MODELS",
    "SBEED",
    "UBE",
    "BootDQN",
    "Model",
    "Seeker",
    "StableDQN",
    "load",
]
