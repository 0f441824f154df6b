"""What is searched: a range for each basic option of an agent.

Numbers without an upper bound are searched on a logarithmic scale around their usual value. A share
close to 1, such as γ, is searched by its distance to 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gymnasium.spaces import Space

from isl.agents.config import Config, hint, types_of
from isl.errors import UsageError
from isl.experiments.sweep import parse_grid

FACTOR, WHOLE_FACTOR = 10, 4  # around the usual value, down and up
CLOSE_TO_1 = 0.9
DECADE = 10  # from such a ratio on, a range that the user gives is logarithmic


class Range(NamedTuple):
    """The values of one hyper-parameter: from low to high, or one of some choices."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    from_1: bool = False  # what is searched is 1 − value
    choices: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        """What is searched, by name."""
        return f"1-{self.name}" if self.from_1 else self.name

    def value(self, drawn: Any) -> Any:
        """The hyper-parameter for what was drawn."""
        if self.choices:
            return next(choice for choice in self.choices if written(choice) == drawn)
        return 1 - drawn if self.from_1 else drawn

    def drawn(self, value: Any) -> Any:
        """The inverse of `value`; None if the range does not hold it."""
        if self.choices:
            return written(value) if value in self.choices else None
        place = 1 - value if self.from_1 else value
        return place if self.low <= place <= self.high else None


def written(choice: Any) -> Any:
    """A choice as Optuna keeps it: layers are text."""
    return "x".join(map(str, choice)) if isinstance(choice, tuple | list) else choice


def search_space(
    config: Config, space: Space[Any], fixed: Mapping[str, Any], asked: Sequence[str]
) -> list[Range]:
    """What is searched around a config.

    Args:
        config: the usual values.
        space: what the agent sees; options that have no effect on it are left out.
        fixed: hyper-parameters that the user gave: they are not searched.
        asked: ranges that the user gave, NAME=LOW:HIGH or NAME=X,Y.
    """
    options = {option.name: option for option in dataclasses.fields(config)}
    types, unused = types_of(type(config)), config.unused(space)
    given = {found.name: found for word in asked for found in [parse_range(word, options, types)]}
    for name in given:
        if name in fixed:
            raise UsageError(f"{name} is given both in --search and as --{name.replace('_', '-')}")
        if name in unused:
            raise UsageError(f"--search: {name} has no effect here: {unused[name]}; leave it out")
    basic = [name for name, option in options.items() if option.metadata["basic"]]
    usual = [
        _around(options[name], types[name], getattr(config, name))
        for name in basic
        if name not in fixed and name not in unused and name not in given
    ]
    return sorted([*usual, *given.values()])


def _around(option: dataclasses.Field[Any], kind: Any, usual: Any) -> Range:
    name, bounds = option.name, option.metadata
    if kind is bool:
        return Range(name, choices=(False, True))
    if kind == tuple[int, ...]:
        half, double = (tuple(max(1, int(n * x)) for n in usual) for x in (0.5, 2))
        return Range(name, choices=tuple(dict.fromkeys((half, usual, double))))
    most = bounds["at_most"]
    if most == 1 and CLOSE_TO_1 <= usual < 1:
        return Range(name, (1 - usual) / FACTOR, min((1 - usual) * FACTOR, 0.5), True, from_1=True)
    if most is not None:
        least = bounds["at_least"] if bounds["at_least"] is not None else most / 1000
        return Range(name, least, most, whole=kind is int)
    factor = WHOLE_FACTOR if kind is int else FACTOR
    low = max(usual / factor, bounds["at_least"] or 0)
    return _numbers(name, low, max(usual, 1 if kind is int else usual) * factor, kind)


def _numbers(name: str, low: float, high: float, kind: Any, log: bool = True) -> Range:
    if kind is int:
        return Range(name, int(max(low, 1) if log else low), int(high), log, whole=True)
    return Range(name, float(low), float(high), log and low > 0)


def parse_range(
    word: str, options: Mapping[str, dataclasses.Field[Any]], types: Mapping[str, Any]
) -> Range:
    """`lr=1e-4:1e-2`, or choices as `--grid` takes them."""
    name, _, values = word.partition("=")
    name = name.replace("-", "_")
    if name not in options:
        raise UsageError(f"--search: no hyper-parameter {name!r}; {hint(name, options)}")
    if ":" not in values:
        (choices,) = parse_grid([word]).values()
        kept = tuple(tuple(x) if isinstance(x, list) else x for x in choices)
        return Range(name, choices=kept)
    try:
        low, high = (float(text) for text in values.split(":"))
    except ValueError:
        low = high = 0.0
    if not low < high or types[name] not in (int, float):
        raise UsageError(
            f"--search takes NAME=LOW:HIGH or NAME=X,Y, e.g. lr=1e-4:1e-2; got {word!r}"
        )
    return _numbers(name, low, high, types[name], log=low > 0 and high / low >= DECADE)
