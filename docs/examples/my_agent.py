"""An agent of your own: Q-learning in a table, with a bonus for what was rarely tried.

PYTHONPATH=docs isl train deep_sea/10 --agent examples.my_agent --seeds 1 --out runs
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl.agents import config
from isl.agents.base import Agent, greedy, no_episode, schedule_of
from isl.agents.config import hyper
from isl.errors import UsageError


@dataclass(frozen=True)
class Config(config.Config):
    """Every field is an option of `isl train`, e.g. `--bonus 0.5`."""

    step_size: float = hyper(0.1, "how far one update moves a value", above=0, at_most=1)
    bonus: float = hyper(1.0, "bonus of an action never tried", at_least=0)


class Learner(NamedTuple):
    q: jax.Array  # [states, actions]
    visits: jax.Array  # [states, actions]


def make(cfg: Config, observation_space, num_actions: int) -> Agent:
    if not isinstance(observation_space, Discrete):
        raise UsageError(f"my_agent needs Discrete observations, got {observation_space}")

    def init(key):
        table = jnp.zeros((int(observation_space.n), num_actions))
        return Learner(q=table, visits=table)

    def optimistic(learner, obs):
        """Values of all actions, with the bonus."""
        return learner.q[obs] + cfg.bonus / jnp.sqrt(1.0 + learner.visits[obs])

    def act(learner, episode, obs, key, mask=None):
        return greedy(optimistic(learner, obs), mask)

    def exploit(learner, obs, mask=None):
        return greedy(learner.q[obs], mask)

    def observe(learner, transition, key):  # once per step, before the transition is stored
        tried = learner.visits.at[transition.obs, transition.action].add(1.0)
        return learner._replace(visits=tried), transition

    def update(learner, target, batch, key):
        # The optimism of the next state enters the target: this makes the exploration deep.
        v_t = jnp.max(optimistic(learner, batch.next_obs), axis=-1)
        q_tm1 = learner.q[batch.obs, batch.action]
        delta = batch.reward + cfg.gamma * batch.discount * v_t - q_tm1
        pairs = (batch.obs, batch.action)
        times = jnp.zeros_like(learner.q).at[pairs].add(1.0)[pairs]  # a pair may be drawn twice
        q = learner.q.at[pairs].add(cfg.step_size * delta / times)
        return learner._replace(q=q), {"td_error": jnp.mean(jnp.abs(delta))}

    def inspect(learner, obs):
        policy = jax.nn.one_hot(greedy(optimistic(learner, obs)), num_actions)
        return {"q": learner.q[obs], "policy": policy}

    return Agent(
        schedule=schedule_of(cfg),
        init=init,
        begin_episode=no_episode,
        act=act,
        exploit=exploit,
        observe=observe,
        update=update,
        target=lambda learner: (),
        inspect=inspect,
    )
