"""Seeker on vectors and images: three things that networks learn (isl.agents.seeker.heads), and
visits to similar observations, which are counted (familiarity).

    g(s, ·)   the values of argmax, which `exploit` follows; learned as stable_dqn's are
    q̂(s, ·)   the values of π*
    h(s, ·)   how much that is unknown lies ahead

    g_T = r + γ g̃(s′, argmax g(s′)), with wider gaps between actions
    q_T = r + γ v*(s′)                                          eq. (18d)
    h_T = γ_ℓ max ℓ(s′),   ℓ = u + (1 − u)·h   in [0, 1]

u counts visits and h is a logistic output, so ℓ cannot diverge. Against divergence of g and q̂:
layers are normalised, heads start at 0, errors count linearly beyond one unit of returns, and
targets stand still for `target_period` updates. Against flicker: gaps between actions are wider
than the networks' errors, the greedy policy has an average of the parameters, `exploit` follows the
one that did best in training (isl.agents.wrappers.keep_best), and the episodes that show it train
g where its own policy leads.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl.agents import base, of_symbols
from isl.agents.base import Agent, Metrics, Transition, taken
from isl.agents.seeker import familiarity
from isl.agents.seeker.config import Config
from isl.agents.seeker.heads import Heads, seen
from isl.agents.shapes import assert_shapes
from isl.agents.stable_dqn import double_q_target, share_of_newest, with_wider_gap
from isl.agents.weariness import Been, Place, places, staler
from isl.agents.wrappers.at_any_scale import at_any_scale
from isl.agents.wrappers.stretches import over_the_stretch
from isl.envs.joined import Joined
from isl.envs.kinds import Symbols, is_image
from isl.nn.approximators import Frozen, Trained
from isl.nn.codes import Codes, image_codes, symbol_codes, vector_codes
from isl.nn.joined_codes import joined_codes
from isl.nn.step import Reads
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value


class Learner(NamedTuple):
    values: Trained  # the networks
    average: Any  # over the latest updates, of the parameters that g depends on
    visits: jax.Array  # [codes, cells, A]


class Beliefs(NamedTuple):
    """What the networks and ℓ say of a transition, each of all actions [A]."""

    g_tm1: jax.Array  # g(s, ·), where the stretch began
    q_tm1: jax.Array  # q̂(s, ·)
    h_tm1: jax.Array  # the log-odds of h(s, ·)
    g_ahead: jax.Array  # g(s′, ·), as it is now
    g_t: jax.Array  # g(s′, ·), frozen
    q_t: jax.Array  # q̂(s′, ·), frozen
    ell_t: jax.Array  # ℓ(s′, ·)


class Losses(NamedTuple):
    g: jax.Array
    q: jax.Array
    h: jax.Array


def losses(cfg: Config, now: Transition, told: Beliefs) -> tuple[Losses, Metrics]:
    """The losses of one transition, and what is worth logging."""
    assert_shapes(told, [now.reward, now.discount])
    far = over_the_stretch(now)
    g, q, h = taken(told.g_tm1, far.action), *(taken(x, now.action) for x in told[1:3])
    g_target = double_q_target(cfg.gamma, far, told.g_ahead, told.g_t)
    g_target = with_wider_gap(cfg.action_gap, g_target, told.g_tm1, far)
    v = uc_value(*base.allowed(told.q_t, told.ell_t, now.next_mask), cfg.kappa)  # eq. (11)
    q_target = stop_gradient(now.reward + cfg.gamma * now.discount * v)  # eq. (18d)
    most = jnp.max(base.among(told.ell_t, now.next_mask))
    h_target = stop_gradient(cfg.ell_gamma * now.discount * most)
    own = Losses(
        optax.huber_loss(g, g_target),
        optax.huber_loss(q, q_target),
        optax.sigmoid_binary_cross_entropy(h, h_target),
    )
    return own, {"td_error": jnp.abs(g_target - g), "loss_q": own.q, "q": g, "ell": most}


def make(cfg: Config, space: Space[Any], num_actions: int, *, layer_norm: bool = True) -> Agent:
    """Seeker for vectors and images."""
    cfg = of_symbols.discounted(cfg, seen(space))
    heads = Heads(cfg, space, num_actions, layer_norm=layer_norm)
    place = places(seen(space), cfg.repeat_cost)
    agent = assemble(cfg, heads, _codes(cfg, seen(space), num_actions), num_actions, place)

    def greedy_values(learner: Learner, policy: Any, obs: jax.Array) -> jax.Array:
        return heads.values_of(learner.values, policy, obs)

    def rescale(learner: Learner, factor: jax.Array) -> Learner:
        average = heads.scaled_policy(learner.average, factor)
        return learner._replace(values=heads.scaled(learner.values, factor), average=average)

    return at_any_scale(
        agent,
        space=seen(space),
        gamma=cfg.gamma,
        greedy_share=cfg.greedy_share,
        practice=cfg.practice,
        repeat_cost=cfg.repeat_cost,
        longest_stretch=cfg.longest_stretch,
        num_actions=num_actions,
        rescale=rescale,
        values=greedy_values,
    )


def assemble(
    cfg: Config, heads: Heads, codes: Codes, num_actions: int, place: Place | None = None
) -> Agent:
    """The agent on given networks and codes, in units of the returns.

    With a `place` its episode is what was done in it (isl.agents.weariness).
    """

    networks = heads.networks

    def init(key: jax.Array) -> Learner:
        fresh = networks.init(key)
        return Learner(fresh, heads.policy(fresh), familiarity.no_visits(codes.number, num_actions))

    def novelty(visits: jax.Array, obs: jax.Array) -> jax.Array:
        return familiarity.novelty(visits, codes.encode(obs), codes.power, codes.alone)

    def ell_of(visits: jax.Array, obs: jax.Array, odds: jax.Array) -> jax.Array:
        u = novelty(visits, obs)
        return jnp.maximum(u + (1 - u) * jax.nn.sigmoid(odds), cfg.ell_min)

    def explored(learner: Learner, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """q̂(s, ·) and ℓ(s, ·)."""
        told = heads.read(learner.values, obs)
        return told.q, ell_of(learner.visits, obs, told.h)

    def act(
        learner: Learner, been: Been, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        q, ell = explored(learner, obs)
        ell = jnp.maximum(staler(place, been, obs, ell), cfg.ell_min)
        policy = uc_policy(*base.allowed(q, ell, mask), cfg.kappa)  # eq. (10)
        return base.sampled(policy, key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return base.greedy(heads.g(networks.read(learner.values, obs)), mask)

    def observe(learner: Learner, now: Transition, key: jax.Array) -> tuple[Learner, Transition]:
        visits = familiarity.visited(learner.visits, codes.encode(now.obs), now.action)
        return learner._replace(visits=visits), now

    def update(
        learner: Learner, frozen: Frozen, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        def loss(reads: Reads) -> tuple[jax.Array, Metrics]:
            now, then = heads.told(reads.online), heads.told(reads.target)
            ell_t = ell_of(learner.visits, batch.next_obs, then.h)
            g_tm1 = now.g
            if batch.since is not None:
                g_tm1 = heads.g(reads.online.at(batch.since.obs))
            g_ahead = heads.g(reads.ahead)
            told = Beliefs(g_tm1, now.q, now.h, g_ahead, then.g, then.q, ell_t)
            return base.mean_loss(partial(losses, cfg), batch, told)

        trained, metrics = networks.step(learner.values, frozen, batch.obs, batch.next_obs, loss)
        share = share_of_newest(cfg.averaging, trained.updates)
        average = optax.incremental_update(heads.policy(trained), learner.average, share)
        return Learner(trained, average, learner.visits), metrics

    def target(learner: Learner) -> Frozen:
        return networks.freeze(learner.values)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        q, ell = explored(learner, obs)
        return {
            "q": q,
            "ell": ell,
            "policy": uc_policy(q, ell, cfg.kappa),
            "pareto": pareto_optimal(q, ell),
            "value": uc_value(q, ell, cfg.kappa),
            "novelty": novelty(learner.visits, obs),
        }

    schedule = base.schedule_of(cfg, random_start=True)
    return Agent(schedule, init, base.no_episode, act, exploit, observe, update, target, inspect)


def _codes(cfg: Config, space: Space[Any], num_actions: int) -> Codes:
    """What visits are counted by, and how fast they make an observation known."""
    shape, cells = space.shape or (), familiarity.cells_for(num_actions)
    if isinstance(space, Symbols):
        return symbol_codes(shape, cfg.tilings, cells)._replace(power=cfg.view_power)
    if is_image(space):
        return image_codes(shape, cfg.tilings, cells)._replace(power=cfg.view_power)
    if isinstance(space, Joined):
        codes = joined_codes(space, cfg.tilings, cfg.tile_width, cells)
        return codes._replace(power=cfg.novelty_power)
    of_vectors = vector_codes(math.prod(shape), cfg.tilings, cfg.tile_width, cells)

    def encode_flat(obs: jax.Array) -> jax.Array:
        flat = obs.reshape(*obs.shape[: obs.ndim - len(shape)], math.prod(shape))
        return of_vectors.encode(flat.astype(jnp.float32))

    return of_vectors._replace(encode=encode_flat, power=cfg.novelty_power)
