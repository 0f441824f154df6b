"""A program as an ONNX model, written with the package `onnx`.

onnxruntime computes with few types of whole numbers, so all of them are int64 here, and what
unsigned 32-bit numbers leave over is cut off where it arises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isl.errors import UsageError
from isl.export.program import Program, Step

OPSET, IR_VERSION = 18, 8  # onnxruntime 1.14 and later read them
WORD = 1 << 32
PLAIN = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "quotient": "Div",
    "maximum": "Max",
    "minimum": "Min",
    "power": "Pow",
    "negative": "Neg",
    "absolute": "Abs",
    "sign": "Sign",
    "floor": "Floor",
    "ceil": "Ceil",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
    "sin": "Sin",
    "cos": "Cos",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "equal": "Equal",
    "logical_not": "Not",
    "where": "Where",
    "matmul": "MatMul",
}
BITWISE = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}
REDUCTIONS = {"sum": "Sum", "max": "Max", "min": "Min", "any": "Max", "all": "Min"}


def onnx_model(program: Program) -> bytes:
    """The file."""
    try:
        import onnx
    except ModuleNotFoundError:
        raise UsageError(
            "a policy.onnx needs the package onnx: pip install 'isl[export]'"
        ) from None
    made = _Writer(onnx, program).model()
    onnx.checker.check_model(made)
    written: bytes = made.SerializeToString()
    return written


class _Writer:
    def __init__(self, onnx: Any, program: Program) -> None:
        self._onnx, self._program = onnx, program
        self._nodes: list[Any] = []
        self._held: dict[str, Any] = {}
        self._types = program.types()

    def model(self) -> Any:
        """The graph with everything around it."""
        for name, array in self._program.constants.items():
            self._hold(name, array.astype(_kept(array.dtype)))
        first = self._program.inputs[0].name
        self._node("Shape", [first], "batch", start=0, end=1)
        for step in self._program.steps:
            method = getattr(self, f"_{step.op}", self._plain)
            method(step)
            self._cut(step)
        helper = self._onnx.helper
        inputs = [
            self._described(each.name, np.dtype(each.dtype), each.shape)
            for each in self._program.inputs
        ]
        graph = helper.make_graph(
            self._nodes, "policy", inputs, self._outputs(), list(self._held.values())
        )
        model = helper.make_model(
            graph,
            producer_name="isl",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        helper.set_model_props(model, self._program.about)
        return model

    def _outputs(self) -> list[Any]:
        shapes = {step.output: step.shape for step in self._program.steps}
        found = []
        for name, array in self._program.outputs.items():
            self._node("Identity", [array], name)
            kept = _kept(np.dtype(self._types[array]))
            found.append(self._described(name, kept, shapes[array][1:]))
        return found

    def _described(self, name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._onnx.helper.make_tensor_value_info(name, kind, ["batch", *shape])

    def _hold(self, name: str, array: NDArray[Any]) -> str:
        held = np.ascontiguousarray(array).reshape(array.shape)
        self._held[name] = self._onnx.numpy_helper.from_array(held, name)
        return name

    def _whole(self, numbers: Any) -> str:
        """A constant of whole numbers."""
        array = np.asarray(numbers, np.int64)
        return self._hold(f"w{array.ndim}_{'_'.join(map(str, array.ravel()))}", array)

    def _node(self, kind: str, inputs: Any, output: str, **attributes: Any) -> str:
        made = self._onnx.helper.make_node(kind, list(inputs), [output], **attributes)
        self._nodes.append(made)
        return output

    def _temporary(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self._node(kind, inputs, f"t{len(self._nodes)}", **attributes)

    def _to(self, name: str, dtype: Any) -> str:
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._temporary("Cast", name, to=kind)

    def _cut(self, step: Step) -> None:
        """Whole numbers as they are after an overflow of their own type."""
        if step.dtype != "uint32" or step.op not in ("add", "subtract", "multiply", "sum", "cast"):
            return
        last = self._nodes[-1]
        last.output[0] = f"{step.output}_whole"
        self._node("Mod", [last.output[0], self._whole(WORD)], step.output)

    def _plain(self, step: Step) -> None:
        self._node(PLAIN[step.op], step.inputs, step.output)

    def _multiply(self, step: Step) -> None:
        """Of two words in halves: their product does not fit into 64 bits with a sign."""
        if step.dtype != "uint32":
            return self._plain(step)
        x, y = step.inputs
        half = self._whole(1 << 16)
        high = self._temporary(
            "Mod", self._temporary("Mul", x, self._temporary("Div", y, half)), half
        )
        low = self._temporary("Mul", x, self._temporary("Mod", y, half))
        self._node("Add", [self._temporary("Mul", high, half), low], step.output)
        return None

    def _not_equal(self, step: Step) -> None:
        self._node("Not", [self._temporary("Equal", *step.inputs)], step.output)

    def _fmod(self, step: Step) -> None:
        self._node("Mod", step.inputs, step.output, fmod=1)

    def _bits(self, step: Step) -> None:
        kind = BITWISE[step.op]
        self._node(kind if step.dtype == "bool" else f"Bitwise{kind}", step.inputs, step.output)

    _bitwise_and = _bitwise_or = _bitwise_xor = _bits

    def _log1p(self, step: Step) -> None:
        one = self._hold("one", np.ones((), np.float64))
        more = self._temporary("Add", self._to(step.inputs[0], np.float64), one)
        self._node("Cast", [self._temporary("Log", more)], step.output, to=1)

    def _expm1(self, step: Step) -> None:
        one = self._hold("one", np.ones((), np.float64))
        raised = self._temporary("Exp", self._to(step.inputs[0], np.float64))
        self._node("Cast", [self._temporary("Sub", raised, one)], step.output, to=1)

    def _cast(self, step: Step) -> None:
        given, wanted = self._types[step.inputs[0]], np.dtype(step.dtype)
        name = step.inputs[0]
        if given == "uint32" and wanted == np.int32:
            half = self._whole(WORD // 2)
            name = self._temporary("Mod", self._temporary("Add", name, half), self._whole(WORD))
            self._node("Sub", [name, half], step.output)
            return
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(_kept(wanted))
        self._node("Cast", [name], step.output, to=kind)

    def _reshape(self, step: Step) -> None:
        self._node("Reshape", [step.inputs[0], self._whole(step.shape)], step.output)

    def _broadcast(self, step: Step) -> None:
        parts = ["batch" if n == -1 else self._whole([n]) for n in step.shape]
        shape = self._temporary("Concat", *parts, axis=0)
        self._node("Expand", [step.inputs[0], shape], step.output)

    def _transpose(self, step: Step) -> None:
        self._node("Transpose", step.inputs, step.output, perm=list(step.options["axes"]))

    def _concatenate(self, step: Step) -> None:
        self._node("Concat", step.inputs, step.output, axis=step.options["axis"])

    def _slice(self, step: Step) -> None:
        start, stop, by = (step.options[name] for name in ("start", "stop", "step"))
        ends = [np.iinfo(np.int64).max if n is None else n for n in stop]
        asked = [self._whole(x) for x in (start, ends, list(range(len(start))), by)]
        self._node("Slice", [step.inputs[0], *asked], step.output)

    def _pad(self, step: Step) -> None:
        before, after = zip(*step.options["widths"], strict=True)
        dtype = _kept(np.dtype(step.dtype))
        filling = np.asarray(step.options["value"], np.float64).astype(dtype)
        value = self._hold(f"p{step.output}", filling)
        self._node("Pad", [step.inputs[0], self._whole([*before, *after]), value], step.output)

    def _reduce(self, step: Step) -> None:
        kind, axes = f"Reduce{REDUCTIONS[step.op]}", self._whole([step.options["axis"]])
        if self._types[step.inputs[0]] != "bool":
            self._node(kind, [step.inputs[0], axes], step.output, keepdims=0)
            return
        found = self._temporary(kind, self._to(step.inputs[0], np.int64), axes, keepdims=0)
        self._node("Cast", [found], step.output, to=9)

    _sum = _max = _min = _any = _all = _reduce

    def _argmax(self, step: Step) -> None:
        axis = step.options["axis"]
        self._node("ArgMax", step.inputs, step.output, axis=axis, keepdims=0)

    def _take(self, step: Step) -> None:
        self._node("Gather", step.inputs, step.output, axis=0)

    def _conv(self, step: Step) -> None:
        before, after = zip(*step.options["pads"], strict=True)
        self._node(
            "Conv",
            step.inputs,
            step.output,
            strides=step.options["strides"],
            pads=[*before, *after],
        )


def _kept(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of an array in the model."""
    return np.dtype(np.int64) if dtype.kind in "iu" else dtype
