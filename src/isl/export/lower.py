"""From a graph of JAX's operations to a program (isl.export.program).

An array that is broadcast stays small while operations go element by element: NumPy and ONNX
broadcast by themselves. Whatever else reads it gets it in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isl.export import lower_arrays
from isl.export.graph import Value
from isl.export.program import (
    ELEMENTWISE,
    REDUCTIONS,
    NotExportable,
    Program,
    Step,
    broadcast_shapes,
)

MOST_FACTORS = 8  # of a whole power that is multiplied out


class Lowered:
    """An array of the program: its name, and its shape there, of which axes may still be 1."""

    def __init__(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self.name, self.shape, self.dtype = name, shape, np.dtype(dtype)


class Lowering:
    """Adds the steps that values take to a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._lowered: dict[Value, Lowered] = {}

    def input(self, value: Value, name: str) -> None:
        """An input, in the type that the agent reads."""
        given = Lowered(name, value.shape, value.dtype)
        self._lowered[value] = self.step("cast", [given], value.shape, value.dtype)

    def add(self, value: Value) -> None:
        """The steps to one value; to those that it is made of there are steps already."""
        if value in self._lowered:
            return
        if value.constant is not None:
            self._lowered[value] = self.constant(value.constant)
            return
        handler = getattr(self, f"_{value.primitive}", None)
        if value.primitive in ELEMENTWISE:
            found = self.elementwise(ELEMENTWISE[value.primitive], value, *value.inputs)
        elif value.primitive in REDUCTIONS:
            found = self._reduction(REDUCTIONS[value.primitive], value)
        elif handler is not None:
            found = handler(value)
        elif value.primitive in lower_arrays.HANDLERS:
            found = lower_arrays.HANDLERS[value.primitive](self, value)
        else:
            raise NotExportable(f"the operation {value.primitive} cannot be exported")
        self._lowered[value] = found

    def of(self, value: Value) -> Lowered:
        """What a value became, possibly with axes of length 1 that are to be broadcast."""
        return self._lowered[value]

    def full(self, value: Value) -> Lowered:
        """What a value became, in its own shape."""
        return self.broadcast(self.of(value), value.shape)

    def constant(self, array: Any) -> Lowered:
        """A constant; equal ones are one value of the graph already."""
        name = f"c{len(self.program.constants)}"
        self.program.constants[name] = np.asarray(array)
        return Lowered(name, self.program.constants[name].shape, array.dtype)

    def step(
        self, op: str, inputs: list[Lowered], shape: tuple[int, ...], dtype: Any, **options: Any
    ) -> Lowered:
        """One more step, to an array of that shape and type."""
        if op in ("cast", "sum"):  # NumPy would sum in a wider type
            options["dtype"] = str(np.dtype(dtype))
        elif op in ("reshape", "broadcast"):
            options["shape"] = shape
        made = Lowered(f"v{len(self.program.steps)}", tuple(shape), dtype)
        names = tuple(x.name for x in inputs)
        self.program.steps.append(
            Step(op, names, options, made.name, made.shape, str(np.dtype(dtype)))
        )
        return made

    def reshape(self, x: Lowered, shape: tuple[int, ...]) -> Lowered:
        """Other axes over the same numbers."""
        shape = tuple(shape)
        return x if shape == x.shape else self.step("reshape", [x], shape, x.dtype)

    def transpose(self, x: Lowered, axes: tuple[int, ...]) -> Lowered:
        """The axes in another order."""
        axes = tuple(int(axis) for axis in axes)
        if axes == tuple(range(len(axes))):
            return x
        return self.step("transpose", [x], tuple(x.shape[i] for i in axes), x.dtype, axes=axes)

    def broadcast(self, x: Lowered, shape: tuple[int, ...]) -> Lowered:
        """Repeated along axes of length 1."""
        if x.shape == shape:
            return x
        given = self.program.inputs[0]
        like = Lowered(given.name, (-1, *given.shape), given.dtype)
        return self.step("broadcast", [x, like], shape, x.dtype)

    def cast(self, x: Lowered, dtype: Any) -> Lowered:
        """In another type."""
        if x.dtype == np.dtype(dtype):
            return x
        return self.step("cast", [x], x.shape, dtype)

    def plain(self, op: str, dtype: Any, *inputs: Lowered) -> Lowered:
        """An operation that goes element by element."""
        shape = broadcast_shapes(*(x.shape for x in inputs))
        return self.step(op, list(inputs), shape, dtype)

    def elementwise(self, op: str, value: Value, *inputs: Value) -> Lowered:
        """The same, of values. JAX's scalars meet arrays of any rank."""
        return self.plain(op, value.dtype, *(self.of(x) for x in inputs))

    def number(self, of: Any, like: Lowered) -> Lowered:
        """A scalar of the type of an array."""
        return self.constant(np.asarray(of, like.dtype))

    # One method per operation of JAX that is more than one of NumPy, or has options.

    def _div(self, value: Value) -> Lowered:
        whole = value.dtype.kind in "iu"
        return self.elementwise("quotient" if whole else "divide", value, *value.inputs)

    def _square(self, value: Value) -> Lowered:
        return self.elementwise("multiply", value, value.inputs[0], value.inputs[0])

    def _integer_pow(self, value: Value) -> Lowered:
        x, power = self.of(value.inputs[0]), int(value.params["y"])
        if not 1 <= abs(power) <= MOST_FACTORS:
            raise NotExportable(f"the power {power} cannot be exported")
        found = x
        for _ in range(abs(power) - 1):
            found = self.plain("multiply", value.dtype, found, x)
        return found if power > 0 else self._one_over(found)

    def _rsqrt(self, value: Value) -> Lowered:
        return self._one_over(self.elementwise("sqrt", value, *value.inputs))

    def _logistic(self, value: Value) -> Lowered:
        raised = self.plain("exp", value.dtype, self.elementwise("negative", value, *value.inputs))
        return self._one_over(self.plain("add", value.dtype, self.number(1, raised), raised))

    def _one_over(self, x: Lowered) -> Lowered:
        return self.plain("divide", x.dtype, self.number(1, x), x)

    def _not(self, value: Value) -> Lowered:
        if value.dtype != np.bool_:
            raise NotExportable("the operation not cannot be exported for whole numbers")
        return self.elementwise("logical_not", value, *value.inputs)

    def _shift_right_logical(self, value: Value) -> Lowered:
        x, by = value.inputs
        if by.constant is None or value.dtype.kind != "u":
            raise NotExportable("only unsigned numbers shifted by constants can be exported")
        factor = self.constant(np.left_shift(np.ones_like(by.constant), by.constant))
        return self.plain("quotient", value.dtype, self.of(x), factor)

    def _clamp(self, value: Value) -> Lowered:
        low, x, high = (self.of(each) for each in value.inputs)
        return self.plain("minimum", value.dtype, self.plain("maximum", value.dtype, x, low), high)

    def _select_n(self, value: Value) -> Lowered:
        which, *cases = value.inputs
        if which.dtype != np.bool_ or len(cases) != 2:
            raise NotExportable("a choice among more than two arrays cannot be exported")
        return self.elementwise("where", value, which, cases[1], cases[0])

    def _convert_element_type(self, value: Value) -> Lowered:
        return self.cast(self.of(value.inputs[0]), value.dtype)

    def _broadcast_in_dim(self, value: Value) -> Lowered:
        x, axes = self.of(value.inputs[0]), value.params["broadcast_dimensions"]
        shape = [1] * len(value.shape)
        for own, axis in enumerate(axes):
            shape[int(axis)] = x.shape[own]
        return self.reshape(x, tuple(shape))

    def _reshape(self, value: Value) -> Lowered:
        x, order = self.full(value.inputs[0]), value.params.get("dimensions")
        return self.reshape(x if order is None else self.transpose(x, order), value.shape)

    def _squeeze(self, value: Value) -> Lowered:
        return self.reshape(self.full(value.inputs[0]), value.shape)

    def _transpose(self, value: Value) -> Lowered:
        return self.transpose(self.of(value.inputs[0]), value.params["permutation"])

    def _concatenate(self, value: Value) -> Lowered:
        axis, parts = int(value.params["dimension"]), [self.full(x) for x in value.inputs]
        return self.step("concatenate", parts, value.shape, value.dtype, axis=axis)

    def _slice(self, value: Value) -> Lowered:
        (whole,), asked = value.inputs, value.params
        start = [int(n) for n in asked["start_indices"]]
        stop = [n if isinstance(n, int) else None for n in asked["limit_indices"]]
        step = [int(n) for n in asked["strides"] or (1,) * len(start)]
        x = self.full(whole)
        return self.step("slice", [x], value.shape, x.dtype, start=start, stop=stop, step=step)

    def _pad(self, value: Value) -> Lowered:
        whole, filling = value.inputs
        widths = [(int(low), int(high)) for low, high, _ in value.params["padding_config"]]
        inner = any(between for _, _, between in value.params["padding_config"])
        if filling.constant is None or inner or min(map(min, widths)) < 0:
            raise NotExportable("only padding around an array can be exported")
        return self.padded(self.full(whole), widths, filling.constant.item(), value.shape)

    def padded(
        self, x: Lowered, widths: list[tuple[int, int]], filling: float, shape: tuple[int, ...]
    ) -> Lowered:
        """With `filling` around it."""
        if not any(map(any, widths)):
            return x
        return self.step("pad", [x], shape, x.dtype, widths=widths, value=filling)

    def _reduction(self, op: str, value: Value) -> Lowered:
        return self.reduced(op, self.full(value.inputs[0]), value.params["axes"])

    def reduced(self, op: str, x: Lowered, axes: Any) -> Lowered:
        """Along one axis after the other, the last first."""
        for axis in sorted(map(int, axes), reverse=True):
            shape = x.shape[:axis] + x.shape[axis + 1 :]
            x = self.step(op, [x], shape, x.dtype, axis=axis)
        return x

    def _argmax(self, value: Value) -> Lowered:
        (axis,) = value.params["axes"]
        x = self.full(value.inputs[0])
        found = self.step("argmax", [x], value.shape, np.int64, axis=int(axis))
        return self.cast(found, value.dtype)
