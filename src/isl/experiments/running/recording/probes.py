"""What an agent believed over training at a few telling observations, where there is no grid.

    probes.safetensors     episode [time]; q, ell, policy [time, landmark, action]

Beside the results of a run made with --snapshots; like logs, outside the manifest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from isl.agents.base import Agent
from isl.envs.base import Environment
from isl.envs.cartpole_swingup import MAX_STEPS, CartpoleState, CartpoleSwingup
from isl.errors import DamagedFile
from isl.experiments.running.recording.snapshots import Moments, Snapshots
from isl.storage import checkpoint, files

FILE = "probes.safetensors"
BELIEFS = ("q", "ell", "policy")  # the ones an agent lacks are left out


def recorder(env: Environment, agent: Agent) -> Snapshots | Probes | None:
    """Maps over a table-like task's states, or a few landmarks; None if the task has neither."""
    if isinstance(env.observation_space, Discrete):
        return Snapshots(env, agent)
    marks = landmarks(env)
    return Probes(marks, agent) if marks else None


def landmarks(env: Environment) -> dict[str, jax.Array]:
    """Observations of a task that say where learning stands, by name."""
    if not isinstance(env, CartpoleSwingup):
        return {}
    still = jnp.float32(0)
    rest = CartpoleState(still, still, still, still, steps=jnp.int32(0))
    upright = rest._replace(swing=jnp.float32(math.pi), steps=jnp.int32(MAX_STEPS // 2))
    return {"upright": env.observe(upright), "hanging": env.observe(rest)}


class Probes:
    """Beliefs [time, landmark, action], at most `most` of them, evenly over training so far."""

    def __init__(self, marks: dict[str, jax.Array], agent: Agent, most: int = 200) -> None:
        self._names = list(marks)
        self._observations = jnp.stack(list(marks.values()))
        self._inspect = jax.jit(jax.vmap(agent.inspect, in_axes=(None, 0)))
        learner = jax.eval_shape(agent.init, jax.random.key(0))
        said = jax.eval_shape(self._inspect, learner, self._observations)
        self._rows = {name: said[name].shape for name in BELIEFS if name in said}
        self._taken: dict[str, list[NDArray[Any]]] = {name: [] for name in ("episode", *self._rows)}
        self.moments = Moments(most)

    def take(self, learner: Callable[[], Any], cells: Any, episodes: int, parts: int = 1) -> None:
        """Keep what the learner believes now, if it is due. There are no cells."""
        if not self.moments.pass_by(parts):
            return
        beliefs = jax.device_get(self._inspect(learner(), self._observations))
        self._taken["episode"].append(np.array(episodes, np.int64))
        for name in self._rows:
            self._taken[name].append(beliefs[name].astype(np.float32))
        if self.moments.too_many(len(self._taken["episode"])):
            self._taken = {name: kept[1::2] for name, kept in self._taken.items()}

    def write(self, run_dir: Path) -> None:
        """One sealed file."""
        if self.moments.passed:
            meta = {"kind": "probes", "landmarks": self._names}
            checkpoint.save_file(run_dir / FILE, self._stacked(), meta)

    def state(self) -> dict[str, NDArray[Any]]:
        """For the checkpoint: all there is, so that an interruption leaves no gap."""
        return {**self._stacked(), "calls": np.array([self.moments.every, self.moments.passed])}

    def template(self) -> dict[str, Any]:
        """What `state` looks like."""
        rows = {name: checkpoint.AnyLength(np.float32, shape) for name, shape in self._rows.items()}
        return {"episode": checkpoint.AnyLength(np.int64), **rows, "calls": np.zeros(2, np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue where `state` was taken."""
        self._taken = {name: list(state[name]) for name in self._taken}
        self.moments.every, self.moments.passed = map(int, state["calls"])

    def _stacked(self) -> dict[str, NDArray[Any]]:
        empty = {"episode": np.empty(0, np.int64)}
        empty |= {name: np.empty((0, *shape), np.float32) for name, shape in self._rows.items()}
        return {name: np.stack(kept) if kept else empty[name] for name, kept in self._taken.items()}


def read(run_dir: Path) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The names of the landmarks, and the beliefs by name."""
    path = run_dir / FILE
    arrays, meta = checkpoint.unpack(path, files.read_bytes(path, checkpoint.MAX_MODEL_BYTES))
    if meta.get("kind") != "probes":
        raise DamagedFile(path, "holds no probes")
    return meta["landmarks"], {name.strip("[]'"): values for name, values in arrays.items()}
