"""The course of `learn`: callbacks, log and progress bar around a loop that knows none of them."""

from __future__ import annotations

import logging
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isl.errors import UsageError
from isl.model.given_callbacks import MaybeCallback, as_callback
from isl.model.progress import Bar
from isl.nn.scheduled import planned
from isl.training.evaluations import Evaluations
from isl.training.loop import Loop, Steps, not_finite, updates_due
from isl.training.scalars import scalars
from isl.training.watch import Watch

if TYPE_CHECKING:
    from isl.model.model import Model

log = logging.getLogger(__name__)
UNWATCHED_STEPS = 256  # between two looks at the host loop when no callback asks for each step


class Logged(NamedTuple):
    """Where things stood when they were last logged."""

    at: float
    steps: int
    episodes: int


def learn(
    model: Model,
    loop: Loop,
    total_timesteps: int,
    callback: MaybeCallback,
    log_interval: int,
    progress_bar: bool,
    evaluations: Evaluations,
) -> None:
    """At least `total_timesteps` more environment steps, unless a callback ends it."""
    watching = as_callback(callback)
    watching.init_callback(model)
    watch = _watch(model, loop)
    begin, end = model.num_timesteps, model.num_timesteps + total_timesteps
    logged = _now(model)
    watching.update_locals({"total_timesteps": total_timesteps})
    watching.on_training_start()
    shown = Bar(total_timesteps, progress_bar)
    with closing(model.logger), closing(evaluations), shown as bar:
        going_on = True
        while going_on and model.num_timesteps < end:
            watching.on_rollout_start()
            some = 1 if callback is not None else min(end - model.num_timesteps, UNWATCHED_STEPS)
            taken = model.advance(some)
            if told := watch.see(loop, taken):
                log.warning("%s: %s", model.task, told)
            watching.update_locals(_facts(model, loop, taken, total_timesteps))
            going_on = watching.on_step()
            watching.on_rollout_end()
            if model.episodes.finished - logged.episodes >= log_interval:
                logged = _log(model, loop, logged)
            _evaluate(model, evaluations)
            bar.update(model.num_timesteps - begin, model.episodes, evaluations.rows)
        _log(model, loop, logged)
        _evaluate(model, evaluations, at_end=True)
        bar.update(model.num_timesteps - begin, model.episodes, evaluations.rows, last=True)
    watching.on_training_end()


def check_budget(total_timesteps: int, log_interval: int) -> None:
    """Both are counts."""
    for name, value in (("total_timesteps", total_timesteps), ("log_interval", log_interval)):
        if not isinstance(value, int | float | np.number) or value != value // 1:
            raise UsageError(f"{name} must be a whole number, got {value!r}")
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")


def plan_rates(model: Model, loop: Loop, total_timesteps: int, anew: bool) -> None:
    """Tell schedules of learning rates how many updates the training will make."""
    if any(isinstance(value, str) for value in vars(model.config).values()):
        ahead = updates_due(loop.agent.schedule, loop.steps + total_timesteps) - loop.updates
        model.adopt(planned(model.learner, ahead, anew))


def _facts(model: Model, loop: Loop, taken: Steps, total_timesteps: int) -> dict[str, Any]:
    """What callbacks find in `locals`, by the names that Stable-Baselines3 has for it."""
    return {
        "rewards": taken.reward,
        "dones": taken.last,
        "infos": taken.info or loop.infos,
        "num_timesteps": model.num_timesteps,
        "total_timesteps": total_timesteps,
    }


def _watch(model: Model, loop: Loop) -> Watch:
    """The model's watch over its values; its log says what is trained, for `isl doctor`."""
    hyper = model.config.to_dict()
    model.logger.describe(agent=model.agent_name, task=model.task, seed=model.seed, hyper=hyper)
    if model.watch is None:
        learned = model.learned_elsewhere
        model.watch = Watch(loop, hyper, model.episodes.width, learned=learned)
    return model.watch


def _now(model: Model) -> Logged:
    return Logged(time.perf_counter(), model.num_timesteps, model.episodes.finished)


def _evaluate(model: Model, evaluations: Evaluations, at_end: bool = False) -> None:
    """Play greedily, if that is due."""
    finished = model.episodes.finished
    row = evaluations.look(lambda: model.learner, model.num_timesteps, finished, at_end)
    if evaluations.message:
        model.say_once(f"{model.task}: {evaluations.message}")
    if row is not None:
        model.evaluations.append(row)
        for name, value in row.scalars.items():
            model.logger.record(name, value)
        model.logger.dump(model.num_timesteps)


def _log(model: Model, loop: Loop, before: Logged) -> Logged:
    """A row with the tags that runs have, and those that users of Stable-Baselines3 look for."""
    now, record = _now(model), model.logger.record
    speed = (now.steps - before.steps) / (now.at - before.at)
    if model.episodes.recent:
        mean_return, mean_length = model.episodes.means()
        record("rollout/ep_rew_mean", mean_return)
        record("rollout/ep_len_mean", mean_length)
    record("time/episodes", now.episodes)
    record("time/fps", speed)
    record("train/n_updates", loop.updates)
    row = scalars(loop, model.episodes, speed, beliefs=model.logger.working)
    for name, value in (row | (model.watch.scalars() if model.watch else {})).items():
        record(name, value)
    model.logger.dump(model.num_timesteps)
    diverged = loop.diverged_at()
    if diverged is not None:
        told = not_finite(diverged, loop.agent.schedule, model.task)
        raise FloatingPointError(f"{told}; try smaller learning rates, or scale the rewards")
    return now
