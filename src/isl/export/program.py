"""The small language that policies are exported in: steps over arrays, in the order they are taken.

An operation has the name and the meaning of a NumPy function, or one of those below. `-1` in a
shape is the number of observations in the batch.

    cast(x, dtype)
    concatenate(*x, axis)
    pad(x, widths, value)
    slice(x, start, stop, step)
    quotient(x, y)                       of whole numbers, rounded towards 0
    conv(x, kernel, strides, pads)       [N, C, H, W] and [out, C, h, w]
    broadcast(x, observations, shape)    the batch is as long as the observations
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isl.errors import UsageError

ELEMENTWISE = {  # by JAX's name: operations of NumPy on one or two arrays
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "max": "maximum",
    "min": "minimum",
    "pow": "power",
    "neg": "negative",
    "abs": "absolute",
    "sign": "sign",
    "floor": "floor",
    "ceil": "ceil",
    "exp": "exp",
    "log": "log",
    "log1p": "log1p",
    "expm1": "expm1",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "rem": "fmod",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
REDUCTIONS = {
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_or": "any",
    "reduce_and": "all",
}


class NotExportable(UsageError):
    """An operation that the language does not have."""


class Input(NamedTuple):
    """A part of an observation."""

    name: str
    path: tuple[Any, ...]  # the keys that lead to it
    shape: tuple[int, ...]  # of one observation
    dtype: str


class Step(NamedTuple):
    """`output = op(*inputs, *options)`; options are in the order of NumPy's arguments."""

    op: str
    inputs: tuple[str, ...]
    options: dict[str, Any]
    output: str
    shape: tuple[int, ...]
    dtype: str


@dataclass
class Program:
    """A policy: constants, and the steps from observations to the action and beliefs."""

    inputs: list[Input] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)  # "action", "q" …: the name of its array
    left_out: list[str] = field(default_factory=list)  # beliefs that the language cannot say
    about: dict[str, str] = field(default_factory=dict)

    def types(self) -> dict[str, str]:
        """The type of every array, by name."""
        found = {each.name: each.dtype for each in self.inputs}
        found |= {name: str(array.dtype) for name, array in self.constants.items()}
        return found | {step.output: step.dtype for step in self.steps}

    def prune(self) -> None:
        """Leave out what no output is made of."""
        used = set(self.outputs.values())
        for step in reversed(self.steps):
            if step.output in used:
                used.update(step.inputs)
        self.steps = [step for step in self.steps if step.output in used]
        self.constants = {name: x for name, x in self.constants.items() if name in used}


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's rule, where −1 is the length of the batch."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in lengths if n != 1), 1) for lengths in zip(*padded, strict=True))


def product(lengths: Any) -> int:
    """Of some axes together; −1 if the batch is among them."""
    lengths = [int(n) for n in lengths]
    return -1 if -1 in lengths else int(np.prod(lengths, dtype=np.int64))
