"""What the uncertainty constrained policy and value cost beside softmax and logsumexp.

Both are timed on the same arrays in the same process, in turns, in two ways: called once from
Python (what a host loop pays) and many times in one compiled loop (what compiled training pays).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from isl.theory.exploration import uc_policy, uc_value

SHAPES = {(256, 2): 200, (256, 3): 200, (4096, 18): 2, (64, 1000): 2}  # and repeats per loop
ROUNDS = 100

Function = Callable[[Array, Array], tuple[Array, Array]]


def uncertainty_constrained(q: Array, ell: Array) -> tuple[Array, Array]:
    return uc_policy(q, ell, 1.0), uc_value(q, ell, 1.0)


def maximum_entropy(q: Array, ell: Array) -> tuple[Array, Array]:
    del ell
    return jax.nn.softmax(q, axis=-1), jax.nn.logsumexp(q, axis=-1)


def looped(function: Function, repeats: int) -> Callable[[Array, Array], Array]:
    """The function many times in one program, each time on an input that depends on the last."""

    def body(_: int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        q, ell = carry
        policy, value = function(q, ell)
        return q + 1e-6 * (policy + value[..., None]), ell

    return jax.jit(lambda q, ell: lax.fori_loop(0, repeats, body, (q, ell))[0])


def fastest(
    programs: Sequence[Callable[[Array, Array], object]], q: Array, ell: Array
) -> list[float]:
    """Seconds of the fastest of several rounds, taken in turns so that all see the same machine."""
    best = [np.inf] * len(programs)
    for program in programs:
        jax.block_until_ready(program(q, ell))
    for _ in range(ROUNDS):
        for i, program in enumerate(programs):
            start = time.perf_counter()
            jax.block_until_ready(program(q, ell))
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def compare() -> None:
    """Measure and print."""
    functions = [uncertainty_constrained, maximum_entropy]
    print("uc_policy + uc_value beside softmax + logsumexp, float32, microseconds")
    columns = "call", "softmax", "ratio", "loop", "softmax", "ratio"
    print(f"{'shape':>12}" + "".join(f"{column:>10}" for column in columns))
    for shape, repeats in SHAPES.items():
        rng = np.random.default_rng(0)
        q = jnp.asarray(rng.normal(size=shape), jnp.float32)
        ell = jnp.asarray(rng.uniform(0.01, 5, size=shape), jnp.float32)
        call = [1e6 * t for t in fastest([jax.jit(f) for f in functions], q, ell)]
        loop = [1e6 * t / repeats for t in fastest([looped(f, repeats) for f in functions], q, ell)]
        name = "[" + ",".join(map(str, shape)) + "]"
        figures = *call, call[0] / call[1], *loop, loop[0] / loop[1]
        print(f"{name:>12}" + "".join(f"{figure:10.2f}" for figure in figures))
