"""Seeker where observations come back: a table of them, whatever they look like.

A place (x, y), a picture of a board, a vector of switches: no space says so, but the same few
observations are met again and again. Each gets a row when it is first met (isl.agents.seeker.rows),
and `tables` learns from the rows. As soon as rows run out, or most of what is met is new after
all, `networks` learns instead, for good, from the replay and the visits that were counted
beside the table. Which environments are read so is decided by random steps in a copy of them
(isl.training.python_envs.scout).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl.agents.base import Agent, Metrics, Transition
from isl.agents.seeker import networks, rows, tables
from isl.agents.seeker.config import Config
from isl.envs.kinds import Recurring
from isl.nn.networks import dummy_observation

MOST_PAIRS, MOST_ROWS, FEWEST_ROWS = 1 << 15, 1 << 14, 1 << 10  # of states and actions; of states
MOST_BYTES = 1 << 25  # of the observations of all rows
PATIENCE = 2000  # states that may be met before it is asked how many of them came back
METRICS = ("q", "ell", "unit")  # that both agents have
BELIEFS = ("q", "ell", "policy", "pareto", "value", "greedy")  # likewise


class Learner(NamedTuple):
    rows: rows.Rows
    table: tables.Learner
    networks: Any
    steps: jax.Array  # float32
    over: jax.Array  # bool: the table has been given up


class Changed(NamedTuple):
    """What an update changes of a table."""

    values: tables.Values
    cursor: jax.Array


class Episode(NamedTuple):
    table: Any
    networks: Any


def rows_for(num_actions: int, obs: jax.Array) -> int:
    """How many states the table has room for, with such observations: a power of two."""
    rows = MOST_ROWS
    while rows > FEWEST_ROWS and (
        rows * num_actions > MOST_PAIRS or rows * obs.nbytes > MOST_BYTES
    ):
        rows //= 2
    return rows


# Long: every function of an agent, each a choice between two.
def make(cfg: Config, space: Recurring, num_actions: int) -> Agent:
    """Seeker for observations that come back."""
    like = dummy_observation(space)
    room = rows_for(num_actions, like)
    by_table = tables.make(cfg, Discrete(room), num_actions)
    by_networks = networks.make(cfg, space.space, num_actions)

    def init(key: jax.Array) -> Learner:
        table = by_table.init(key)
        never = jnp.zeros((), jnp.bool_)
        return Learner(
            rows.no_rows(room, like), table, by_networks.init(key), jnp.float32(0), never
        )

    def begin_episode(learner: Learner, key: jax.Array) -> Episode:
        return Episode(
            by_table.begin_episode(learner.table, key),
            by_networks.begin_episode(learner.networks, key),
        )

    def row_of(learner: Learner, obs: jax.Array) -> jax.Array:
        """Of what was never met: a row that nothing is known of."""
        return jnp.minimum(rows.find(learner.rows, obs).row, room - 1)

    def act(
        learner: Learner, episode: Episode, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        action: jax.Array = jax.lax.cond(
            learner.over,
            lambda: by_networks.act(learner.networks, episode.networks, obs, key, mask),
            lambda: by_table.act(learner.table, episode.table, row_of(learner, obs), key, mask),
        )
        return action

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        action: jax.Array = jax.lax.cond(
            learner.over,
            lambda: by_networks.exploit(learner.networks, obs, mask),
            lambda: by_table.exploit(learner.table, row_of(learner, obs), mask),
        )
        return action

    def observe(learner: Learner, now: Transition, key: jax.Array) -> tuple[Learner, Transition]:
        inner, item = by_networks.observe(learner.networks, now, key)
        found, row = rows.added(learner.rows, now.obs, learner.over)
        found, next_row = rows.added(found, now.next_obs, learner.over)
        # Once it is given up, all that is met goes to the last row: that is cheaper than a branch,
        # which would copy the table.
        own, following = (jnp.where(learner.over, room - 1, each) for each in (row, next_row))
        table, _ = by_table.observe(learner.table, now._replace(obs=own, next_obs=following), key)
        steps = learner.steps + 1
        over = learner.over | given_up(found, steps, room)
        return Learner(found, table, inner, steps, over), item

    def update(
        learner: Learner, frozen: Any, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        def with_networks(_: Any, carry: tuple[Any, Metrics]) -> tuple[Any, Metrics]:
            inner, metrics = by_networks.update(carry[0], frozen, batch, key)
            return inner, shared(metrics)

        def with_table(_: Any, carry: tuple[Changed, Metrics]) -> tuple[Changed, Metrics]:
            values, cursor = carry[0]
            now = learner.table._replace(values=values, cursor=cursor)
            table, metrics = by_table.update(now, (), batch, key)
            return Changed(table.values, table.cursor), shared(metrics)

        # Loops of one round or none: a branch would copy the networks and the table.
        nothing = dict.fromkeys(METRICS, jnp.float32(0))
        by_net = learner.over.astype(jnp.int32)
        inner, told = jax.lax.fori_loop(0, by_net, with_networks, (learner.networks, nothing))
        changed = Changed(learner.table.values, learner.table.cursor)
        changed, metrics = jax.lax.fori_loop(0, 1 - by_net, with_table, (changed, told))
        table = learner.table._replace(values=changed.values, cursor=changed.cursor)
        metrics["known_states"] = learner.rows.known.astype(jnp.float32)
        return learner._replace(table=table, networks=inner), metrics

    def target(learner: Learner) -> Any:
        return by_networks.target(learner.networks)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        row = row_of(learner, obs)
        of_table = by_table.inspect(learner.table, row)
        of_networks = by_networks.inspect(learner.networks, obs)
        told = {
            name: jnp.where(learner.over, of_networks[name], of_table[name]) for name in BELIEFS
        }
        return told | {"visits": of_table["visits"]}

    def track(
        learner: Learner, episode: Episode, now: Transition, last: jax.Array
    ) -> tuple[Learner, Episode, Transition]:
        assert by_networks.track is not None
        assert by_table.track is not None
        inner, own, now = by_networks.track(learner.networks, episode.networks, now, last)
        _, at_table, _ = by_table.track(learner.table, episode.table, now, last)
        return learner._replace(networks=inner), Episode(at_table, own), now

    parts = init, begin_episode, act, exploit, observe, update, target, inspect, track
    return Agent(by_networks.schedule, *parts)


def given_up(found: rows.Rows, steps: jax.Array, room: int) -> jax.Array:
    """Whether rows run out (the last one stays free), or most of what is met is new."""
    mostly_new = found.known > jnp.maximum(PATIENCE, steps / 2)
    return mostly_new | (found.known >= room - 2)


def shared(metrics: Metrics) -> Metrics:
    """What both agents log."""
    return {name: metrics[name].astype(jnp.float32) for name in METRICS}
