"""`isl eval MODEL`: greedy episodes on fixed seeds, and the mean with its confidence interval."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium

from isl.cli import options as shared
from isl.errors import UsageError
from isl.model import load
from isl.model.evaluation import Evaluation, evaluate, playable
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("model", type=Path, help="a file written by model.save()")
    parser.add_argument(
        "--env",
        metavar="ID",
        help="Gymnasium id or task; only a compiled task's model knows its own",
    )
    parser.add_argument(
        "--episodes", type=shared.whole_number, default=20, metavar="N", help="seeds 0 to N-1"
    )
    parser.add_argument(
        "--max-steps",
        type=shared.whole_number,
        metavar="M",
        help="end an episode after M steps, for environments that do not",
    )
    parser.add_argument("--video", type=Path, metavar="DIR", help="film every episode into DIR")


def run(options: argparse.Namespace) -> ExitCode:
    model = load(options.model)
    env = options.env or model.env
    if env is None:  # never made from a name in a file: such a name can import a module
        raise UsageError(f"give the environment; the model was trained on --env {model.task}")
    played = playable(env, render_mode="rgb_array" if options.video else None)
    if options.video:
        played = _filmed(played, options.video)
    try:
        result = evaluate(model, played, options.episodes, options.max_steps)
    finally:
        played.close()
    print(summary(result))
    return ExitCode.OK


def summary(result: Evaluation) -> str:
    """Two or three lines."""
    low, high = result.interval
    lines = [
        f"mean return {result.mean:.4g}, 95 % confidence interval [{low:.4g}, {high:.4g}], "
        f"{len(result.returns)} episodes",
        f"mean length {sum(result.lengths) / len(result.lengths):.4g} steps, "
        f"returns from {min(result.returns):.4g} to {max(result.returns):.4g}",
    ]
    if result.cut:
        lines.append(f"{result.cut} episodes were ended by --max-steps")
    return "\n".join(lines)


def _filmed(env: gymnasium.Env[Any, Any], folder: Path) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.wrappers.RecordVideo(
            env, str(folder), episode_trigger=lambda _: True, disable_logger=True
        )
    except gymnasium.error.DependencyNotInstalled:
        raise UsageError("--video needs moviepy: pip install 'isl[video]'") from None
    except (ValueError, gymnasium.error.Error) as error:
        raise UsageError(f"--video: {' '.join(str(error).split())}") from None
