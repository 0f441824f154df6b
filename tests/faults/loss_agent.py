"""The counting agent with a largest loss so far: the mean squared reward of its batches."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from tests.support import counting_agent
from tests.support.counting_agent import Config

__all__ = ["Config", "make"]


class Learner(NamedTuple):
    count: counting_agent.Learner
    loss: jax.Array


def make(cfg, observation_space, num_actions):
    inner = counting_agent.make(cfg, observation_space, num_actions)

    def observe(learner, transition, key):
        count, item = inner.observe(learner.count, transition, key)
        return learner._replace(count=count), item

    def update(learner, target, batch, key):
        count, _ = inner.update(learner.count, target, batch, key)
        loss = jnp.maximum(learner.loss, jnp.mean(batch.transition.reward**2))
        return Learner(count, loss), {"finite": jnp.float32(0)}

    return inner._replace(
        init=lambda key: Learner(inner.init(key), jnp.float32(0)),
        act=lambda learner, *rest: inner.act(learner.count, *rest),
        observe=observe,
        update=update,
        target=lambda learner: learner.count.updates,
    )
