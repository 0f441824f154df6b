"""Policies for places without JAX: an ONNX model, or a file for NumPy alone (docs/export.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isl.agents.base import Agent
from isl.envs import spaces
from isl.errors import UsageError
from isl.export.numpy_file import npz
from isl.export.onnx_file import onnx_model
from isl.export.policy import program_of
from isl.storage import files
from isl.version import __version__

__all__ = ["export_policy"]

WRITERS = {".onnx": onnx_model, ".npz": npz}


def export_policy(
    path: Path,
    agent: Agent,
    learner: Any,
    observations: spaces.Observations,
    actions: spaces.Actions,
    about: dict[str, str],
) -> list[str]:
    """Write the greedy policy and the agent's beliefs; returns the beliefs that were left out.

    Args:
        path: ends in .onnx or .npz, which decides what is written.
        agent: whose policy it is.
        learner: what it learned.
        observations: how the environment's are read.
        actions: the environment's.
        about: what the file says of itself, beside the version.
    """
    write = WRITERS.get(path.suffix)
    if write is None:
        raise UsageError(f"cannot export to {path}: expected a name that ends in .onnx or .npz")
    program = program_of(agent, learner, observations, actions)
    program.about = {"isl": __version__, **about}
    files.make_folder(path.parent)
    files.write_bytes(path, write(program))
    return program.left_out
