"""Hyper-parameters: frozen dataclasses whose fields carry their own check and help text.

One definition serves the library, the preset files, the command line and the run's hash. Options
called `lr` or `lr_…` are learning rates: a number, or the text of a schedule (isl.nn.rates).
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from gymnasium.spaces import Space

from isl.agents import sb3_names
from isl.agents.aliases import MOVED
from isl.errors import UsageError, closest
from isl.nn import rates


def hyper(
    default: Any,
    help: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    basic: bool = False,
    later: bool = False,
) -> Any:
    """A dataclass field with its documentation and its bounds.

    Args:
        default: its value where neither a preset nor the user gives one.
        help: what it is, for `isl list` and `--help`.
        above: bounds that a number must respect; so `at_least` and `at_most`.
        basic: shown first; an agent has at most eight such options, the others are "advanced".
        later: added after runs were recorded; left out of their hashes while at its default.
    """
    told = {"help": help, "basic": basic, "later": later}
    bounds = {"above": above, "at_least": at_least, "at_most": at_most}
    return field(default=default, metadata={**told, **bounds})


@dataclass(frozen=True)
class Config:
    """Base of every agent's `Config`: the fields that the loop needs, checked on construction."""

    gamma: float = hyper(0.99, "discount factor γ", at_least=0, at_most=1, basic=True)
    hidden: tuple[int, ...] = hyper((50, 50), "units of each hidden layer", at_least=1, basic=True)
    batch_size: int = hyper(128, "transitions per update", at_least=1)
    replay_capacity: int = hyper(
        100_000, "transitions the replay buffer holds", at_least=1, basic=True
    )
    learning_starts: int = hyper(128, "transitions stored before the first update", at_least=1)
    steps: int = hyper(1, "environment steps T between updates", at_least=1, basic=True)
    updates: int = hyper(1, "updates I after every T environment steps", at_least=1)
    target_period: int = hyper(4, "updates between two copies to the targets", at_least=1)

    def __post_init__(self) -> None:
        types = types_of(type(self))
        for option in dataclasses.fields(self):
            checked = _checked(option, getattr(self, option.name), types)
            object.__setattr__(self, option.name, checked)

    normalises: ClassVar[bool] = False  # whether the agent normalises vectors by itself

    recognises: ClassVar[bool] = False  # whether it keeps a table of observations that come back

    def unused(self, space: Space[Any]) -> Mapping[str, str]:
        """The options that have no effect on such observations, each with the reason."""
        return {}

    def check_given(self, names: Iterable[str], space: Space[Any], usual: Config) -> None:
        """Refuse options that a user changed from their `usual` values and that have no effect."""
        unused = self.unused(space)
        for name in names:
            if name in unused and getattr(self, name) != getattr(usual, name):
                raise UsageError(f"{name} has no effect here: {unused[name]}; leave it out")

    def replace(self, overrides: Mapping[str, Any]) -> Self:
        """This config with some fields changed; an unknown name is an error, with a suggestion."""
        known = {option.name: option for option in dataclasses.fields(self)}
        for name in overrides:
            if name not in known:
                raise UsageError(f"unknown hyper-parameter {name!r}; {hint(name, known)}")
        return dataclasses.replace(self, **overrides)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, in the order of definition; a later field only if it was changed."""
        values = {option.name: getattr(self, option.name) for option in self._told()}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    def _told(self) -> list[dataclasses.Field[Any]]:
        return [
            option
            for option in dataclasses.fields(self)
            if not (option.metadata.get("later") and getattr(self, option.name) == option.default)
        ]


def hint(name: str, known: Mapping[str, dataclasses.Field[Any]]) -> str:
    """What the user of an unknown option may have meant, of the `known` ones by name."""
    if name in MOVED:
        return f"it is an option of the agent {MOVED[name]}"
    if told := sb3_names.answer(name, known):
        return told
    if close := closest(name, known):
        return f"did you mean {close}?"
    basic = [name for name, option in known.items() if option.metadata["basic"]]
    return f"basic options: {', '.join(basic)} (all: isl list AGENT)"


def types_of(config: type[Config]) -> dict[str, Any]:
    """The resolved type of every field."""
    return typing.get_type_hints(config)


def _checked(option: dataclasses.Field[Any], value: Any, types: dict[str, Any]) -> Any:
    name, wanted = option.name, types[option.name]
    if rates.is_rate(name) and (callable(value) or isinstance(value, str)):
        text = rates.from_function(value, name) if callable(value) else value
        rates.parse(text, name)
        return text
    if wanted is bool:
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be true or false, got {value!r}")
        return value
    if wanted == tuple[int, ...]:
        if not isinstance(value, list | tuple) or not value:
            raise UsageError(f"{name} must be a list of whole numbers, got {value!r}")
        return tuple(int(_checked_number(option, int, item)) for item in value)
    return _checked_number(option, wanted, value)


def _checked_number(
    option: dataclasses.Field[Any], wanted: type[int] | type[float], value: Any
) -> float | int:
    name, bounds = option.name, option.metadata
    kind = "a whole number" if wanted is int else "a number"
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} must be {kind}, got {value!r}")
    if wanted is int and not whole:
        raise UsageError(f"{name} must be {kind}, got {value!r}")
    above, low, high = bounds["above"], bounds["at_least"], bounds["at_most"]
    if above is not None and not value > above:
        raise UsageError(f"{name} must be > {above:g}, got {value:g}")
    if low is not None and not value >= low:
        raise UsageError(f"{name} must be >= {low:g}, got {value:g}")
    if high is not None and not value <= high:
        raise UsageError(f"{name} must be <= {high:g}, got {value:g}")
    return wanted(value)
