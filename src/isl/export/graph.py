"""A traced function as a graph of values: calls are inlined, constants folded, repetitions shared.

The trace is for a batch of any length, so a policy is exported once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.export import symbolic_shape
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from numpy.typing import NDArray

from isl.export.program import NotExportable

CALLS = ("jaxpr", "call_jaxpr")  # what the parameters of a call hold
INLINED = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "checkpoint")
SAME = ("copy", "copy_p", "stop_gradient", "optimization_barrier")


@dataclass(frozen=True, eq=False)
class Value:
    """An array of the graph: a constant, an input, or what an operation gives."""

    shape: tuple[int, ...]  # −1: the batch
    dtype: np.dtype[Any]
    constant: NDArray[Any] | None = None
    primitive: str = ""  # of what is neither a constant nor an input
    params: Any = None
    inputs: tuple[Value, ...] = ()
    which: int = 0  # of the operation's results


class _Graph:
    """Makes values, each once."""

    def __init__(self) -> None:
        self._made: dict[Any, list[Value]] = {}

    def run(self, jaxpr: Jaxpr, constants: Iterable[Any], inputs: list[Value]) -> list[Value]:
        """The values of a traced function's results."""
        own = dict(zip(jaxpr.invars, inputs, strict=True))
        own |= dict(zip(jaxpr.constvars, map(self._constant, constants), strict=True))

        def value(atom: Any) -> Value:
            return self._constant(atom.val) if isinstance(atom, Literal) else own[atom]

        for eqn in jaxpr.eqns:
            results = self._equation(eqn, [value(atom) for atom in eqn.invars])
            own |= dict(zip(eqn.outvars, results, strict=True))
        return [value(atom) for atom in jaxpr.outvars]

    def _equation(self, eqn: Any, inputs: list[Value]) -> list[Value]:
        name = eqn.primitive.name
        if name in SAME:
            return inputs
        if name in INLINED:
            called = next(eqn.params[key] for key in CALLS if key in eqn.params)
            inner = called if isinstance(called, ClosedJaxpr) else None
            jaxpr, constants = (inner.jaxpr, inner.consts) if inner else (called, [])
            return self.run(jaxpr, constants, inputs)
        if name == "cond" and inputs[0].constant is not None:  # settled when the policy is exported
            branch = eqn.params["branches"][int(inputs[0].constant)]
            return self.run(branch.jaxpr, branch.consts, inputs[1:])
        if name == "select_n" and inputs[0].constant is not None and not inputs[0].shape:
            return [inputs[1 + int(inputs[0].constant)]]
        shapes = [_shape(var.aval) for var in eqn.outvars]
        if all(x.constant is not None for x in inputs) and -1 not in sum(shapes, ()):
            found = eqn.primitive.bind(*(x.constant for x in inputs), **eqn.params)
            return [
                self._constant(x) for x in (found if eqn.primitive.multiple_results else [found])
            ]
        key = (name, tuple(map(id, inputs)), str(eqn.params))
        if key not in self._made:
            dtypes = [var.aval.dtype for var in eqn.outvars]
            self._made[key] = [
                Value(shape, dtype, None, name, eqn.params, tuple(inputs), which)
                for which, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
            ]
        return self._made[key]

    def _constant(self, array: Any) -> Value:
        made = np.asarray(array)
        key = (made.shape, made.dtype.str, made.tobytes())
        if key not in self._made:
            self._made[key] = [Value(made.shape, made.dtype, made)]
        return self._made[key][0]


def _shape(aval: Any) -> tuple[int, ...]:
    return tuple(n if isinstance(n, int) else _batch(n) for n in aval.shape)


def _batch(length: Any) -> int:
    if str(length) != "batch":
        raise NotExportable(f"an array of the policy has the length {length}, expected a number")
    return -1


def graph_of(
    function: Callable[..., dict[str, jax.Array]], arguments: list[tuple[tuple[int, ...], Any]]
) -> tuple[list[Value], dict[str, Value]]:
    """The inputs and results of a function of single observations, applied to a batch of them.

    Args:
        function: of arrays, without a batch axis; it can be traced.
        arguments: the shape and the type of each.
    """
    (batch,) = symbolic_shape("batch")
    specs = [jax.ShapeDtypeStruct((batch, *shape), dtype) for shape, dtype in arguments]
    traced, shapes = jax.make_jaxpr(jax.vmap(function), return_shape=True)(*specs)
    inputs = [Value((-1, *spec.shape[1:]), spec.dtype) for spec in specs]
    results = _Graph().run(traced.jaxpr, traced.consts, inputs)
    return inputs, dict(zip(sorted(shapes), results, strict=True))


def needed(wanted: Iterable[Value]) -> list[Value]:
    """The values that some are made of, each after those that it is made of itself."""
    ordered: dict[Value, None] = {}
    waiting = [(value, False) for value in wanted]
    while waiting:
        value, ready = waiting.pop()
        if value in ordered:
            continue
        if ready or not value.inputs:
            ordered[value] = None
        else:
            waiting.append((value, True))
            waiting.extend((each, False) for each in value.inputs)
    return list(ordered)
