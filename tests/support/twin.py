"""What the tests against the NumPy twins share: batches made by hand, and what counts as equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

from isl.agents.base import Agent, Transition
from isl.nn.approximators import Frozen, Trained
from tests.reference.agents import Batch
from tests.reference.networks import Adam, Layers, layers_of, rows_of

ACTIONS = 3
SPACES = {"discrete": Discrete(5), "box": Box(-2, 2, (2, 2), np.float32)}
CASES = {  # a space, and whether some actions are masked there
    "discrete": (SPACES["discrete"], False),
    "box": (SPACES["box"], False),
    "masked": (SPACES["discrete"], True),
}
TOLERANCE = 1e-5


def transitions(space: Any) -> Transition:
    """Eight transitions: each action, one cut short at the end of an episode, two terminal."""
    rng = np.random.default_rng(7)
    if isinstance(space, Discrete):
        obs, next_obs = np.array([[0, 1, 2, 3, 4, 0, 1, 1], [1, 2, 3, 4, 0, 0, 4, 2]], np.int32)
    else:
        obs, next_obs = rng.uniform(-2, 2, (2, 8, *space.shape)).astype(np.float32)
    return Transition(
        obs=jnp.asarray(obs),
        action=jnp.array([0, 1, 2, 1, 0, 2, 0, 1], jnp.int32),
        reward=jnp.array([0.0, 1.0, -0.5, 2.0, 0.1, -1.0, 0.7, 0.3], jnp.float32),
        discount=jnp.array([1, 1, 0, 1, 1, 0, 1, 1], jnp.float32),
        next_obs=jnp.asarray(next_obs),
    )


def masked(batch: Transition) -> Transition:
    """The same transitions with some actions forbidden, at s′ all of them at the end of one."""
    here = [[1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0]]
    mask = [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [1, 0, 1]]
    return batch._replace(next_mask=jnp.asarray(mask, bool), mask=jnp.asarray(here, bool))


def plain(space: Any, batch: Transition) -> Batch:
    """The same batch for the twins."""
    return Batch(
        obs=rows_of(space, batch.obs),
        action=np.asarray(batch.action),
        reward=np.asarray(batch.reward, np.float64),
        discount=np.asarray(batch.discount, np.float64),
        next_obs=rows_of(space, batch.next_obs),
        next_mask=None if batch.next_mask is None else np.asarray(batch.next_mask),
        mask=None if batch.mask is None else np.asarray(batch.mask),
    )


# Tests run a program once or twice: XLA may compile it in a hurry.
hurried = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def in_training(function: Callable[..., Any], *args: Any, seed: int) -> Any:
    """A state shaped like `function(*args)`, with numbers as after some training.

    At the start biases are zero, and Adam's step is the sign of the gradient: a wrong factor in a
    loss would pass, and rounding of a gradient near zero would not.
    """
    rng = np.random.default_rng(seed)

    def fill(path: Any, x: jax.ShapeDtypeStruct) -> jax.Array:
        name = jax.tree_util.keystr(path)
        if jnp.issubdtype(x.dtype, jnp.integer):
            return jnp.asarray(np.full(x.shape, 4), x.dtype)
        if ".nu" in name or ".root" in name:
            return jnp.asarray(rng.uniform(0.5, 1.5, x.shape), x.dtype)
        scale = 0.1 if ".mu" in name or ".first" in name or "bias" in name else 0.4
        return jnp.asarray(scale * rng.normal(size=x.shape), x.dtype)

    return jax.tree_util.tree_map_with_path(fill, jax.eval_shape(function, *args))


def learner_and_target(agent: Agent) -> tuple[Any, Any]:
    """Two different sets of parameters, both as after some training: 4 updates, and 3."""
    learner = in_training(agent.init, jax.random.key(0), seed=0)
    target = in_training(agent.target, learner, seed=1)
    earlier = lambda x: x - 1 if jnp.issubdtype(x.dtype, jnp.integer) else x  # noqa: E731
    return learner, jax.tree.map(earlier, target)


class Nets:
    """The networks of one `Trained` (or of its `target`) for the twins.

    `copies` names them in their order, each with its number of copies or None.
    """

    def __init__(
        self,
        state: Trained,
        copies: dict[str, int | None],
        member: int | None = None,
        target: Frozen | None = None,
    ) -> None:
        pick = lambda tree: tree if member is None else jax.tree.map(lambda x: x[member], tree)  # noqa: E731
        self._params = pick(state.params if target is None else target.params)
        self._opt, self._count = pick(state.opt), int(pick(state.updates))
        self._rows, self._copies = state.rows, copies
        self._which = 0 if target is None else 1  # of a row's two values
        self._block = member or 0

    def layers(self, name: str, copy: int | None = None) -> Layers:
        table = None
        if self._rows is not None:
            axis = 0 if self._rows.stamp.ndim == 0 else 1  # all rows together, or each by itself
            table = jnp.take(self._rows.values, self._which, axis)
        return self._layers(self._params[name], name, copy, table)

    def adam(self, name: str, copy: int | None = None) -> Adam:
        moments, rows = self._opt[name][0], self._rows
        assert int(moments.count) == self._count
        return Adam(
            self._count,
            self._layers(moments.mu, name, copy, None if rows is None else rows.first),
            self._layers(moments.nu, name, copy, None if rows is None else rows.root**2),
        )

    def _layers(self, tree: Any, name: str, copy: int | None, table: Any) -> Layers:
        if table is not None:
            parts = sum(n or 1 for n in self._copies.values())
            n = SPACES["discrete"].n
            blocks = np.asarray(table[self._block * n : (self._block + 1) * n], np.float64)
            names = list(self._copies)
            before = sum(self._copies[other] or 1 for other in names[: names.index(name)])
            table = blocks.reshape(n, parts, -1)[:, before + (copy or 0)]
        return layers_of(tree, () if copy is None else (copy,), table)


def shares(agent: Agent, learner: Any, obs: jax.Array, draws: int = 20_000) -> Any:
    """How often the agent takes each action."""
    keys = jax.random.split(jax.random.key(1), draws)
    act = hurried(jax.vmap(lambda key: agent.act(learner, (), obs, key)))
    return np.bincount(np.asarray(act(keys)), minlength=ACTIONS) / draws


def everywhere(agent: Agent, learner: Any, states: int) -> dict[str, Any]:
    """What the agent believes in every state of a Discrete space."""
    look = hurried(jax.vmap(agent.inspect, in_axes=(None, 0)))
    return {name: np.asarray(x) for name, x in look(learner, jnp.arange(states)).items()}


def trained(agent: Agent, learner: Any, batch: Any, updates: int) -> Any:
    """The learner after so many updates on one batch, each with fresh targets."""

    @jax.jit
    def train(learner: Any) -> Any:
        def one(_: Any, learner: Any) -> Any:
            return agent.update(learner, agent.target(learner), batch, jax.random.key(0))[0]

        return jax.lax.fori_loop(0, updates, one, learner)

    return train(learner)


def assert_same(actual: Any, expected: Any) -> None:
    """Equal to 1e-5 of the largest number, or to 1e-5 if that is below one."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max())


def assert_same_layers(actual: Layers, expected: Layers) -> None:
    for one, other in zip(actual, expected, strict=True):
        assert_same(one.kernel, other.kernel)
        assert (one.bias is None) == (other.bias is None)
        if other.bias is not None:
            assert_same(one.bias, other.bias)


def assert_same_adam(actual: Adam, expected: Adam) -> None:
    assert actual.count == expected.count
    assert_same_layers(actual.mean, expected.mean)
    assert_same_layers(actual.square, expected.square)
