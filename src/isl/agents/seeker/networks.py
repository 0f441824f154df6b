"""Seeker on vectors and images: two networks, and visits to similar observations (familiarity).

    greedy   g(s, ·), the values of argmax, which `exploit` follows; learned as stable_dqn's are
    seek     what exploration needs, on one torso: q̂(s, ·), the values of π*, and h(s, ·), how much
             that is unknown lies ahead

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

import chex
import jax
import jax.numpy as jnp
import optax
from gymnasium.spaces import Space
from jax.lax import stop_gradient

from isl.agents import base
from isl.agents.base import Agent, Metrics, Transition, taken
from isl.agents.seeker import familiarity
from isl.agents.seeker.config import Config
from isl.agents.stable_dqn import double_q_target, share_of_newest, with_wider_gap
from isl.agents.wrappers.at_any_scale import at_any_scale
from isl.agents.wrappers.stretches import over_the_stretch
from isl.envs.joined import Joined
from isl.envs.kinds import Symbols, is_image
from isl.nn.approximators import Approximators, Frozen, Net, Trained
from isl.nn.codes import Codes, image_codes, symbol_codes, vector_codes
from isl.nn.joined_codes import joined_codes
from isl.nn.networks import WithTorso
from isl.nn.step import Reads
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value

HOPE = 3.0  # log-odds of h before anything is learned: most of what lies ahead is unknown


class Learner(NamedTuple):
    values: Trained  # both networks
    average: Any  # of the greedy network's parameters over the latest updates
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
    chex.assert_equal_shape(told)
    chex.assert_rank([told.g_tm1, now.reward, now.discount], [1, 0, 0])
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
    nets = {"greedy": Net(num_actions, cfg.lr), "seek": Net(2 * num_actions, cfg.lr)}
    values = Approximators(space, cfg.hidden, nets, layer_norm=layer_norm)
    agent = assemble(cfg, values, _codes(cfg, _seen(space), num_actions), num_actions)

    def greedy_values(learner: Learner, policy: Any, obs: jax.Array) -> jax.Array:
        return values.read(learner.values._replace(params={"greedy": policy}), obs)("greedy")

    def rescale(learner: Learner, factor: jax.Array) -> Learner:
        trained = values.scaled(learner.values, factor, {"seek": num_actions})
        average = values.scaled_params({"greedy": learner.average}, factor)["greedy"]
        return learner._replace(values=trained, average=average)

    return at_any_scale(
        agent,
        space=_seen(space),
        gamma=cfg.gamma,
        greedy_share=cfg.greedy_share,
        practice=cfg.practice,
        repeat_cost=cfg.repeat_cost,
        longest_stretch=cfg.longest_stretch,
        num_actions=num_actions,
        rescale=rescale,
        values=greedy_values,
    )


def assemble(cfg: Config, values: Approximators, codes: Codes, num_actions: int) -> Agent:
    """The agent on given networks and codes, in units of the returns."""

    def init(key: jax.Array) -> Learner:
        fresh = values.init(key)
        return Learner(
            fresh, fresh.params["greedy"], familiarity.no_visits(codes.number, num_actions)
        )

    def halves(seek: jax.Array) -> tuple[jax.Array, jax.Array]:
        """q̂ and the log-odds of h, from what the network gives."""
        return seek[..., :num_actions], seek[..., num_actions:] + HOPE

    def novelty(visits: jax.Array, obs: jax.Array) -> jax.Array:
        return familiarity.novelty(visits, codes.encode(obs), codes.power, codes.alone)

    def ell_of(visits: jax.Array, obs: jax.Array, odds: jax.Array) -> jax.Array:
        u = novelty(visits, obs)
        return jnp.maximum(u + (1 - u) * jax.nn.sigmoid(odds), cfg.ell_min)

    def explored(learner: Learner, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """q̂(s, ·) and ℓ(s, ·)."""
        q, odds = halves(values.read(learner.values, obs)("seek"))
        return q, ell_of(learner.visits, obs, odds)

    def act(
        learner: Learner, episode: Any, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        q, ell = explored(learner, obs)
        policy = uc_policy(*base.allowed(q, ell, mask), cfg.kappa)  # eq. (10)
        return base.sampled(policy, key, mask)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return base.greedy(values.read(learner.values, obs)("greedy"), mask)

    def observe(learner: Learner, now: Transition, key: jax.Array) -> tuple[Learner, Transition]:
        visits = familiarity.visited(learner.visits, codes.encode(now.obs), now.action)
        return learner._replace(visits=visits), now

    def update(
        learner: Learner, frozen: Frozen, batch: Transition, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        def loss(reads: Reads) -> tuple[jax.Array, Metrics]:
            now, then, ahead = reads.online, reads.target, reads.ahead
            (q_tm1, h_tm1), (q_t, h_t) = halves(now("seek")), halves(then("seek"))
            ell_t = ell_of(learner.visits, batch.next_obs, h_t)
            g_tm1 = now.at(over_the_stretch(batch).obs)("greedy")
            g_ahead, g_t = ahead("greedy"), then("greedy")
            told = Beliefs(g_tm1, q_tm1, h_tm1, g_ahead, g_t, q_t, ell_t)
            return base.mean_loss(partial(losses, cfg), batch, told)

        trained, metrics = values.step(learner.values, frozen, batch.obs, batch.next_obs, loss)
        share = share_of_newest(cfg.averaging, trained.updates)
        average = optax.incremental_update(trained.params["greedy"], learner.average, share)
        return Learner(trained, average, learner.visits), metrics

    def target(learner: Learner) -> Frozen:
        return values.freeze(learner.values)

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


def _seen(space: Space[Any]) -> Space[Any]:
    """What the environment shows, whatever torso reads it."""
    return space.space if isinstance(space, WithTorso) else space
