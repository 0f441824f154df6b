"""Plain NumPy twins of the networks and of Adam: float64, loops, derivatives written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete, Space

Array = np.ndarray[Any, np.dtype[np.float64]]


class Layer(NamedTuple):
    kernel: Array
    bias: Array | None


Layers = list[Layer]


class Adam(NamedTuple):
    """Adam's state: how many steps were made, and the two moments of every layer."""

    count: int
    mean: Layers
    square: Layers


def layers_of(
    variables: Mapping[str, Any], index: tuple[int, ...] = (), table: Any = None
) -> Layers:
    """The layers of a network's parameters, `index` picking one of a stacked ensemble.

    Dense kernels are kept as [out, in]; `table` is the first kernel where it is kept elsewhere.
    """
    tree = variables["params"]
    names = sorted(name for name in tree if name.startswith("rest"))
    names += ["head"] if "head" in tree else []  # a linear network is its first layer

    def layer(name: str, first: Any = None) -> Layer:
        values = tree.get(name, {})
        kernel = np.asarray(values["kernel"], np.float64)[index].T if first is None else first
        bias = np.asarray(values["bias"], np.float64)[index] if "bias" in values else None
        return Layer(np.asarray(kernel, np.float64), bias)

    return [layer("first", table), *map(layer, names)]


def rows_of(space: Space[Any], obs: Any) -> Array:
    """A batch of observations as rows of numbers: one-hot codes, or flattened boxes."""
    if isinstance(space, Discrete):
        return np.eye(int(space.n))[np.asarray(obs)]
    return np.asarray(obs, np.float64).reshape(len(obs), -1)


def forward(layers: Layers, rows: Array) -> tuple[Array, list[Array]]:
    """The outputs, and the inputs of every layer, which `backward` needs."""
    inputs = [rows]
    for layer in layers[:-1]:
        inputs.append(np.maximum(_affine(layer, inputs[-1]), 0.0))
    return _affine(layers[-1], inputs[-1]), inputs


def forward_normalised(layers: Layers, rows: Array) -> Array:
    """The outputs where what enters the ReLUs has mean 0 and variance 1 over a layer's units."""
    for layer in layers[:-1]:
        x = _affine(layer, rows)
        x = x - x.mean(axis=1, keepdims=True)
        rows = np.maximum(x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6), 0.0)
    return _affine(layers[-1], rows)


def slopes(layers: Layers, loss: Callable[[Layers], float], step: float = 1e-6) -> Layers:
    """The gradient of a loss by central differences, one number after the other."""
    found = [Layer(*(None if x is None else np.zeros_like(x) for x in layer)) for layer in layers]
    for layer, gradient in zip(layers, found, strict=True):
        for values, into in zip(layer, gradient, strict=True):
            for at in [] if values is None else np.ndindex(values.shape):
                kept = values[at]
                losses = []
                for sign in (1, -1):
                    values[at] = kept + sign * step
                    losses.append(loss(layers))
                values[at] = kept
                into[at] = (losses[0] - losses[1]) / (2 * step)
    return found


def backward(layers: Layers, inputs: list[Array], d_out: Array) -> Layers:
    """The gradient of Σ d_out·out with respect to every kernel and bias."""
    gradients: Layers = []
    for layer, x in zip(reversed(layers), reversed(inputs), strict=True):
        d_bias = None if layer.bias is None else d_out.sum(axis=0)
        gradients.insert(0, Layer(x.T @ d_out, d_bias))
        d_out = (d_out @ layer.kernel.T) * (x > 0)
    return gradients


def added(one: Layers, other: Layers) -> Layers:
    """Layer by layer sum."""
    return _zip(lambda a, b: a + b, one, other)


def adam_step(layers: Layers, grads: Layers, state: Adam, lr: float) -> tuple[Layers, Adam]:
    """One step of Adam with its usual constants."""
    b1, b2, eps = 0.9, 0.999, 1e-8
    count = state.count + 1
    mean = _zip(lambda m, g: b1 * m + (1 - b1) * g, state.mean, grads)
    square = _zip(lambda v, g: b2 * v + (1 - b2) * g**2, state.square, grads)
    step = _zip(
        lambda m, v: lr * (m / (1 - b1**count)) / (np.sqrt(v / (1 - b2**count)) + eps), mean, square
    )
    return _zip(lambda p, s: p - s, layers, step), Adam(count, mean, square)


def _affine(layer: Layer, x: Array) -> Array:
    y = x @ layer.kernel
    return y if layer.bias is None else y + layer.bias


def _zip(function: Any, one: Layers, other: Layers) -> Layers:
    return [
        Layer(function(a.kernel, b.kernel), None if a.bias is None else function(a.bias, b.bias))
        for a, b in zip(one, other, strict=True)
    ]
