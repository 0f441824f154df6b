"""Models trained on the environments of `isl.paper.cases`, measured, and recorded as rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from isl.model import MODELS, Model
from isl.model.callbacks import BaseCallback
from isl.model.evaluation import Predictor, evaluate, evaluate_compiled, playable
from isl.paper import sb3
from isl.paper.cases import Case
from isl.paper.comparisons import PEERS, Contestant, Wanted, key_of
from isl.paper.rows import commit_of
from isl.paper.trial import Trial
from isl.paper.variants import VARIANTS
from isl.storage.provenance import provenance

PARTS = 10  # of a run: each is followed by a measurement


def model_of(contestant: Contestant, seed: int, env: Any, observations: str = "auto") -> Model:
    """A contestant before its first step; `env` as Case.learnt_in gives it."""
    variant = VARIANTS[contestant.variant]
    agent = variant.agent or contestant.agent
    if agent not in MODELS:
        type("Variant", (Model,), {"agent_name": agent})  # which registers itself
    return MODELS[agent](
        env,
        seed=seed,
        preset=contestant.preset or None,
        observations=observations,
        **variant.options,
    )


@dataclass
class Measurements:
    """What the greedy policy was worth after each part of a training."""

    case: Case
    curve: list[float] = field(default_factory=list)
    reached: int | None = None  # the steps after which it first reached the threshold
    diverged_at: int | None = None

    def look(self, steps: int, policy: Predictor) -> None:
        """Play the next measurement's episodes, the same ones each time."""
        case, last = self.case, len(self.curve) == PARTS - 1
        episodes = case.last_look if last else case.looks
        if case.compiled and isinstance(policy, Model):
            found = evaluate_compiled(policy, episodes)
        else:
            found = evaluate(policy, case.learnt_in(), episodes)
        self.add(steps, case.measured(found.returns))

    def add(self, steps: int, value: float) -> None:
        self.curve.append(value)
        threshold = self.case.threshold
        if self.reached is None and threshold is not None and value >= threshold:
            self.reached = steps


def run_trial(case: Case, contestant: Contestant, seed: int) -> Trial:
    """Train a model and measure it after each tenth of its budget.

    With a threshold: greedy episodes on fixed seeds, more of them after the last step. Without: the
    mean return of the training episodes that ended in each tenth, divided by the factor.
    """
    began = time.perf_counter()
    found, ratio = Measurements(case), None
    if contestant.agent in PEERS:
        sb3.train(contestant.agent, case.make(), seed, case.steps, PARTS, found.look)
    else:
        ratio = _train(model_of(contestant, seed, case.learnt_in(), case.observations), found)
    final = None if case.threshold is None else round(found.curve[-1], 4)
    made = provenance()
    return Trial(
        env=case.name,
        factor=case.factor,
        agent=contestant.agent,
        preset=contestant.preset,
        variant=contestant.variant,
        seed=seed,
        steps=case.steps,
        final_return=final,
        threshold_at=found.reached,
        curve=" ".join(f"{round(value, 4):g}" for value in found.curve),
        random_return=None if case.threshold is None else round(random_return(case), 4),
        value_ratio=ratio,
        diverged_at=found.diverged_at,
        seconds=round(time.perf_counter() - began, 1),
        isl=made["isl"],
        commit=commit_of(made),
        jax=made["jax"] or "",
        peer=sb3.version() if contestant.agent in PEERS else "",
        cpu=made["cpu"],
    )


class _Until(BaseCallback):
    """Ends a call of `learn` once `episodes` episodes are finished."""

    def __init__(self, episodes: int) -> None:
        super().__init__()
        self._episodes = episodes

    def _on_step(self) -> bool:
        return self.model.episodes.finished < self._episodes


def _train(model: Model, found: Measurements) -> float | None:
    """All parts, each measured; the largest ratio of a value to the returns seen."""
    case = found.case
    for part in range(1, PARTS + 1):
        model.episodes.recent.clear()
        try:
            if found.diverged_at is None:
                _learn(model, case, part)
        except FloatingPointError:
            found.diverged_at = model.num_timesteps  # what is left of the policy is measured
        if case.threshold is not None:
            found.look(model.num_timesteps, model)
            continue
        ended = [each for each, _ in model.episodes.recent]
        found.add(model.num_timesteps, float(np.mean(ended)) / case.factor if ended else np.nan)
    ratio = None if model.watch is None else model.watch.largest_ratio
    return None if ratio is None else float(f"{ratio:.4g}")


def _learn(model: Model, case: Case, part: int) -> None:
    """The next part of the budget, unless the parts before took it."""
    plain: dict[str, Any] = {"progress_bar": False, "n_eval_episodes": 0}
    left, until = case.steps * part // PARTS - model.num_timesteps, None
    if case.episodes is not None:
        episodes = case.episodes * part // PARTS
        left, until = case.steps - model.num_timesteps, _Until(episodes)
        if model.episodes.finished >= episodes:
            return
    if left > 0:
        model.learn(left, callback=until, reset_num_timesteps=False, **plain)


class _Uniform:
    """Random actions, for `evaluate`."""

    def __init__(self, observations: Space[Any], actions: Space[Any]) -> None:
        self.observation_space, self._actions = observations, actions

    def reads(self, space: Space[Any], /) -> bool:
        return True

    def predict(self, observation: Any, /) -> tuple[Any, Any]:
        return self._actions.sample(), None


def random_return(case: Case) -> float:
    """What uniformly random actions get in as many episodes as the last measurement has."""
    env = playable(case.learnt_in())
    env.action_space.seed(0)
    policy = _Uniform(env.observation_space, env.action_space)
    return case.measured(evaluate(policy, env, case.last_look).returns)


def missing(wanted: Sequence[Wanted], rows: Sequence[Trial]) -> list[Wanted]:
    """The runs that have no row yet."""
    done = {row.key for row in rows}
    return [each for each in wanted if key_of(*each) not in done]


def seconds_of(wanted: Sequence[Wanted], rows: Sequence[Trial]) -> tuple[float, int]:
    """How long runs take, from rows of the same case and agent; and of how many no row tells."""
    total, unknown = 0.0, 0
    for case, contestant, _ in wanted:
        paces = [
            row.seconds / row.steps
            for row in rows
            if (row.env, row.agent) == (case.name, contestant.agent) and row.seconds
        ]
        total += case.steps * median(paces) if paces else 0.0
        unknown += not paces
    return total, unknown
