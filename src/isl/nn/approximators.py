"""Networks that learn together: their parameters, Adam's state, and frozen copies for targets.

On a Discrete observation space the first layers of all of them are one table with a row per
observation, which Adam touches where the batch does (isl.nn.lazy_adam); everything else is optax's
Adam on flax parameters. An agent sees neither:

    q = nets.read(state, obs)("q")

    target = nets.freeze(state)                      # once per target period
    state, metrics = nets.step(state, target, obs, next_obs, loss)

    def loss(reads):                                 # a scalar to minimise, and metrics
        q_tm1 = reads.online("q")                    # at obs; gradients go through this alone
        q_t = reads.target("q")                      # at next_obs, as they were when frozen
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.spaces import Discrete, Space

from isl.errors import UsageError
from isl.nn import lazy_adam, rates, scheduled
from isl.nn.networks import Network, dummy_observation
from isl.nn.step import Loss, Outputs, Place, step

SMALL_TABLE = 50_000  # numbers, that Adam passes over as a whole (docs/performance.md)


class Net(NamedTuple):
    """One approximator: its outputs, learning rate, biases, and how many independent copies."""

    outputs: int
    rate: float | str  # a number, or the text of a schedule (isl.nn.rates)
    bias: bool = True
    copies: int | None = None  # None: one, without an axis for it


class Trained(NamedTuple):
    """What is learned. With `members`, every leaf but those of `rows` has a leading axis [M]."""

    params: dict[str, Any]
    opt: dict[str, Any]
    rows: lazy_adam.Rows | None  # the first layers, [M·n, F]
    updates: jax.Array  # int32


class Frozen(NamedTuple):
    """A target: the parameters after `updates` updates. The table's rows remember theirs."""

    params: dict[str, Any]
    updates: jax.Array


class View(NamedTuple):
    """What it takes to evaluate the networks at some observations, and what a gradient is for."""

    params: dict[str, Any]
    rows: dict[str, jax.Array]  # outputs of the first layers, before biases; empty without a table
    looked_up: tuple[jax.Array, jax.Array] | None = None  # all of them, to be trained


