"""Networks: the observation space decides the torso, a linear head follows.

    Discrete     a table look-up: the same numbers as one-hot × matrix, n times cheaper
    Box          flattened, then a dense layer
    Box, image   convolutions until at most 6 × 6 is left, then a dense layer
    Symbols      an embedding of every cell, the same for all of them, then a dense layer
    Joined       convolutions for each image, beside the other numbers, then a dense layer
    WithTorso    the user's own flax module, then a dense layer

Kernels start as the paper's did (Sonnet's default): normal with std 1/√fan_in, cut at two std and
not rescaled for the cut; biases at zero. It matters: see docs/paper.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from gymnasium.spaces import Box, Discrete, Space
from jax.lax import optimization_barrier

from isl.envs.joined import Joined, Section
from isl.envs.kinds import Symbols, is_image
from isl.errors import UsageError

CONV_CHANNELS = (16, 32)  # of the first convolution, and of those after it
CELL_FEATURES = 8  # of a cell of symbols
SMALLEST_VARIANCE = 1e-6  # of a layer that is to be normalised
SMALL_ENOUGH = 6  # pixels along the longer side when the convolutions stop


class WithTorso(Space[Any]):
    """An observation space, and the flax module that turns a batch [B, …] of it into [B, F]."""

    def __init__(self, space: Space[Any], torso: nn.Module) -> None:
        super().__init__(space.shape, space.dtype)
        self.space = space
        self.torso = torso


def truncated_fan_in(key: jax.Array, shape: Sequence[int], dtype: Any = jnp.float32) -> jax.Array:
    """Normal with std 1/√fan_in, truncated at two std: an effective std of 0.88/√fan_in.

    For kernels whose last axis is the output.
    """
    std = 1.0 / math.sqrt(math.prod(shape[:-1]))
    return std * jax.random.truncated_normal(key, -2.0, 2.0, tuple(shape), dtype)


def _out_by_in(key: jax.Array, shape: Sequence[int], dtype: Any = jnp.float32) -> jax.Array:
    return truncated_fan_in(key, tuple(reversed(shape)), dtype).T


@jax.custom_vjp
def _product(kernel: jax.Array, x: jax.Array) -> jax.Array:
    """`kernel @ x`. The barrier keeps what made `dy` from deciding how these products are done."""
    return kernel @ x


def _product_backwards(
    saved: tuple[jax.Array, jax.Array], dy: jax.Array
) -> tuple[jax.Array, jax.Array]:
    kernel, x = saved
    dy = optimization_barrier(dy)
    return dy @ x.T, kernel.T @ dy


_product.defvjp(lambda kernel, x: (kernel @ x, (kernel, x)), _product_backwards)


@jax.custom_vjp
def _product_of_rows(kernel: jax.Array, x: jax.Array) -> jax.Array:
    """`kernel @ x.T`, with a gradient for x in rows again: only the small `dy` is turned."""
    return kernel @ x.T


def _product_of_rows_backwards(
    saved: tuple[jax.Array, jax.Array], dy: jax.Array
) -> tuple[jax.Array, jax.Array]:
    kernel, x = saved
    return dy @ x, optimization_barrier(dy.T) @ kernel


_product_of_rows.defvjp(lambda kernel, x: (kernel @ x.T, (kernel, x)), _product_of_rows_backwards)


class Dense(nn.Module):
    """A linear layer to columns [out, batch], from columns [in, batch] or rows [batch, in].

    With a kernel [out, in], XLA's products on a CPU are up to 1.5 times faster than rows to rows,
    those of heads 3 times (docs/performance.md).
    """

    features: int
    bias: bool = True
    of_rows: bool = False
    from_zero: bool = False  # whether the kernel starts at 0

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        inputs = x.shape[1] if self.of_rows else x.shape[0]
        initial = nn.initializers.zeros if self.from_zero else _out_by_in
        kernel = self.param("kernel", initial, (self.features, inputs))
        y = _product_of_rows(kernel, x) if self.of_rows else _product(kernel, x)
        return y + _bias(self)[:, None] if self.bias else y


class Table(nn.Module):
    """A linear layer on the one-hot codes of integers [batch]: a look-up of rows [batch, out]."""

    rows: int
    features: int
    bias: bool = True

    @nn.compact
    def __call__(self, x: jax.Array, looked_up: bool = False) -> jax.Array:
        """`looked_up`: x holds the rows themselves, and the layer needs no kernel."""
        if not looked_up:
            kernel = self.param("kernel", truncated_fan_in, (self.rows, self.features))
            x = kernel.at[x].get(mode="promise_in_bounds")
        return x + _bias(self)[None] if self.bias else x


class Convolutions(nn.Module):
    """3 × 3 convolutions of stride 2 over images [B, …], channels first or last.

    uint8 pixels are read as numbers from 0 to 1, floats as they are.
    """

    bias: bool = True

    @nn.compact
    def __call__(self, image: jax.Array) -> jax.Array:
        x = image.astype(jnp.float32)
        if image.dtype == jnp.uint8:
            x = x / 255
        if x.ndim == 3:
            x = x[..., None]
        elif x.shape[1] < x.shape[-1]:  # the channels are the shorter of the two outer axes
            x = jnp.moveaxis(x, 1, -1)
        first, later = CONV_CHANNELS
        channels = first
        while True:
            x = nn.Conv(
                channels, (3, 3), strides=2, use_bias=self.bias, kernel_init=truncated_fan_in
            )(x)
            x = jax.nn.relu(x)
            channels = later
            if max(x.shape[1:3]) <= SMALL_ENOUGH:
                return x.reshape(x.shape[0], -1)


class Embedding(nn.Module):
    """Symbols [B, …] by cells: with three axes the last one has the symbols of one cell.

    A key is a key wherever it lies, so all cells share one layer on their one-hot codes. The
    product has observations along its last axis, as `Dense` reads them; on a CPU that takes two
    thirds of the time of one row per cell.
    """

    number: int  # of symbols
    bias: bool = True

    @nn.compact
    def __call__(self, symbols: jax.Array) -> jax.Array:
        x = symbols if symbols.ndim == 4 else symbols[..., None]
        batch, channels = x.shape[0], x.shape[-1]
        by_channel = x.reshape(batch, -1, channels).transpose(2, 1, 0)  # [channels, cells, B]
        each = jnp.arange(self.number, dtype=x.dtype)[None, :, None, None]
        codes = (by_channel[:, None] == each).astype(jnp.float32)
        inputs = channels * self.number
        kernel = self.param("kernel", truncated_fan_in, (inputs, CELL_FEATURES))
        kernel = kernel * math.sqrt(self.number)  # one in so many codes is 1
        y = _product(kernel.T, codes.reshape(inputs, -1))
        if self.bias:
            y = y + self.param("bias", nn.initializers.zeros, (CELL_FEATURES,))[:, None]
        return jax.nn.relu(y).reshape(-1, batch).T


class Flat(nn.Module):
    """All numbers of an observation [B, …] in a row; uint8 as numbers from 0 to 1."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        flat = x.reshape(x.shape[0], -1).astype(jnp.float32)
        return flat / 255 if x.dtype == jnp.uint8 else flat


