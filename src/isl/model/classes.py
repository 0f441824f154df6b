"""One class per agent: `Seeker("CartPole-v1")`, `ISL("deep_sea/20")` …"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isl.model.file import read_model
from isl.model.loading import loaded
from isl.model.model import Model


class Seeker(Model):
    """ISL's policy and objective for environments that nobody tuned."""

    agent_name = "seeker"


class ISL(Model):
    """The paper's Information Seeking Learner."""

    agent_name = "isl"


class ISLTables(Model):
    """ISL with plain tables, for Discrete observations."""

    agent_name = "isl_tables"


class ISLAuthors(Model):
    """ISL with what the authors' public code adds."""

    agent_name = "isl_authors"


class BootDQN(Model):
    """Bootstrapped DQN with randomised priors."""

    agent_name = "boot_dqn"


class UBE(Model):
    """The Uncertainty Bellman Equation."""

    agent_name = "ube"


class SBEED(Model):
    """SBEED: the smoothed Bellman equation as a saddle point."""

    agent_name = "sbeed"


class DQN(Model):
    """DQN with ε-greedy actions: the control without deep exploration."""

    agent_name = "dqn"


class StableDQN(Model):
    """DQN with the value learning of Seeker."""

    agent_name = "stable_dqn"


def load(path: str | Path, env: Any = None, torso: Any = None, num_envs: int = 1) -> Model:
    """The model in a file, of whichever agent; the arguments are those of `Model.load`."""
    return loaded(read_model(Path(path)), Model, env, torso, num_envs)
