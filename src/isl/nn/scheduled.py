"""Adam at a rate that changes in the course of a training."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class Progress(NamedTuple):
    """Where a training stands that takes a number of updates not known from the start."""

    done: jax.Array  # int32: updates so far
    begin: jax.Array  # int32: of them, before the course began
    total: jax.Array  # int32: updates of the course; 0: not known yet, the rate is its first


def adam(values: tuple[float, ...], updates: int | None) -> optax.GradientTransformation:
    """Adam with a rate on straight lines between `values`, over `updates` or what `planned` says"""
    return optax.chain(optax.scale_by_adam(), _scaled(values, updates))


def planned(learner: Any, updates: int, anew: bool) -> Any:
    """The learner whose schedules end after `updates` more updates; `anew`: they begin now, too."""

    def one(part: Any) -> Any:
        if not isinstance(part, Progress):
            return part
        begin = part.done if anew else part.begin
        return Progress(part.done, begin, (part.done - begin + updates).astype(jnp.int32))

    return jax.tree.map(one, learner, is_leaf=lambda part: isinstance(part, Progress))


def _scaled(values: tuple[float, ...], updates: int | None) -> optax.GradientTransformation:
    places = jnp.linspace(0.0, 1.0, len(values))
    heights = jnp.asarray(values, jnp.float32)

    def rate(done: jax.Array, total: jax.Array) -> jax.Array:
        share = done / jnp.maximum(total, 1).astype(jnp.float32)
        return jnp.interp(jnp.where(total > 0, share, 0.0), places, heights)

    if updates is not None:
        return optax.scale_by_learning_rate(lambda count: rate(count, jnp.int32(updates)))

    def init(params: Any) -> Progress:
        zero = jnp.zeros((), jnp.int32)
        return Progress(zero, zero, zero)

    def update(grads: Any, state: Progress, params: Any = None) -> tuple[Any, Progress]:
        now = rate(state.done - state.begin, state.total)
        return jax.tree.map(lambda g: -now * g, grads), state._replace(done=state.done + 1)

    return optax.GradientTransformation(init, update)
