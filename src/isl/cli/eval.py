"""`isl eval MODEL|RUN|RUNS`: greedy episodes on fixed seeds, and the mean with its interval."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium

from isl.cli import options as shared
from isl.errors import DamagedFile, UsageError
from isl.model import load
from isl.model.evaluation import Evaluation, Predictor, evaluate, playable
from isl.model.from_run import trained
from isl.status import ExitCode, Status
from isl.storage import run_folder, store


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument(
        "target",
        type=Path,
        help="a file of model.save(), the folder of a run of isl train, or a folder of runs",
    )
    parser.add_argument(
        "--best", action="store_true", help="of a run: the policy of its best evaluation"
    )
    parser.add_argument(
        "--env",
        metavar="ID",
        help="Gymnasium id, module:Name or task; runs and models of compiled tasks know their own",
    )
    parser.add_argument(
        "--episodes", type=shared.whole_number, default=20, metavar="N", help="seeds 0 to N-1"
    )
    parser.add_argument(
        "--max-steps",
        type=shared.whole_number,
        metavar="M",
        help="end an episode after M steps; default: the environment's own limit, else 10,000",
    )
    parser.add_argument("--video", type=Path, metavar="DIR", help="film every episode into DIR")


def run(options: argparse.Namespace) -> ExitCode:
    target: Path = options.target
    if target.is_dir() and run_folder.SEED_FOLDER.fullmatch(target.absolute().name) is None:
        return _every_run(options)
    if target.is_dir():
        policy = trained(target, options.best, options.env)
        print(summary(_played(policy, policy.env, options), bool(options.max_steps)))
        return ExitCode.OK
    if options.best:
        raise UsageError("--best is for runs: a model file holds one policy")
    model = load(target)
    env = options.env or model.env
    if env is None:  # never made from a name in a file: such a name can import a module
        named = model.task in gymnasium.registry
        trained_on = f"--env {model.task}" if named else f"one called {model.task}"
        hint = "" if named else " (--env takes an id, or module:Name of a class or function)"
        raise UsageError(f"give the environment; the model was trained on {trained_on}{hint}")
    print(summary(_played(model, env, options), bool(options.max_steps)))
    return ExitCode.OK


def _every_run(options: argparse.Namespace) -> ExitCode:
    """A line for each finished run of a folder."""
    if options.video:
        raise UsageError("--video films one run: give its folder, such as …/seed-0")
    runs = list(store.scan(options.target))
    finished = [found for found in runs if found.summary is not None]
    if not finished:
        raise UsageError(f"{options.target} holds no finished run of isl train or isl sweep")
    problems = [found.problem for found in runs if found.status is Status.DAMAGED]
    for found in finished:
        name = f"{found.task} {found.agent} [{found.config_hash}] seed {found.seed}"
        try:
            policy = trained(found.path, options.best, options.env)
            print(f"{name}: {_first_line(_played(policy, policy.env, options))}", flush=True)
        except (UsageError, DamagedFile) as error:
            problems.append(str(error))
    for problem in problems:
        print(problem, file=sys.stderr)
    return ExitCode.FAILED if problems else ExitCode.OK


def _played(policy: Predictor, env: Any, options: argparse.Namespace) -> Evaluation:
    played = playable(env, render_mode="rgb_array" if options.video else None)
    if options.video:
        played = _filmed(played, options.video)
    try:
        return evaluate(policy, played, options.episodes, options.max_steps)
    except gymnasium.error.DependencyNotInstalled as error:  # of an environment that draws itself
        raise UsageError(f"--video: {' '.join(str(error).split())}") from None
    finally:
        with warnings.catch_warnings(action="ignore"):  # a film without pictures, after an error
            played.close()


def summary(result: Evaluation, limited: bool) -> str:
    """Two or three lines."""
    lines = [
        _first_line(result),
        f"mean length {sum(result.lengths) / len(result.lengths):.4g} steps, "
        f"returns from {min(result.returns):.4g} to {max(result.returns):.4g}",
    ]
    if result.cut and limited:  # without --max-steps `evaluate` has warned
        lines.append(f"{result.cut} episodes were ended by --max-steps")
    return "\n".join(lines)


def _first_line(result: Evaluation) -> str:
    low, high = result.interval
    return (
        f"mean return {result.mean:.4g}, 95 % confidence interval [{low:.4g}, {high:.4g}], "
        f"{len(result.returns)} episodes"
    )


def _filmed(env: gymnasium.Env[Any, Any], folder: Path) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.wrappers.RecordVideo(
            env, str(folder), episode_trigger=lambda _: True, disable_logger=True
        )
    except gymnasium.error.DependencyNotInstalled:
        raise UsageError("--video needs moviepy: pip install 'isl[video]'") from None
    except (ValueError, gymnasium.error.Error) as error:
        raise UsageError(f"--video: {' '.join(str(error).split())}") from None