class Approximators:
    """Networks over one observation space; `members` independent sets of them, used one by one.

    With `linear` they have neither hidden layers nor biases, and learn at that rate. With
    `layer_norm` what enters the ReLUs of a hidden layer has mean 0 and variance 1 over its units,
    and heads start at 0.
    """

    def __init__(
        self,
        space: Space[Any],
        hidden: tuple[int, ...],
        nets: dict[str, Net],
        members: int | None = None,
        linear: float = 0.0,
        layer_norm: bool = False,
    ) -> None:
        if linear:
            hidden = ()
            nets = {name: net._replace(rate=linear, bias=False) for name, net in nets.items()}
        self.nets = nets
        self._has_hidden = bool(hidden)
        self._observation = dummy_observation(space)
        self._members = members
        self._networks = {
            k: Network(space, hidden, n.outputs, n.bias, layer_norm) for k, n in nets.items()
        }
        self._adams = {k: _adam(n.rate) for k, n in nets.items()}
        self._n = int(space.n) if isinstance(space, Discrete) else None
        if self._n and any(isinstance(net.rate, str) for net in nets.values()):
            raise UsageError(
                "a schedule of a learning rate is for networks on vectors and images, and these "
                'observations are a table; give a number, or observations="vector"'
            )
        self._widths = {k: hidden[0] if hidden else n.outputs for k, n in nets.items()}
        columns = [
            np.full((n.copies or 1) * self._widths[k], _first(n.rate), np.float32)
            for k, n in nets.items()
        ]
        self._rates = np.concatenate(columns)
        # Members learn one at a time, so their rows cannot move together.
        self._together = members is None and (self._n or 0) * len(self._rates) <= SMALL_TABLE

    def init(self, key: jax.Array) -> Trained:
        """Fresh networks."""
        if self._members is None:
            return self._init_member(key)
        state = jax.vmap(self._init_member)(jax.random.split(key, self._members))
        join = lambda x: x.reshape(-1, *x.shape[2:])  # noqa: E731  [M, n, …] → [M·n, …]
        return state._replace(rows=jax.tree.map(join, state.rows))

    def read(self, state: Trained, obs: jax.Array, member: Any = None) -> Outputs:
        """The networks as they are, at some observations."""
        rows = {}
        if state.rows is not None:
            index, now = self._index(obs, member), _of(state.updates, member)
            rows = self._split(lazy_adam.read(state.rows, index, self._rates, now))
        return Outputs(self, View(_of(state.params, member), rows), obs)

    def step(
        self, state: Trained, target: Frozen, obs: jax.Array, next_obs: jax.Array, loss: Loss
    ) -> tuple[Trained, dict[str, jax.Array]]:
        """`step` for this set of networks alone; `loss` takes its `Reads`."""
        (state,), metrics = step([Place(self, state, target, obs, next_obs)], loss)
        return state, metrics

    def to_train(self, state: Trained, target: Frozen, obs: jax.Array, member: Any = None) -> View:
        """The networks as they are, and what `descend` will need."""
        params = _of(state.params, member)
        if state.rows is None:
            return View(params, {})
        now, then = _of(state.updates, member), _of(target.updates, member)
        looked_up = lazy_adam.read_to_train(
            state.rows, self._index(obs, member), self._rates, now, then
        )
        return View(params, self._split(looked_up[0]), looked_up)

    def freeze(self, state: Trained) -> Frozen:
        """The networks as they are, to be held on to."""
        return Frozen(state.params, state.updates)

    def frozen(self, state: Trained, target: Frozen, obs: jax.Array, member: Any = None) -> View:
        """The networks as they were when `target` was frozen: the last time, not an earlier one."""
        rows = {}
        if state.rows is not None:
            index, then = self._index(obs, member), _of(target.updates, member)
            rows = self._split(lazy_adam.read_frozen(state.rows, index, self._rates, then))
        return View(_of(target.params, member), rows)

    def evaluate(
        self, name: str, view: View, obs: jax.Array, method: str | None = None
    ) -> jax.Array:
        """The network's output at the view's observations: [(copies,) …, outputs]."""
        network, looked_up = self._networks[name], bool(view.rows)

        def one(params: Any, x: jax.Array) -> jax.Array:
            out: jax.Array = network.apply(params, x, looked_up, method=method)
            return out

        x = view.rows[name] if looked_up else obs
        if self.nets[name].copies is not None:
            return jax.vmap(one, in_axes=(0, 0 if looked_up else None))(view.params[name], x)
        return one(view.params[name], x)

    def descend(
        self,
        state: Trained,
        view: View,
        grads: View,
        obs: jax.Array,
        member: Any = None,
    ) -> Trained:
        """One step of Adam, along gradients taken of `view` at `obs` [B]."""
        params, opt = {}, {}
        for name, adam in self._adams.items():
            step, opt[name] = adam.update(grads.params[name], _of(state.opt[name], member))
            params[name] = optax.apply_updates(_of(state.params[name], member), step)
        rows = state.rows
        if rows is not None:
            assert view.looked_up is not None, "descend takes a view made by to_train"
            index, now = self._index(obs, member), _of(state.updates, member)
            gradient = self._join(grads.rows)
            rows = lazy_adam.step(rows, index, view.looked_up, gradient, self._rates, now)
        return Trained(
            _with(state.params, member, params),
            _with(state.opt, member, opt),
            rows,
            _with(state.updates, member, _of(state.updates, member) + 1),
        )

    def scaled(
        self, state: Trained, factor: jax.Array, only: Mapping[str, int] | None = None
    ) -> Trained:
        """Networks whose outputs are `factor` times as large: the last layer of each is linear.

        Of a network that `only` names, only the given number of its first outputs; with hidden
        layers.
        """
        params = self.scaled_params(state.params, factor, only)
        rows = state.rows
        if rows is not None and not self._has_hidden:
            rows = rows._replace(values=rows.values * factor)
        return state._replace(params=params, rows=rows)

    def scaled_params(
        self, params: Mapping[str, Any], factor: jax.Array, only: Mapping[str, int] | None = None
    ) -> dict[str, Any]:
        """The parameters of some of the networks, scaled likewise."""
        last = "head" if self._has_hidden else "first"
        scaled = {}
        for name, tree in params.items():
            layers, end = tree["params"], (only or {}).get(name)

            def scale(x: jax.Array, end: int | None = end) -> jax.Array:
                return x * factor if end is None else x.at[:end].multiply(factor)

            scaled[name] = {**tree, "params": {**layers, last: jax.tree.map(scale, layers[last])}}
        return scaled

    def _init_member(self, key: jax.Array) -> Trained:
        params: dict[str, Any] = {}
        kernels = {}
        keys = jax.random.split(key, len(self.nets))
        for own_key, (name, net) in zip(keys, self.nets.items(), strict=True):
            init = self._networks[name].init
            if net.copies is None:
                tree = init(own_key, self._observation)
            else:
                own_keys = jax.random.split(own_key, net.copies)
                tree = jax.vmap(init, in_axes=(0, None))(own_keys, self._observation)
            params[name], kernels[name] = _without_kernel(tree) if self._n else (tree, None)
        opt = {name: adam.init(params[name]) for name, adam in self._adams.items()}
        rows = lazy_adam.create(self._join(kernels), self._together) if self._n else None
        return Trained(params, opt, rows, jnp.zeros((), jnp.int32))

    def _index(self, obs: jax.Array, member: Any) -> jax.Array:
        return obs if member is None else obs + member * self._n

    def _join(self, parts: dict[str, Any]) -> jax.Array:
        """First layers side by side: {name: [(copies,) …, H]} → [… , F]."""
        flat = []
        for name, net in self.nets.items():
            part = parts[name]
            if net.copies is not None:
                part = jnp.moveaxis(part, 0, -2)
                part = part.reshape(*part.shape[:-2], -1)
            flat.append(part)
        return jnp.concatenate(flat, axis=-1)

    def _split(self, joined: jax.Array) -> dict[str, jax.Array]:
        """The inverse of `_join`."""
        parts = {}
        start = 0
        for name, net in self.nets.items():
            width = self._widths[name]
            end = start + (net.copies or 1) * width
            part = joined[..., start:end]
            if net.copies is not None:
                part = part.reshape(*part.shape[:-1], net.copies, width)
                part = jnp.moveaxis(part, -2, 0)
            parts[name], start = part, end
        return parts


def _adam(rate: float | str) -> optax.GradientTransformation:
    return scheduled.adam(*rates.parse(rate)) if isinstance(rate, str) else optax.adam(rate)


def _first(rate: float | str) -> float:
    return rates.parse(rate).values[0] if isinstance(rate, str) else rate


def _without_kernel(tree: Any) -> tuple[Any, Any]:
    layers = dict(tree["params"])
    first = dict(layers["first"])
    kernel = first.pop("kernel")
    return {"params": layers | {"first": first}}, kernel


def _of(tree: Any, member: Any) -> Any:
    """One member of a tree stacked along its leading axis."""
    return tree if member is None else jax.tree.map(lambda x: x[member], tree)


def _with(tree: Any, member: Any, new: Any) -> Any:
    """The stacked tree with that member replaced."""
    if member is None:
        return new
    return jax.tree.map(lambda x, y: x.at[member].set(y), tree, new)
