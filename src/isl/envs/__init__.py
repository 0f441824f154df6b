"""The tasks: compiled ones by name (`make("deep_sea/20")`), Gymnasium twins, adapters, spaces."""

from isl.envs.families import Fact, TaskFamily
from isl.envs.registry import (
    PACKAGES,
    TASKS,
    examples,
    family_of,
    has_goal,
    is_compiled_task,
    make,
    number_of,
    parameters_of,
)

__all__ = [
    "PACKAGES",
    "TASKS",
    "Fact",
    "TaskFamily",
    "examples",
    "family_of",
    "has_goal",
    "is_compiled_task",
    "make",
    "number_of",
    "parameters_of",
]
