"""An agent without networks that writes down how the loop drives it. Tests name it by its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from isl.agents import config
from isl.agents.base import Agent, Schedule
from isl.agents.config import hyper

LOG = 64  # updates that the log has room for


@dataclass(frozen=True)
class Config(config.Config):
    replay_capacity: int = hyper(32, "small, so that it wraps", at_least=1)
    batch_size: int = hyper(4, "transitions per update", at_least=1)
    learning_starts: int = hyper(6, "transitions stored before the first update", at_least=1)
    diverge_at: int = hyper(1_000_000, "the update that gives NaN", at_least=0)


class Learner(NamedTuple):
    updates: jax.Array
    observed: jax.Array  # transitions seen by `observe`
    targets: jax.Array  # the target that each update saw
    steps: jax.Array  # transitions seen before each update
    rewards: jax.Array  # sum of the rewards of each update's batch


class Item(NamedTuple):
    transition: object
    number: jax.Array


def make(cfg, observation_space, num_actions) -> Agent:
    def init(key):
        zeros = jnp.zeros(LOG, jnp.int32)
        zero = jnp.int32(0)
        return Learner(zero, zero, zeros, zeros, jnp.zeros(LOG, jnp.float32))

    def observe(learner, transition, key):
        item = Item(transition, learner.observed)
        return learner._replace(observed=learner.observed + 1), item

    def update(learner, target, batch, key):
        slot = learner.updates % LOG
        metric = jnp.where(learner.updates == cfg.diverge_at, jnp.nan, 0.0)
        return Learner(
            learner.updates + 1,
            learner.observed,
            learner.targets.at[slot].set(target),
            learner.steps.at[slot].set(learner.observed),
            learner.rewards.at[slot].set(batch.transition.reward.sum()),
        ), {"metric": metric}

    def act(learner, episode, obs, key, mask=None):
        return jax.random.randint(key, (), 0, num_actions)

    schedule = Schedule(
        cfg.steps,
        cfg.updates,
        cfg.target_period,
        cfg.batch_size,
        cfg.replay_capacity,
        cfg.learning_starts,
        random_start=False,
    )
    return Agent(
        schedule=schedule,
        init=init,
        begin_episode=lambda learner, key: jax.random.bits(key, (), jnp.uint32),
        act=act,
        exploit=lambda learner, obs, mask=None: jnp.int32(0),
        observe=observe,
        update=update,
        target=lambda learner: learner.updates,
        inspect=lambda learner, obs: {"q": jnp.zeros(num_actions)},
    )
