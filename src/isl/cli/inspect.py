"""`isl inspect RUN|MODEL`: what an agent believes, and why it moves, as one HTML file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from isl.errors import UsageError
from isl.report import inspection_page
from isl.report.beliefs import NAMES, Item, grid_size, of_run, pack
from isl.report.page import utf8
from isl.status import ExitCode
from isl.storage import files, run_folder, snapshots, store

MOST_STATES = 10_000  # of a Discrete observation space, all of which are shown

Beliefs = dict[str, NDArray[Any]]


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("target", type=Path, help="a run's folder, or a file of model.save()")
    parser.add_argument(
        "--obs",
        action="append",
        metavar="JSON",
        help="an observation, such as 3 or '[0.1, -0.2]'; may be given several times",
    )
    parser.add_argument(
        "--env", metavar="ID", help="the environment of a run, if its name holds a module"
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("inspect.html"), help="the page")


def run(options: argparse.Namespace) -> ExitCode:
    target: Path = options.target
    given = [_parsed(text) for text in options.obs or []]
    if target.is_dir():
        item = _of_run(target, given, options.env)
    elif target.is_file():
        item = _item(_model(target), given)
    else:
        raise UsageError(f"{target} is neither a run's folder nor a model file")
    page = inspection_page("Inside the agent", item["title"], [item])
    files.write_bytes(options.out, utf8(page))
    print(f"picture: {options.out}")
    return ExitCode.OK


class _Mind(NamedTuple):
    """An agent whose beliefs can be asked for."""

    title: str
    space: Space[Any]
    kappa: float | None
    inspect: Callable[[Any], Beliefs]  # of one observation, or of a batch of Discrete ones
    task: Any = None  # the compiled task it was trained on, if it was


def _of_run(path: Path, given: list[Any], env_id: str | None) -> Item:
    if run_folder.SEED_FOLDER.fullmatch(path.absolute().name) is None:
        raise UsageError(f"{path} is not a run: expected its folder, such as …/seed-0")
    found = store.read_run(path)
    if found.summary is None:
        raise UsageError(f"{path} is {found.status}; expected a finished run {found.problem}")
    maps = None if given else snapshots.recorded(path)
    if maps is not None:
        episodes = run_folder.read_episodes(path)
        return of_run(found, maps, title=_title(found), episodes=episodes)
    return _item(_trained(found, env_id), given)


def _title(found: store.Run) -> str:
    return f"{found.task}, {found.agent}, seed {found.seed}"


def _trained(found: store.Run, env_id: str | None) -> _Mind:
    """The agent at the end of a run."""
    from isl.model.from_run import trained

    last = trained(found.path, env=env_id)
    task = last.env if hasattr(last.env, "default_episodes") else None
    kappa = found.config["hyper"].get("kappa")
    return _Mind(f"{_title(found)}, at the end", last.observation_space, kappa, last.inspect, task)


def _model(path: Path) -> _Mind:
    from isl.model import load

    model = load(path)
    task = model.env if hasattr(model.env, "default_episodes") else None
    kappa = getattr(model.config, "kappa", None)
    title = f"{path.name}: {model.agent_name} on {model.task}, {model.num_timesteps:,} steps"
    return _Mind(title, model.observation_space, kappa, model.inspect, task)


def _item(mind: _Mind, given: list[Any]) -> Item:
    """Of the observations given, or of all there are."""
    space, size = mind.space, None
    constant: Beliefs = {}
    if given:
        labels = [json.dumps(obs)[:200] for obs in given]
        beliefs = _stacked([_asked(mind, obs) for obs in given])
    elif isinstance(space, Discrete) and space.n <= MOST_STATES:
        numbers = np.arange(space.n) + space.start
        labels = [f"observation {number}" for number in numbers]
        beliefs = mind.inspect(numbers)
        if mind.task is not None and (size := grid_size(mind.task.name)) is not None:
            constant["right"] = mind.task.right_actions.ravel()
    else:
        raise UsageError(f"which observation? give one of {space} with --obs '[…]'")
    maps = {name: np.asarray(values)[None] for name, values in beliefs.items() if name in NAMES}
    if "visits" in maps and maps["visits"].ndim == 3:  # Seeker counts them per action
        maps["visits"] = maps["visits"].sum(-1)
    once = {"episode": np.zeros(1, np.int64)}
    return pack(mind.title, maps | once | constant, kappa=mind.kappa, size=size, labels=labels)


def _asked(mind: _Mind, obs: Any) -> Beliefs:
    try:
        value = np.asarray(obs, mind.space.dtype) if isinstance(obs, int | float | list) else obs
        if isinstance(mind.space, Box):
            known = isinstance(value, np.ndarray) and mind.space.contains(value)
        else:
            known = mind.space.contains(value[()] if isinstance(value, np.ndarray) else value)
    except (ValueError, TypeError, OverflowError):  # of numbers that no array can hold
        known = False
    if not known:
        raise UsageError(f"--obs {json.dumps(obs)[:80]} is not in the model's space {mind.space}")
    return mind.inspect(value)


def _stacked(beliefs: list[Beliefs]) -> Beliefs:
    return {name: np.stack([each[name] for each in beliefs]) for name in beliefs[0]}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(
            f"--obs takes a number or a JSON list such as '[0.1, -0.2]', got {text!r}"
        ) from None
