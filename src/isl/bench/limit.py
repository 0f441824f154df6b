"""What the machine can do: an ISL update's matrix products alone, and Adam's pass alone.

The products have the update's shapes and number, in one compiled loop, with nothing between them
but what keeps XLA from leaving them out. No program that computes the update with these products
and a dense Adam can be faster than the two together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from isl.bench.timing import Contestant

Shape = tuple[int, int, int]  # rows, inner, columns


def isl_products(
    batch: int, actions: int, hidden: tuple[int, ...], inputs: int | None
) -> list[Shape]:
    """Every product of one update; `inputs` is None for a table look-up as first layer.

    Networks at s: q̂, ρ and A of ℓ, forwards and backwards. At s′: q̂ and A of ℓ, forwards.
    """
    widths = list(hidden)
    shapes: list[Shape] = []

    def layer(inner: int, outer: int, online: int, frozen: int, into: bool = True) -> None:
        """Observations are columns: forwards, the kernel's gradient, the input's gradient."""
        shapes.extend([(outer, inner, batch)] * (online + frozen))
        shapes.extend([(outer, batch, inner)] * online)
        shapes.extend([(inner, outer, batch)] * online * into)

    if inputs is not None:
        layer(inputs, widths[0], 2 + actions, 1 + actions, into=False)
    for inner, outer in itertools.pairwise(widths):
        layer(inner, outer, 2 + actions, 1 + actions)
    layer(widths[-1], actions, online=2, frozen=1)  # the heads of q̂ and ρ
    layer(widths[-1], 1, online=actions, frozen=actions)  # those of ℓ
    return shapes


def products(name: str, shapes: list[Shape], repeats: int) -> Contestant:
    """A contestant that computes the products `repeats` times."""
    kinds = sorted(set(shapes))
    counts = [shapes.count(kind) for kind in kinds]
    key = jax.random.key(0)
    operands = [
        (jax.random.normal(key, (r, i)), jax.random.normal(key, (i, c))) for r, i, c in kinds
    ]

    run = jax.jit(_rounds(operands, counts, repeats))
    jax.block_until_ready(run())
    flops = float(sum(2 * r * i * c for r, i, c in shapes))
    return Contestant(name, repeats, lambda: jax.block_until_ready(run()), {"flops": flops})


def _rounds(
    operands: list[tuple[jax.Array, jax.Array]], counts: list[int], repeats: int
) -> Callable[[], jax.Array]:
    """`repeats` rounds of all products, each fed by the one before so that none is left out."""

    def one_round(_: jax.Array, carry: jax.Array) -> jax.Array:
        for (left, right), count in zip(operands, counts, strict=True):
            for number in range(count):
                # A scalar links the products; adding it touches the smaller operand only.
                small, large = (left, right) if left.size < right.size else (right, left)
                linked = small + (carry + number * 1e-30)
                pair = (linked, large) if left.size < right.size else (large, linked)
                carry = (pair[0] @ pair[1]).reshape(-1)[0] * 1e-30
        return carry

    return lambda: jax.lax.fori_loop(0, repeats, one_round, jnp.float32(0))


def adam(name: str, parameters: int, repeats: int) -> Contestant:
    """A contestant that passes over p, m, v and a gradient as Adam does: 4 reads and 3 writes."""
    p = jnp.ones(parameters)

    def step(t: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        p, m, v, g = carry
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        steps = t.astype(jnp.float32) + 1
        scaled = (m / (1 - 0.9**steps)) / (jnp.sqrt(v / (1 - 0.999**steps)) + 1e-8)
        return p - 1e-3 * scaled, m, v, g

    run = jax.jit(
        lambda *carry: jax.lax.fori_loop(0, repeats, step, carry), donate_argnums=(0, 1, 2)
    )
    state = [p, jnp.zeros(parameters), jnp.ones(parameters), jnp.full(parameters, 1e-3)]

    def again() -> None:
        state[:] = jax.block_until_ready(run(*state))

    again()
    return Contestant(name, repeats, again, {"bytes": 7.0 * 4 * parameters})
