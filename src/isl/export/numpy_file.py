"""A program as an `.npz` file, which NumPy alone can run (the reader is in docs/export.md)."""

from __future__ import annotations

import io
import json

import numpy as np

from isl.export.program import Program

FORMAT = 1


def npz(program: Program) -> bytes:
    """The file: the constants by name, and "program", JSON as bytes."""
    told = {
        "format": FORMAT,
        "about": program.about,
        "inputs": [[each.name, each.path, each.shape, each.dtype] for each in program.inputs],
        "steps": [
            [step.op, step.inputs, list(step.options.values()), step.output]
            for step in program.steps
        ],
        "outputs": program.outputs,
    }
    text = np.frombuffer(json.dumps(told).encode(), np.uint8)
    held = io.BytesIO()
    np.savez_compressed(held, program=text, **program.constants)  # type: ignore[arg-type]
    return held.getvalue()
