"""Products, convolutions, windows and look-ups as steps of a program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from isl.export.graph import Value
from isl.export.program import NotExportable, product

if TYPE_CHECKING:
    from isl.export.lower import Lowered, Lowering


def _dot_general(to: Lowering, value: Value) -> Lowered:
    """As a product of matrices, or of as many as there are batch axes."""
    (left_sum, right_sum), (left_batch, right_batch) = value.params["dimension_numbers"]
    left, right = (to.full(x) for x in value.inputs)
    left_free = _others(left.shape, left_sum, left_batch)
    right_free = _others(right.shape, right_sum, right_batch)
    batch = tuple(left.shape[i] for i in left_batch)
    rows, columns = product(left_free.values()), product(right_free.values())
    summed = product(left.shape[i] for i in left_sum)
    left = to.transpose(left, (*left_batch, *left_free, *left_sum))
    right = to.transpose(right, (*right_batch, *right_sum, *right_free))
    left = to.reshape(left, (*batch, rows, summed))
    right = to.reshape(right, (*batch, summed, columns))
    if batch.count(-1) + (rows, columns).count(-1) > 1:
        raise NotExportable("a product over two observations cannot be exported")
    found = to.step("matmul", [left, right], (*batch, rows, columns), value.dtype)
    return to.reshape(found, value.shape)


def _conv_general_dilated(to: Lowering, value: Value) -> Lowered:
    asked = value.params
    numbers = asked["dimension_numbers"]
    plain = {*asked["lhs_dilation"], *asked["rhs_dilation"], asked["batch_group_count"]} == {1}
    if not plain or len(numbers.lhs_spec) != 4:
        raise NotExportable("only convolutions over two axes, undilated, can be exported")
    image = to.transpose(to.full(value.inputs[0]), numbers.lhs_spec)
    kernel = to.transpose(to.full(value.inputs[1]), numbers.rhs_spec)
    shape = tuple(value.shape[i] for i in numbers.out_spec)
    groups = int(asked["feature_group_count"])
    options = {
        "strides": [int(n) for n in asked["window_strides"]],
        "pads": [[int(low), int(high)] for low, high in asked["padding"]],
    }
    own = (shape[0], shape[1] // groups, *shape[2:])
    found = [
        to.step(
            "conv",
            [_part(to, image, 1, i, groups), _part(to, kernel, 0, i, groups)],
            own,
            value.dtype,
            **options,
        )
        for i in range(groups)
    ]
    joined = found[0] if groups == 1 else to.step("concatenate", found, shape, value.dtype, axis=1)
    return to.transpose(joined, tuple(np.argsort(numbers.out_spec)))


def _part(to: Lowering, x: Lowered, axis: int, which: int, parts: int) -> Lowered:
    """One of several equal parts of an array along an axis."""
    length = x.shape[axis] // parts
    start, stop = [0] * len(x.shape), [None if n == -1 else n for n in x.shape]
    start[axis], stop[axis] = which * length, (which + 1) * length
    return _cut(to, x, start, stop)


def _cut(to: Lowering, x: Lowered, start: list[int], stop: list[int | None]) -> Lowered:
    """The part from `start` to `stop`; None: everything."""
    shape = tuple(
        n if end is None else end - first
        for n, first, end in zip(x.shape, start, stop, strict=True)
    )
    if shape == x.shape:
        return x
    return to.step("slice", [x], shape, x.dtype, start=start, stop=stop, step=[1] * len(shape))


def _reduce_window_max(to: Lowering, value: Value) -> Lowered:
    return _largest_in_windows(to, value, -math.inf)


def _reduce_window(to: Lowering, value: Value) -> Lowered:
    inner, (_, start) = value.params["jaxpr"], value.inputs
    if [eqn.primitive.name for eqn in inner.eqns] != ["max"] or start.constant is None:
        raise NotExportable("of operations on windows only the maximum can be exported")
    return _largest_in_windows(to, value, start.constant.item())


def _largest_in_windows(to: Lowering, value: Value, filling: float) -> Lowered:
    asked, x = value.params, to.full(value.inputs[0])
    window = tuple(int(n) for n in asked["window_dimensions"])
    dilated = {*asked["base_dilation"], *asked["window_dilation"]} != {1}
    if window != tuple(int(n) for n in asked["window_strides"]) or dilated:
        raise NotExportable("only windows side by side can be exported")
    widths = [(int(low), int(high)) for low, high in asked["padding"]]
    whole = [n if n == -1 else n * each for n, each in zip(value.shape, window, strict=True)]
    # What does not fill a window at the end is not looked at.
    held = [
        n if n == -1 else n + low + high for n, (low, high) in zip(x.shape, widths, strict=True)
    ]
    x = to.padded(x, widths, filling, tuple(held))
    x = _cut(to, x, [0] * len(whole), [None if n == -1 else n for n in whole])
    pairs = [n for pair in zip(value.shape, window, strict=True) for n in pair]
    folded = to.reshape(x, tuple(pairs))
    return to.reduced("max", folded, [2 * i + 1 for i, n in enumerate(window)])


def _gather(to: Lowering, value: Value) -> Lowered:
    """Whole slices by their indices, as x[index] takes them."""
    asked, (source, index) = value.params, value.inputs
    numbers, sizes = asked["dimension_numbers"], [_length(n) for n in asked["slice_sizes"]]
    # An index along an axis that is taken as a whole can only be 0.
    picked = [i for i in numbers.start_index_map if sizes[i] != source.shape[i]]
    rest = _others(source.shape, picked)
    one_each = all(sizes[i] == 1 for i in picked)
    whole = all(sizes[i] == length for i, length in rest.items())
    if numbers.operand_batching_dims or not (one_each and whole):
        raise NotExportable("only whole rows of an array can be exported by their index")
    rows = to.transpose(to.full(source), (*picked, *rest))
    rows = to.reshape(rows, (product(source.shape[i] for i in picked), *rest.values()))
    strides = {i: math.prod(source.shape[j] for j in picked[k + 1 :]) for k, i in enumerate(picked)}
    flat = _flat_index(to, to.full(index), [strides.get(i, 0) for i in numbers.start_index_map])
    taken = to.step("take", [rows, flat], (*flat.shape, *rest.values()), value.dtype, axis=0)
    kept = [i for i in range(len(source.shape)) if i not in numbers.collapsed_slice_dims]
    taken = to.reshape(taken, (*flat.shape, *(rest.get(i, 1) for i in kept)))
    # The axes of the index come first; where the result has them, JAX says.
    offset = [int(axis) for axis in numbers.offset_dims]
    order = [axis for axis in range(len(value.shape)) if axis not in offset] + offset
    return to.transpose(taken, tuple(np.argsort(order)))


def _flat_index(to: Lowering, index: Lowered, strides: list[int]) -> Lowered:
    """[..., k] → [...]: one number for k of them."""
    factors = to.constant(np.asarray(strides, index.dtype))
    weighted = to.plain("multiply", index.dtype, index, factors)
    return to.reduced("sum", weighted, [len(index.shape) - 1])


def _length(length: Any) -> int:
    """−1: the batch."""
    return length if isinstance(length, int) else -1


def _others(shape: tuple[int, ...], *taken: Any) -> dict[int, int]:
    """The axes that are not taken, with their lengths."""
    used = {int(axis) for axes in taken for axis in axes}
    return {axis: length for axis, length in enumerate(shape) if axis not in used}


HANDLERS: dict[str, Callable[[Lowering, Value], Lowered]] = {
    "dot_general": _dot_general,
    "conv_general_dilated": _conv_general_dilated,
    "reduce_window": _reduce_window,
    "reduce_window_max": _reduce_window_max,
    "gather": _gather,
}
