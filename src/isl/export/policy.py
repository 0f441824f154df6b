"""An agent's greedy policy and beliefs as a program.

Tables are evaluated once, for all observations that there are: the program looks up what was found.
Elsewhere the agent's own functions are traced, so that whatever they are made of is exported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete, Space
from numpy.typing import NDArray

from isl.agents.base import Agent
from isl.agents.seeker.rows import forgotten
from isl.envs import encoding, joined, spaces
from isl.envs.kinds import Recurring
from isl.errors import UsageError
from isl.export.graph import Value, graph_of, needed
from isl.export.lower import Lowering
from isl.export.program import Input, NotExportable, Program

ACTION = "action"
ROWS = 4096  # of a table that are evaluated at a time
MOST_NUMBERS = 1 << 28  # in the tables of a file: 1 GiB

Choice = Callable[[Any], dict[str, jax.Array]]  # of one observation as it is stored


def program_of(
    agent: Agent, learner: Any, observations: spaces.Observations, actions: spaces.Actions
) -> Program:
    """From the environment's observations to its actions, and to what the agent believes."""
    program = Program(_inputs(observations.space))
    choose = _choice(agent, learner, observations)
    space, encode = observations.space, observations.encode
    if observations.kind == "parts":
        encode = joined.without_bytes(space)

    def function(*parts: jax.Array) -> dict[str, jax.Array]:
        found = choose(encode(_nested(space, parts), jnp))
        return {**found, ACTION: _decoded(actions.space, found[ACTION])}

    given = [(each.shape, jax.dtypes.canonicalize_dtype(each.dtype)) for each in program.inputs]
    try:
        inputs, results = graph_of(function, given)
        _fill(program, inputs, results)
    except NotExportable as error:
        raise UsageError(f"the policy cannot be exported: {error}") from None
    return program


def _inputs(space: Space[Any]) -> list[Input]:
    return [
        Input("/".join(map(str, part.path)) or "observation", part.path, part.shape, _dtype(part))
        for part in encoding.parts(space)
    ]


def _dtype(part: encoding.Part) -> str:
    return "int64" if isinstance(part.space, Discrete) else str(np.dtype(part.space.dtype))


def _nested(space: Space[Any], parts: tuple[jax.Array, ...]) -> Any:
    """An observation from its parts, in Gymnasium's order."""
    found: dict[tuple[Any, ...], Any] = {}
    for part, value in zip(encoding.parts(space), parts, strict=True):
        found[part.path] = value
    return _Nested(found, ()) if () not in found else found[()]


class _Nested:
    """Indexed as the Dict or Tuple that it stands for."""

    def __init__(self, leaves: dict[tuple[Any, ...], Any], path: tuple[Any, ...]) -> None:
        self._leaves, self._path = leaves, path

    def __getitem__(self, key: Any) -> Any:
        path = (*self._path, key)
        return self._leaves[path] if path in self._leaves else _Nested(self._leaves, path)


def _choice_of(agent: Agent, learner: Any) -> Choice:
    """What the agent does and believes."""

    def choose(obs: Any) -> dict[str, jax.Array]:
        beliefs = agent.inspect(learner, obs)
        if ACTION in beliefs:
            raise UsageError(f"the agent has a belief called {ACTION!r}: give it another name")
        return {**beliefs, ACTION: agent.exploit(learner, obs)}

    return choose


def _choice(agent: Agent, learner: Any, observations: spaces.Observations) -> Choice:
    """The same in operations that can be exported."""
    choose = _choice_of(agent, learner)
    if isinstance(observations.seen, Recurring) and not learner.over:
        return _where_they_came_back(agent, learner, choose)
    if not isinstance(observations.stored, Discrete) or observations.expand is not None:
        return choose
    tables = _tables(choose, int(observations.stored.n))
    return lambda row: {
        name: jnp.asarray(table).at[row].get(mode="promise_in_bounds")
        for name, table in tables.items()
    }


def _where_they_came_back(agent: Agent, learner: Any, choose: Choice) -> Choice:
    """A look-up by comparison with all observations that were met, then what is said of others."""
    rows, number = learner.rows, int(learner.rows.known)
    met = np.asarray(rows.obs[:number])
    known = jax.device_get(jax.jit(jax.vmap(choose))(met)) if number else {}
    blank = learner._replace(rows=forgotten(rows))
    unknown = jax.device_get(_choice_of(agent, blank)(rows.obs[0]))
    tables = {
        name: np.concatenate([*([known[name]] if number else []), np.asarray(x)[None]])
        for name, x in unknown.items()
    }

    def look_up(obs: jax.Array) -> dict[str, jax.Array]:
        same = jnp.all(obs[None] == met, axis=tuple(range(1, met.ndim)))
        row = jnp.argmax(jnp.append(same, jnp.ones((), jnp.bool_)))  # the last one fits all
        return {
            name: jnp.asarray(table).at[row].get(mode="promise_in_bounds")
            for name, table in tables.items()
        }

    return look_up


def _tables(choose: Choice, number: int) -> dict[str, NDArray[Any]]:
    """What is chosen and believed at each observation."""
    one = jax.eval_shape(choose, jax.ShapeDtypeStruct((), np.int32))
    numbers = number * sum(x.size for x in one.values())
    if numbers > MOST_NUMBERS:
        raise UsageError(
            f"the policy's tables have {numbers:,} numbers; at most {MOST_NUMBERS:,} are exported"
        )
    evaluate, size = jax.jit(jax.vmap(choose)), min(ROWS, number)
    found = []
    for start in range(0, number, size):
        rows = np.minimum(np.arange(start, start + size, dtype=np.int32), number - 1)
        found.append(jax.device_get(evaluate(rows)))
    return {name: np.concatenate([part[name] for part in found])[:number] for name in one}


def _decoded(space: Space[Any], index: jax.Array) -> jax.Array:
    """The environment's action (isl.envs.spaces.actions) in operations that can be exported."""
    if isinstance(space, Discrete):
        return index + np.int32(space.start)
    assert isinstance(space, MultiDiscrete)
    strides = np.append(np.cumprod(space.nvec[:0:-1])[::-1], 1).astype(np.int32)
    parts = (index[None] // strides) % space.nvec.astype(np.int32)
    return parts + np.asarray(space.start, np.int32)


def _fill(program: Program, inputs: list[Value], results: dict[str, Value]) -> None:
    """The steps to the action, and to every belief that can be had."""
    lowering = Lowering(program)
    for value, each in zip(inputs, program.inputs, strict=True):
        lowering.input(value, each.name)
    for name in sorted(results, key=lambda name: name != ACTION):
        try:
            for value in needed([results[name]]):
                lowering.add(value)
        except NotExportable:
            if name == ACTION:
                raise
            program.left_out.append(name)
            continue
        full = lowering.full(results[name])
        wanted = lowering.cast(full, np.int64) if name == ACTION else full
        program.outputs[name] = wanted.name
    program.prune()
