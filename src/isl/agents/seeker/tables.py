"""Seeker where every observation is a row of a table: a model of what was seen, and sweeps over it.

No network, no learning rate, no replay. `observe` counts what every action led to, so that
reward, successors and the end of episodes are known as frequencies. `update` goes backwards
through the states in the order of their discovery and applies, to a block of them at a time,

    g(s,a) = r + γ E max g(s′)                     the values that `exploit` follows
    q(s,a) = r + γ E v*(s′)                        those that π* needs (eq. 18d)
    ℓ(s,a) = u + (1 − u) · γ_ℓ · E max ℓ(s′)       in [0, 1]; 1 where nothing was tried

u(s,a) in [0, 1] is the uncertainty of one step. All three are averages of bounded targets with a
discount, so they converge whatever the order of the sweeps, and nothing is forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition
from isl.agents.seeker.config import Config
from isl.agents.wrappers.scale_rewards import Seen, include, known_unit, nothing_seen
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value

FORBIDDEN = -1.0
BLOCK = 64  # states that are computed at once; each sees what the blocks before it gave
LONGEST_WALK = 1000  # steps of an episode that the greedy policy plays, before exploring takes over


class Counts(NamedTuple):
    """What actions led to: every array is [S, A] or, per successor, [S, A, K]."""

    visits: jax.Array  # FORBIDDEN where a mask forbids the action
    reward: jax.Array  # mean
    square: jax.Array  # mean of its square
    successor: jax.Array  # int32
    times: jax.Array  # how often it followed; 0: the place is free
    discount: jax.Array  # mean of the discount with it


class Values(NamedTuple):
    """Of every action [S, A]; `ahead` is what the backups of other states read of a state."""

    g: jax.Array
    q: jax.Array
    ell: jax.Array  # in [0, 1]
    ahead: jax.Array  # [S, 3]: max g, v*, max ℓ


class Learner(NamedTuple):
    counts: Counts
    values: Values
    order: jax.Array  # int32 [S]: the states in the order of their discovery
    known: jax.Array  # how many there are
    cursor: jax.Array  # where the next sweep goes on
    seen: Seen  # what the unit of the returns is made from


class Episode(NamedTuple):
    greedily: jax.Array  # bool: whether the greedy policy plays it
    steps: jax.Array  # int32, so far


def counted(counts: Counts, now: Transition) -> Counts:
    """One more step. Of more than K successors the rarest gives way."""
    at = (now.obs, now.action)
    visits = counts.visits[at] + 1

    def mean(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[at].add((new - old[at]) / visits)

    same = (counts.successor[at] == now.next_obs) & (counts.times[at] > 0)
    place = jnp.where(same.any(), jnp.argmax(same), jnp.argmin(counts.times[at]))
    times = jnp.where(same.any(), counts.times[at][place], 0.0) + 1
    before = jnp.where(same.any(), counts.discount[at][place], 0.0)
    where = (*at, place)
    return Counts(
        visits=counts.visits.at[at].set(visits),
        reward=mean(counts.reward, now.reward),
        square=mean(counts.square, now.reward**2),
        successor=counts.successor.at[where].set(now.next_obs),
        times=counts.times.at[where].set(times),
        discount=counts.discount.at[where].set(before + (now.discount - before) / times),
    )


def one_step_uncertainty(
    power: float, visits: jax.Array, outcomes: jax.Array, variance: jax.Array, unit: jax.Array
) -> jax.Array:
    """u in [0, 1]: of what an action leads to, or of the mean of what it pays, if that is more.

    The first falls with the visits per outcome that was met; the second is the standard error of
    the one-step target, in units of the returns.
    """
    unknown = (1 + visits / jnp.maximum(outcomes, 1)) ** -power
    error = jnp.sqrt(variance / jnp.maximum(visits, 1)) / unit
    return jnp.minimum(jnp.maximum(unknown, error), 1.0)


def marked(counts: Counts, state: jax.Array, mask: jax.Array) -> Counts:
    """The counts that know which actions the mask [A] forbids in a state."""
    visits = jnp.where(mask, jnp.maximum(counts.visits[state], 0), FORBIDDEN)
    return counts._replace(visits=counts.visits.at[state].set(visits))


def backup(
    cfg: Config,
    counts: Counts,
    values: Values,
    rows: jax.Array,
    unit: jax.Array,
    masked: bool = False,
) -> Values:
    """The values with those of the states `rows` [B] computed anew; `masked`: see `marked`."""
    own: Counts = jax.tree.map(lambda x: x[rows], counts)
    tried = own.visits > 0
    share = own.times / jnp.maximum(jnp.sum(own.times, -1, keepdims=True), 1)
    following = values.ahead[own.successor] * own.discount[..., None]  # [B, A, K, 3]
    ahead = jnp.sum(share[..., None] * following, axis=2)
    spread = jnp.sum(share * following[..., 0] ** 2, -1) - ahead[..., 0] ** 2
    noise = own.square - own.reward**2
    variance = jnp.maximum(noise, 0) + cfg.gamma**2 * jnp.maximum(spread, 0)
    u = one_step_uncertainty(
        cfg.novelty_power, own.visits, jnp.sum(own.times > 0, -1), variance, unit
    )
    g = jnp.where(tried, own.reward + cfg.gamma * ahead[..., 0], 0.0)
    q = jnp.where(tried, own.reward + cfg.gamma * ahead[..., 1], 0.0)
    ell = jnp.where(tried, u + (1 - u) * cfg.ell_gamma * ahead[..., 2], 1.0)
    if masked:
        q, ell = base.allowed(q, ell, own.visits != FORBIDDEN)
    best = jnp.max(jnp.where(tried, g, -jnp.inf), -1)  # of what was tried
    v = uc_value(q, jnp.maximum(ell, cfg.ell_min), cfg.kappa * unit)  # eq. (11)
    told = jnp.stack([best, v, jnp.max(ell, -1)], -1)
    new = Values(g, q, ell, told)
    after: Values = jax.tree.map(lambda old, x: old.at[rows].set(x), values, new)
    return after


def swept(cfg: Config, learner: Learner, masked: bool = False) -> Learner:
    """After backups of `sweep` states, backwards in the order of discovery, block by block."""
    unit, known = known_unit(learner.seen), jnp.maximum(learner.known, 1)
    block = min(cfg.sweep, BLOCK)

    def one_block(i: jax.Array, carry: tuple[Values, jax.Array]) -> tuple[Values, jax.Array]:
        values, cursor = carry
        rows = learner.order[jnp.mod(cursor - jnp.arange(block, dtype=jnp.int32), known)]
        values = backup(cfg, learner.counts, values, rows, unit, masked)
        return values, jnp.mod(cursor - block, known)

    begin = (learner.values, learner.cursor)
    values, cursor = jax.lax.fori_loop(0, -(-cfg.sweep // block), one_block, begin)
    return learner._replace(values=values, cursor=cursor)


def fresh(states: int, actions: int, successors: int) -> Learner:
    """Nothing is known: ℓ is 1 everywhere."""
    pairs = jnp.zeros((states, actions))
    places = jnp.zeros((states, actions, successors))
    ahead = jnp.tile(jnp.asarray([0.0, 0.0, 1.0]), (states, 1))
    zero = jnp.zeros((), jnp.int32)
    return Learner(
        Counts(pairs, pairs, pairs, places.astype(jnp.int32), places, places),
        Values(pairs, pairs, pairs + 1.0, ahead),
        jnp.zeros(states, jnp.int32),
        zero,
        zero,
        nothing_seen(),
    )


def tracked(
    learner: Learner, episode: Episode, now: Transition, last: jax.Array
) -> tuple[Learner, Episode, Transition]:
    """`track`: without a limit of steps a greedy policy may go in a circle for ever."""
    steps = episode.steps + 1
    return learner, Episode(episode.greedily & (steps < LONGEST_WALK), steps), now


def make(cfg: Config, space: Discrete, num_actions: int) -> Agent:
    """Seeker for a table."""
    states = int(space.n)

    def init(key: jax.Array) -> Learner:
        return fresh(states, num_actions, cfg.successors)

    def beliefs(learner: Learner, obs: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """q, ℓ in [ell_min, 1], and κ in the environment's rewards."""
        values, unit = learner.values, known_unit(learner.seen)
        return values.q[obs], jnp.maximum(values.ell[obs], cfg.ell_min), cfg.kappa * unit

    def known_values(learner: Learner, obs: jax.Array) -> jax.Array:
        """g(s, ·); an action that was never tried is below all that were."""
        g, tried = learner.values.g[obs], learner.counts.visits[obs] > 0
        least = jnp.min(jnp.where(tried, g, 0.0))
        return jnp.where(tried, g, least - known_unit(learner.seen))

    def begin_episode(learner: Learner, key: jax.Array) -> Episode:
        return Episode(jax.random.uniform(key) < cfg.greedy_share, jnp.int32(0))

    def act(
        learner: Learner, episode: Episode, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        q, ell, kappa = beliefs(learner, obs)
        explored = base.sampled(
            uc_policy(*base.allowed(q, ell, mask), kappa), key, mask
        )  # eq. (10)
        return jnp.where(episode.greedily, exploit(learner, obs, mask), explored)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return base.greedy(known_values(learner, obs), mask)

    def observe(learner: Learner, now: Transition, key: jax.Array) -> tuple[Learner, Transition]:
        if now.mask is not None:
            learner = learner._replace(counts=marked(learner.counts, now.obs, now.mask))
        new = jnp.sum(learner.counts.visits[now.obs] > 0) == 0
        place = jnp.where(new, learner.known, states)  # beyond the end: nowhere
        return learner._replace(
            counts=counted(learner.counts, now),
            order=learner.order.at[place].set(now.obs, mode="drop"),
            known=learner.known + new,
            seen=include(learner.seen, now.reward, now.discount, cfg.gamma),
        ), now

    def update(
        learner: Learner, frozen: tuple[()], batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        learner = swept(cfg, learner, masked=batch.mask is not None)
        latest = learner.order[learner.cursor]
        metrics = {
            "q": jnp.max(learner.values.g[latest]),
            "ell": jnp.max(learner.values.ell[latest]),
            "known_states": learner.known.astype(jnp.float32),
            "unit": known_unit(learner.seen),
        }
        return learner, metrics

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        """In the environment's rewards; ℓ in them too."""
        q, ell, kappa = beliefs(learner, obs)
        return {
            "q": q,
            "ell": ell * known_unit(learner.seen),
            "policy": uc_policy(q, ell, kappa),
            "pareto": pareto_optimal(q, ell),
            "value": uc_value(q, ell, kappa),
            "greedy": known_values(learner, obs),
            "visits": jnp.maximum(learner.counts.visits[obs], 0),
        }

    schedule = base.schedule_of(cfg)._replace(batch_size=1, learning_starts=1)
    return Agent(
        schedule, init, begin_episode, act, exploit, observe, update, lambda _: (), inspect, tracked
    )
