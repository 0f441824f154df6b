"""The course of `learn`: callbacks, log and progress bar around a loop that knows none of them."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from isl.model.callbacks import MaybeCallback, as_callback
from isl.model.progress import Bar
from isl.training.loop import Loop, not_finite
from isl.training.scalars import scalars

if TYPE_CHECKING:
    from isl.model.model import Model

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
) -> None:
    """At least `total_timesteps` more environment steps, unless a callback ends it."""
    watching = as_callback(callback)
    watching.init_callback(model)
    begin, end = model.num_timesteps, model.num_timesteps + total_timesteps
    logged = _now(model)
    watching.on_training_start()
    with closing(model.logger), Bar(total_timesteps, progress_bar) as bar:
        going_on = True
        while going_on and model.num_timesteps < end:
            watching.on_rollout_start()
            some = 1 if callback is not None else min(end - model.num_timesteps, UNWATCHED_STEPS)
            model.advance(some)
            going_on = watching.on_step()
            watching.on_rollout_end()
            if model.episodes.finished - logged.episodes >= log_interval:
                logged = _log(model, loop, logged)
            bar.update(model.num_timesteps - begin, model.episodes)
        bar.update(model.num_timesteps - begin, model.episodes, last=True)
        _log(model, loop, logged)
    watching.on_training_end()


def _now(model: Model) -> Logged:
    return Logged(time.perf_counter(), model.num_timesteps, model.episodes.finished)


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
    for name, value in scalars(loop, model.episodes, speed, beliefs=model.logger.working).items():
        record(name, value)
    model.logger.dump(model.num_timesteps)
    diverged = loop.diverged_at()
    if diverged is not None:
        told = not_finite(diverged, loop.agent.schedule, model.task)
        raise FloatingPointError(f"{told}; try smaller learning rates, or scale the rewards")
    return now