class PerPart(nn.Module):
    """The features of all sections of a joined vector [B, N], side by side."""

    sections: tuple[Section, ...]
    bias: bool = True

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        features = []
        for section in self.sections:
            part = x[:, section.begin : section.end]
            if section.is_image:
                part = Convolutions(self.bias)(part.reshape(-1, *section.shape))
            features.append(part)
        return jnp.concatenate(features, axis=-1)


class Network(nn.Module):
    """First layer by observation space, hidden ReLU layers, a linear head of `outputs`.

    Without hidden layers the first one is the head.
    The last axes belong to one observation; any axes before them are batch axes.
    Where the first layer is a table, `looked_up` says that x holds its rows, not integers.
    """

    space: Space[Any]
    hidden: tuple[int, ...]
    outputs: int
    bias: bool = True
    layer_norm: bool = False

    def setup(self) -> None:
        first, *rest = self.hidden or (self.outputs,)
        if isinstance(self.space, Discrete):
            self.first: nn.Module = Table(int(self.space.n), first, self.bias)
        elif isinstance(self.space, Box | WithTorso):
            self.first = Dense(first, self.bias)
        else:
            raise UsageError(
                f"observation space {self.space} is not supported; expected Discrete or Box"
            )
        if isinstance(self.space, WithTorso):
            self.torso: nn.Module | None = self.space.torso.clone()
        elif isinstance(self.space, Joined):
            self.torso = PerPart(self.space.sections, self.bias)
        elif isinstance(self.space, Symbols):
            self.torso = Embedding(self.space.number, self.bias)
        else:
            self.torso = Convolutions(self.bias) if is_image(self.space) else None
        rows = isinstance(self.first, Table)  # the first layer gives them, to the next one only
        self.rest = [Dense(w, self.bias, of_rows=rows and i == 0) for i, w in enumerate(rest)]
        if self.hidden:
            of_rows = rows and not rest
            self.head = Dense(self.outputs, self.bias, of_rows, from_zero=self.layer_norm)

    def features(self, x: jax.Array, looked_up: bool = False) -> jax.Array:
        """The last hidden layer: [..., width]."""
        hidden = self._hidden(x, looked_up)
        return self._rows(hidden.T if self.head.of_rows else hidden, x, looked_up)

    def __call__(self, x: jax.Array, looked_up: bool = False) -> jax.Array:
        if self.hidden:
            return self._rows(self.head(self._hidden(x, looked_up)), x, looked_up)
        out = self._first(x, looked_up)
        return self._rows(out.T if isinstance(self.first, Table) else out, x, looked_up)

    def _hidden(self, x: jax.Array, looked_up: bool) -> jax.Array:
        """The last hidden layer of all observations, as the head reads it."""
        first = self._first(x, looked_up)
        hidden = self._activated(first, axis=1 if isinstance(self.first, Table) else 0)
        for layer in self.rest:
            hidden = self._activated(layer(hidden))
        return hidden

    def _activated(self, x: jax.Array, axis: int = 0) -> jax.Array:
        """What a hidden layer gives: normalised over its units, which lie along `axis`, and cut."""
        if self.layer_norm:
            x = x - jnp.mean(x, axis, keepdims=True)
            x = x * jax.lax.rsqrt(jnp.mean(x**2, axis, keepdims=True) + SMALLEST_VARIANCE)
        return jax.nn.relu(x)

    def _first(self, x: jax.Array, looked_up: bool) -> jax.Array:
        """The first layer: rows [batch, width] from a table, else columns [width, batch]."""
        if isinstance(self.first, Table):
            flat = x.reshape(-1, x.shape[-1]) if looked_up else x.reshape(-1)
            rows: jax.Array = self.first(flat, looked_up)
            return rows
        x = x.reshape(-1, *(self.space.shape or ()))
        if self.torso is not None:
            x = self.torso(x)
        columns: jax.Array = self.first(x.reshape(x.shape[0], -1).T)
        return columns

    def _rows(self, columns: jax.Array, x: jax.Array, looked_up: bool) -> jax.Array:
        """[out, batch] → [..., out], with the batch axes of x."""
        axes = 1 if looked_up else len(self.space.shape or ())  # of one observation
        return columns.T.reshape(*x.shape[: x.ndim - axes], columns.shape[0])


def dummy_observation(space: Space[Any]) -> jax.Array:
    """A zero observation, to initialise networks and replay with."""
    if isinstance(space, WithTorso):
        return dummy_observation(space.space)
    if isinstance(space, Discrete):
        return jnp.zeros((), jnp.int32)
    return jnp.zeros(space.shape, space.dtype)


def _bias(layer: Dense | Table) -> jax.Array:
    bias: jax.Array = layer.param("bias", nn.initializers.zeros, (layer.features,))
    return bias
