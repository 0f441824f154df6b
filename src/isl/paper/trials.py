"""Models trained on the environments of `isl.paper.cases`, measured, and recorded as rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Space

from isl import agents
from isl.envs import spaces
from isl.model import MODELS, Model
from isl.model.evaluation import evaluate
from isl.paper.cases import CONTROL, OURS, Case, Contestant
from isl.paper.rows import commit_of
from isl.paper.table import Trial
from isl.storage.provenance import provenance

PARTS = 10  # of a run: each is followed by a measurement
EPISODES, LAST_EPISODES = 20, 100  # of greedy evaluations, and of the last one
SHARED = (  # what the control takes from our preset, beside the rate of the values
    *("lr_codes", "gamma", "hidden", "batch_size", "replay_capacity"),
    *("learning_starts", "steps", "updates", "target_period"),
)

Wanted = tuple[Case, Contestant, int]  # and a seed


def model_of(case: Case, contestant: Contestant, seed: int, env: gymnasium.Env[Any, Any]) -> Model:
    """A contestant before its first step."""
    agent, preset = contestant
    if contestant != CONTROL:
        return MODELS[agent](env, seed=seed, preset=preset or None)
    matched = _matched(spaces.observations(env.observation_space).seen)
    decay = case.steps // 10
    return MODELS[agent](env, seed=seed, normalize=case.vector, epsilon_steps=decay, **matched)


def _matched(space: Space[Any]) -> dict[str, Any]:
    """Our hyper-parameters for the control, but for those without effect on such observations."""
    ours = agents.load(OURS[0]).Config()
    matched = {name: getattr(ours, name) for name in SHARED} | {"lr": ours.lr_q}
    unused = agents.load(CONTROL[0]).Config().replace(matched).unused(space)
    return {name: value for name, value in matched.items() if name not in unused}


def run_trial(case: Case, contestant: Contestant, seed: int) -> Trial:
    """Train a model and measure it after each tenth of its steps.

    With a threshold: greedy episodes on fixed seeds, a hundred after the last step. Without: the
    mean return of the training episodes that ended in each tenth, divided by the factor.
    """
    began = time.perf_counter()
    model = model_of(case, contestant, seed, case.make())
    reached, final, curve = None, None, []
    for part in range(1, PARTS + 1):
        model.episodes.recent.clear()
        left = case.steps * part // PARTS - model.num_timesteps
        model.learn(left, progress_bar=False, reset_num_timesteps=False)
        if case.threshold is None:
            ended = [each for each, _ in model.episodes.recent]
            curve.append(float(np.mean(ended)) / case.factor if ended else float("nan"))
            continue
        episodes = LAST_EPISODES if part == PARTS else EPISODES
        final = float(np.mean(evaluate(model, case.make(), episodes).returns))
        if reached is None and final >= case.threshold:
            reached = model.num_timesteps
    made = provenance()
    return Trial(
        env=case.name,
        factor=case.factor,
        agent=contestant[0],
        preset=contestant[1],
        seed=seed,
        steps=case.steps,
        final_return=None if final is None else round(final, 4),
        threshold_at=reached,
        curve=" ".join(f"{round(mean, 4):g}" for mean in curve),
        seconds=round(time.perf_counter() - began, 1),
        isl=made["isl"],
        commit=commit_of(made),
        jax=made["jax"] or "",
        cpu=made["cpu"],
    )


def key_of(case: Case, contestant: Contestant, seed: int) -> tuple[object, ...]:
    """Which row a run would be (`Trial.key`)."""
    return (case.name, case.factor, *contestant, seed, case.steps)


def missing(wanted: Sequence[Wanted], rows: Sequence[Trial]) -> list[Wanted]:
    """The runs that have no row yet."""
    done = {row.key for row in rows}
    return [each for each in wanted if key_of(*each) not in done]


def seconds_of(wanted: Sequence[Wanted], rows: Sequence[Trial]) -> tuple[float, int]:
    """How long runs take, from rows of the same case and agent; and of how many no row tells."""
    total, unknown = 0.0, 0
    for case, (agent, _), _ in wanted:
        paces = [
            row.seconds / row.steps
            for row in rows
            if (row.env, row.agent) == (case.name, agent) and row.seconds
        ]
        total += case.steps * median(paces) if paces else 0.0
        unknown += not paces
    return total, unknown
