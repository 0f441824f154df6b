"""Following the policy that has proved itself, as an agent around an agent.

Values that are learned from samples flicker: a good greedy policy comes and goes. For a share of
the training steps (isl.agents.wrappers.turns) one of two policies that stand still therefore plays
greedily:

    champion     the one that `exploit` follows
    challenger   the newest one, at the time when it was taken

As soon as the challenger's returns are clearly better or worse than the champion's, or after `MOST`
episodes by anything, the winner is the champion, and the newest policy the next challenger. Better
takes more evidence than worse: who challenges often is lucky at times. So `exploit` changes on
evidence, the episodes that give it are training data where the policy leads, and no step of the
environment is spent on anything else. Where observations are views, greedy policies grow weary of
what they repeat (isl.agents.weariness). Fujimoto et al. (2023, TD7) assess policies in training as
well, by their worst episode and without a second opinion.

A share of the other steps is practice: the greedy policy of the newest values plays, which are
others after every update, and a few of its actions are random. So values are learned where they
lead, and beside that path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from isl.agents import base
from isl.agents.base import Agent, Follow, Item, Metrics, Target, Transition
from isl.agents.dqn import slipping
from isl.agents.weariness import Been, Weariness, nowhere, tired, went
from isl.agents.wrappers.turns import Lengths, next_role, no_lengths, with_episode

FEWEST, MOST = 3, 6  # episodes of a challenger before it is judged
CLEARLY_BETTER, CLEARLY_WORSE = 2.0, 1.0  # standard errors that end a trial early
DEFENCES = 1 / 3  # share of the greedy episodes that the champion plays: it may have been lucky
REMEMBERED = 100  # episodes of the champion that its score is over
ENDLESS = 10_000  # steps of an episode after which exploring takes over: it may never end otherwise
PATIENCE = 30_000  # updates after which the newest policy is taken without evidence
EXPLORE, CHAMPION, CHALLENGER, PRACTISE = range(4)
TURN_OF = (0, 1, 1, 2)  # champion and challenger share their turns
SLIPS = 0.05  # share of random actions in practice


def _always(learner: Any) -> jax.Array:
    return jnp.ones((), jnp.bool_)


class Policies(NamedTuple):
    """The greedy policies of an agent, by its learner."""

    newest: Callable[[Any], Any]  # the parameters of the newest one
    values: Callable[[Any, Any, jax.Array], jax.Array]  # of all actions: parameters, observation
    rewarded: Callable[[Any], jax.Array] = _always  # whether it knows of any reward


class Score(NamedTuple):
    """The returns of a policy."""

    episodes: jax.Array
    mean: jax.Array
    squares: jax.Array  # Σ (return − mean)²


class Learner(NamedTuple):
    inner: Any
    champion: Any  # parameters
    challenger: Any
    best: Score  # of the champion
    trial: Score  # of the challenger
    number: jax.Array  # int32: how many challengers there have been
    age: jax.Array  # int32: updates since the challenger was taken
    informed: jax.Array  # bool: whether there was an update that knew of rewards
    lengths: Lengths  # of exploring, greedy and practice episodes


class Episode(NamedTuple):
    role: jax.Array  # who plays it
    turn: jax.Array  # whose turn it was when it began
    number: jax.Array  # the challenger's, when it began
    paid: jax.Array  # so far
    steps: jax.Array  # int32, so far
    been: Been  # what was done in it


# Long: every function of an agent around an agent.
def keep_best(
    agent: Agent,
    num_actions: int,
    share: float,
    policies: Policies,
    weary: Weariness | None = None,
    practice: float = 0.0,
) -> Agent:
    """`agent`, whose greedy policy is the best of those that were tried.

    Args:
        agent: explores with `act`, whose episode is what was done in it (isl.agents.weariness), and
            practises with `exploit`, which has the newest values.
        num_actions: how many there are.
        share: of the steps that are played greedily.
        policies: the agent's greedy ones. All episodes explore until it knows of a reward.
        weary: what repetition costs a greedy policy; None: nothing.
        practice: share of the other steps, which the newest values play with random slips.
    """
    newest, values, rewarded = policies

    def init(key: jax.Array) -> Learner:
        inner = agent.init(key)
        return untried(inner, newest(inner))

    def begin_episode(learner: Learner, key: jax.Array) -> Episode:
        _, draw_key = jax.random.split(key)
        role = role_of(learner, jax.random.uniform(draw_key, (2,)), share, practice)
        turn, none = jnp.asarray(TURN_OF)[role], jnp.int32(0)
        return Episode(role, turn, learner.number, jnp.float32(0), none, nowhere(weary))

    def played(learner: Learner, policy: Any, been: Been, obs: jax.Array, mask: Any) -> jax.Array:
        own = values(learner.inner, policy, obs)
        return base.greedy(tired(weary, been, policy, obs, own), mask)

    def act(
        learner: Learner, episode: Episode, obs: jax.Array, key: jax.Array, mask: Any = None
    ) -> jax.Array:
        policy = either(episode.role == CHAMPION, learner.champion, learner.challenger)
        followed = played(learner, policy, episode.been, obs, mask)
        if practice:
            own = agent.exploit(learner.inner, obs, mask)
            own_key = jax.random.fold_in(key, PRACTISE)  # exploring draws from the key itself
            slipped = slipping(own, num_actions, SLIPS, own_key, mask)
            followed = jnp.where(episode.role == PRACTISE, slipped, followed)
        explored = agent.act(learner.inner, episode.been, obs, key, mask)
        return jnp.where(episode.role == EXPLORE, explored, followed)

    def proved(learner: Learner) -> Any:
        """The champion, or the newest policy as long as there is none."""
        none = learner.best.episodes == 0
        return either(none, newest(learner.inner), learner.champion)

    def exploit(learner: Learner, obs: jax.Array, mask: Any = None) -> jax.Array:
        return base.greedy(values(learner.inner, proved(learner), obs), mask)

    def follow(
        learner: Learner, been: Been, obs: jax.Array, mask: Any = None
    ) -> tuple[jax.Array, Been]:
        action = played(learner, proved(learner), been, obs, mask)
        return action, went(weary, been, obs, action)

    def observe(learner: Learner, now: Transition, key: jax.Array) -> tuple[Learner, Item]:
        inner, item = agent.observe(learner.inner, now, key)
        return learner._replace(inner=inner), item

    def update(
        learner: Learner, target: Target, batch: Item, key: jax.Array
    ) -> tuple[Learner, Metrics]:
        inner, metrics = agent.update(learner.inner, target, batch, key)
        after = after_trial(learner, newest(inner))._replace(inner=inner, informed=rewarded(inner))
        return after, metrics | {"champion": learner.best.mean}

    def target(learner: Learner) -> Target:
        return agent.target(learner.inner)

    def inspect(learner: Learner, obs: jax.Array) -> dict[str, jax.Array]:
        beliefs = agent.inspect(learner.inner, obs)
        return beliefs | {"greedy": values(learner.inner, proved(learner), obs)}

    track, remembers = partial(tracked, weary), Follow(lambda: nowhere(weary), follow)
    parts = init, begin_episode, act, exploit, observe, update, target, inspect, track
    return Agent(agent.schedule, *parts, None if weary is None else remembers)


def untried(inner: Any, first: Any) -> Learner:
    """The learner before the first episode."""
    scores, zero = (no_score(), no_score()), jnp.int32(0)
    uninformed = jnp.zeros((), jnp.bool_)
    return Learner(inner, first, first, *scores, zero, zero, uninformed, no_lengths(3))


def role_of(learner: Learner, drawn: jax.Array, share: float, practice: float) -> jax.Array:
    """Who plays an episode, by two numbers that are drawn from 0 to 1."""
    shares = ((1 - share) * (1 - practice), share, (1 - share) * practice)
    turn = next_role(shares, learner.lengths, drawn[0])
    defends = (drawn[1] < DEFENCES) & (learner.best.episodes > 0)
    roles = jnp.stack(
        [jnp.int32(EXPLORE), jnp.where(defends, CHAMPION, CHALLENGER), jnp.int32(PRACTISE)]
    )
    return jnp.where(learner.informed, roles[turn], EXPLORE)


def explores(episode: Episode) -> jax.Array:
    """Whether the agent explores in it."""
    return episode.role == EXPLORE


def either(yes: jax.Array, one: Any, other: Any) -> Any:
    """`one` if yes, else `other`: two trees of the same shape."""
    return jax.tree.map(partial(jax.lax.select, yes), one, other)


def tracked(
    weary: Weariness | None, learner: Learner, episode: Episode, now: Transition, last: jax.Array
) -> tuple[Learner, Episode, Transition]:
    """`track`: returns of greedy episodes count for who played them."""
    paid = episode.paid + now.reward
    by_champion = last & (episode.role == CHAMPION)
    by_challenger = last & (episode.role == CHALLENGER) & (episode.number == learner.number)
    best = included(learner.best, paid, by_champion)
    trial = included(learner.trial, paid, by_challenger)
    steps = episode.steps + 1
    role = jnp.where(steps < ENDLESS, episode.role, EXPLORE)
    been = went(weary, episode.been, now.obs, now.action)
    episode = episode._replace(role=role, paid=paid, steps=steps, been=been)
    lengths = with_episode(learner.lengths, episode.turn, steps, last)
    return learner._replace(best=best, trial=trial, lengths=lengths), episode, now


def after_trial(learner: Learner, newest: Any) -> Learner:
    """If the trial is over: the winner is the champion, `newest` the next challenger."""
    over, won = judged(learner.best, learner.trial, learner.age)
    return learner._replace(
        champion=either(won, learner.challenger, learner.champion),
        challenger=either(over, newest, learner.challenger),
        best=either(won, learner.trial, learner.best),
        trial=either(over, no_score(), learner.trial),
        number=learner.number + over,
        age=jnp.where(over, 0, learner.age + 1),
    )


def no_score() -> Score:
    """Before the first episode."""
    zero = jnp.float32(0)
    return Score(zero, zero, zero)


def included(score: Score, paid: jax.Array, counts: jax.Array) -> Score:
    """The score with one more return, if it counts (Welford 1962); old ones fade."""
    fades = score.episodes >= REMEMBERED
    episodes = jnp.where(fades, score.episodes, score.episodes + 1)
    off = paid - score.mean
    mean = score.mean + off / episodes
    squares = jnp.where(fades, score.squares * (1 - 1 / REMEMBERED), score.squares)
    new = Score(episodes, mean, squares + off * (paid - mean))
    return Score(*(jnp.where(counts, x, y) for x, y in zip(new, score, strict=True)))


def judged(best: Score, trial: Score, age: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Whether the challenger's trial is over, and whether it won."""
    degrees = jnp.maximum(best.episodes + trial.episodes - 2, 1)
    variance = (best.squares + trial.squares) / degrees
    each = 1 / jnp.maximum(best.episodes, 1) + 1 / jnp.maximum(trial.episodes, 1)
    ahead = trial.mean - best.mean
    error = jnp.sqrt(variance * each)
    clear = (ahead >= CLEARLY_BETTER * error) | (ahead <= -CLEARLY_WORSE * error)
    shown = (trial.episodes >= FEWEST) & (clear | (trial.episodes >= MOST))
    over = shown | (age >= PATIENCE)
    unknown = (best.episodes == 0) | (trial.episodes == 0)
    return over, over & (unknown | (ahead >= 0))
