"""Sweeps as data: agents × tasks × sizes × values of hyper-parameters × seeds → jobs."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isl import agents, envs
from isl.agents import config
from isl.errors import UsageError
from isl.experiments.executing.plan import Job
from isl.experiments.spec import resolve

Grid = Mapping[str, Sequence[Any]]  # hyper-parameter → the values it takes

# What a file may say; everything but the grid is an option of the same name.
_FILE_KEYS: dict[str, type] = {
    "tasks": list,
    "agents": list,
    "sizes": list,
    "seeds": int,
    "first_seed": int,
    "episodes": int,
    "timesteps": int,
    "observations": str,
    "until_solved": bool,
    "mapping_seed": int,
    "cohort_width": int,
    "eval_every": int,
    "eval_episodes": int,
    "no_eval": bool,
    "grid": dict,
}


def cohorts(seeds: Sequence[int], width: int) -> list[tuple[int, ...]]:
    """The seeds in groups of the cohort's width."""
    return [tuple(seeds[i : i + width]) for i in range(0, len(seeds), width)]


def jobs_of(
    tasks: Sequence[str],
    agent_names: Sequence[str],
    grid: Grid,
    seeds: Sequence[int],
    **budget: Any,
) -> list[Job]:
    """Every combination once, in a fixed order. An agent varies the hyper-parameters it has."""
    options = {name: _hyper_parameters(name) for name in agent_names}
    for name in grid:
        if not any(name in known for known in options.values()):
            everything = {k: option for known in options.values() for k, option in known.items()}
            hint, whose = config.hint(name, everything), ", ".join(agent_names)
            raise UsageError(f"--grid: {whose} has no hyper-parameter {name!r}; {hint}")
    found: dict[str, list[Job]] = {}
    for task, agent in itertools.product(tasks, agent_names):
        varied = [name for name in grid if name in options[agent]]
        for values in itertools.product(*(grid[name] for name in varied)):
            spec = resolve(task, agent, dict(zip(varied, values, strict=True)), **budget)
            group = [Job(spec, some) for some in cohorts(seeds, spec.cohort_width)]
            found.setdefault(group[0].program, group)  # 1 and 1.0 are the same run
    return [job for group in found.values() for job in group]


def _hyper_parameters(agent: str) -> dict[str, dataclasses.Field[Any]]:
    return {option.name: option for option in dataclasses.fields(agents.load(agent).Config)}


def tasks_of(names: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """`deep_sea` with sizes 10, 20 → `deep_sea/10`, `deep_sea/20`; a task with a size stays."""
    found = []
    for name in names:
        family = envs.TASKS.get(name)
        if family is not None and not family.number:  # a single task
            found.append(name)
            continue
        if family is not None and not sizes:
            number = family.number
            raise UsageError(f"{name} needs a {number}: {family.example}, or --sizes with several")
        if family is None and sizes and "/" in name:
            raise UsageError(f"{name} has a number already: leave out --sizes or the number")
        found += [f"{name}/{size}" for size in sizes] if family is not None else [name]
    return list(dict.fromkeys(found))


def parse_grid(words: Sequence[str]) -> dict[str, list[Any]]:
    """`kappa=1,13` → {"kappa": [1, 13]}; true, false and 50x50 (layers) are values too."""
    grid: dict[str, list[Any]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        name = name.replace("-", "_")
        if not equals or not name or not values:
            raise UsageError(f"--grid takes NAME=VALUE,VALUE…, e.g. kappa=1,13; got {word!r}")
        if name in grid:
            raise UsageError(f"--grid names {name} twice: give all its values at once")
        grid[name] = [_value(name, text) for text in values.split(",")]
    return grid


def _value(name: str, text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if "x" in text:
        return [_value(name, part) for part in text.split("x")]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise UsageError(f"--grid {name}: expected numbers, true, false or 50x50, got {text!r}")


def read_file(path: Path) -> dict[str, Any]:
    """A sweep written down in TOML, its keys checked; a value of the grid may be alone."""
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UsageError(f"cannot read the sweep {path}: {reason}") from None
    if isinstance(content.get("task"), str):
        content["tasks"] = [content.pop("task")]
    for key, value in content.items():
        wanted = _FILE_KEYS.get(key)
        if wanted is None:
            close = difflib.get_close_matches(key, _FILE_KEYS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(_FILE_KEYS)}"
            raise UsageError(f"{path}: unknown key {key!r}; {hint}")
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            kind = {list: "a list", dict: "a table", bool: "true or false", str: "a name"}.get(
                wanted, "a whole number"
            )
            raise UsageError(f"{path}: {key} must be {kind}, got {value!r}")
    members: dict[str, type] = {"tasks": str, "agents": str, "sizes": int}
    for key, member in members.items():
        wrong = [value for value in content.get(key, []) if type(value) is not member]
        if wrong or content.get(key) == []:
            name = "names" if member is str else "whole numbers"
            raise UsageError(f"{path}: {key} must be a list of {name}, got {content[key]!r}")
    if "tasks" not in content:
        raise UsageError(f'{path}: says no task; expected a line such as task = "deep_sea"')
    grid = content.get("grid", {})
    return content | {"grid": {name: _values(name, value) for name, value in grid.items()}}


def _values(name: str, value: Any) -> list[Any]:
    """A list of values. Layers are lists themselves: [50, 50] is one value, [[50, 50]] a list."""
    layers = name in {
        option.name
        for option in dataclasses.fields(config.Config)
        if isinstance(option.default, tuple)
    }
    if not isinstance(value, list) or (layers and not any(isinstance(v, list) for v in value)):
        return [value]
    return value
