"""TensorBoard logs of a run: how it goes, and what the agent believes where it has been.

    <run>/tensorboard/events.out.tfevents.<first step>      outside the manifest, like all logs

At most `ROWS` rows over the budget of a run, well under a megabyte. Nothing that a run computes
depends on them, and a log that cannot be written does not stop it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import masked_crc32c

from isl.agents.base import Agent, Transition
from isl.experiments.running.recording.records import EpisodeRecorder
from isl.storage import files

FOLDER = "tensorboard"
ROWS = 200
RECENT = 100  # episodes that the mean return is over
SAMPLE = 256  # stored observations that the beliefs are taken over

log = logging.getLogger(__name__)


class RunLog:
    """The log of one run, from wherever it begins or continues."""

    def __init__(self, run_dir: Path, budget: int, done: int, step: int) -> None:
        """`done` of `budget` is over, in its unit (episodes or steps); `step` counts steps."""
        self._path = run_dir / FOLDER / f"events.out.tfevents.{step:012d}"
        self._every = budget / ROWS
        self._next = float(done)
        self._working = True
        try:
            files.make_folder(self._path.parent)
            self._path.unlink(missing_ok=True)
        except OSError as error:
            self._give_up(error)
        self._append(Event(wall_time=time.time(), file_version="brain.Event:2"))
        # What an interrupted attempt wrote beyond its checkpoint is void.
        again = SessionLog(status=SessionLog.START)
        self._append(Event(wall_time=time.time(), step=step, session_log=again))

    def due(self, done: int) -> bool:
        """Whether it is time for a row."""
        return self._working and done >= self._next

    def add(self, done: int, step: int, values: Mapping[str, float]) -> None:
        """A row: values by name, as of environment step `step`."""
        self._next = (done // self._every + 1) * self._every
        row = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._append(Event(wall_time=time.time(), step=step, summary=Summary(value=row)))

    def _append(self, event: Event) -> None:
        """One record: length, its checksum, the event, its checksum."""
        if not self._working:
            return
        data = event.SerializeToString()
        size = len(data).to_bytes(8, "little")
        checksums = [masked_crc32c(part).to_bytes(4, "little") for part in (size, data)]
        try:
            # Opened for each row: nothing to close, and to be seen at once.
            with self._path.open("ab") as file:
                file.write(size + checksums[0] + data + checksums[1])
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        log.warning("no more TensorBoard rows in %s: %s", self._path, error)
        self._working = False


def progress_values(
    recorder: EpisodeRecorder, metrics: Mapping[str, float], steps_per_second: float
) -> dict[str, float]:
    """How the run goes: recent returns, the agent's losses, the speed."""
    recent = recorder.columns()["return"][-RECENT:]
    values = {"speed/steps_per_second": steps_per_second, "episodes/finished": recorder.episodes}
    if len(recent):
        values |= {"return/mean": float(np.mean(recent)), "return/best": recorder.best_return}
    if recorder.goal_visits:
        values["episodes/goal_visits"] = recorder.goal_visits
    return values | {f"train/{name}": float(value) for name, value in metrics.items()}


def places(stored: int, capacity: int) -> NDArray[np.int64]:
    """Places of the replay, evenly over what it holds."""
    return np.linspace(0, min(stored, capacity) - 1, SAMPLE).astype(np.int64)


def observations(items: Any) -> Any:
    """The observations in what a replay holds, whatever an agent stores beside transitions."""
    leaves = jax.tree.leaves(items, is_leaf=lambda x: isinstance(x, Transition))
    return next(leaf for leaf in leaves if isinstance(leaf, Transition)).obs


@lru_cache(maxsize=8)
def _inspector(agent: Agent) -> Callable[[Any, Any], dict[str, jax.Array]]:
    # Never at xla_backend_optimization_level 0: it recomputes ℓ with another rounding in each
    # place that uses it, and the policy, which looks for the largest one by equality, is lost.
    return jax.jit(jax.vmap(agent.inspect, in_axes=(None, 0)))


def belief_values(agent: Agent, learner: Any, obs: Any) -> dict[str, float]:
    """What the agent believes at some observations, in a few numbers."""
    beliefs = jax.device_get(_inspector(agent)(learner, obs))
    values: dict[str, Any] = {}
    if "q" in beliefs:
        values |= {"q/mean": beliefs["q"].mean(), "q/greedy": beliefs["q"].max(-1).mean()}
    if "ell" in beliefs:
        low, middle, high = np.quantile(beliefs["ell"], (0.1, 0.5, 0.9))
        values |= {"ell/q10": low, "ell/q50": middle, "ell/q90": high}
    if "policy" in beliefs:
        policy = np.clip(beliefs["policy"], 1e-12, 1.0)
        values["policy/entropy"] = -(policy * np.log(policy)).sum(-1).mean()
    if "pareto" in beliefs:
        values["policy/pareto_actions"] = beliefs["pareto"].sum(-1).mean()
    return {name: float(value) for name, value in values.items()}
