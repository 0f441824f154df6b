"""What a table-like agent believed over training: maps over its states, taken between chunks.

Recording needs JAX, reading the file does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isl.errors import DamagedFile
from isl.storage import checkpoint, files

if TYPE_CHECKING:
    from isl.agents.base import Agent
    from isl.envs.base import Environment

FILE = "snapshots.safetensors"
MAPS = ("visits", "q", "ell", "policy")  # the ones an agent lacks are left out


class Moments:
    """Which moments of a training of unknown length are kept: evenly spread, at most `most`.

    Time passes in parts of a chunk. Whenever too many moments have been kept, every other one is
    to be dropped, and from then on one in twice as many parts is kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.every = 1  # parts
        self.passed = 0  # parts

    def pass_by(self, parts: int) -> bool:
        """So much time has passed: is the moment now to be kept?"""
        before, self.passed = self.passed, self.passed + parts
        return self.passed // self.every > before // self.every

    def too_many(self, kept: int) -> bool:
        """Are every other of the kept moments to be dropped?"""
        if kept <= self.most:
            return False
        self.every *= 2
        return True


class Snapshots:
    """Maps [time, state, …] of visits so far and of what `agent.inspect` says of every state."""

    def __init__(self, env: Environment, agent: Agent, most: int = 200) -> None:
        import jax

        from isl.envs.deep_sea import DeepSea, action_mapping

        self._states = int(env.observation_space.n)  # type: ignore[attr-defined]
        self._inspect = jax.jit(jax.vmap(agent.inspect, in_axes=(None, 0)))
        self._visits = np.zeros(self._states, np.int64)
        self._taken: list[dict[str, NDArray[Any]]] = []
        self.moments = Moments(most)
        self._constant: dict[str, NDArray[Any]] = {}
        if isinstance(env, DeepSea):
            self._constant["right"] = action_mapping(env.size, env.mapping_seed).ravel()

    def take(
        self, learner: Callable[[], Any], cells: NDArray[Any], episodes: int, parts: int = 1
    ) -> None:
        """Count the visits of some parts of a chunk; keep a snapshot after them if one is due."""
        self._visits += np.bincount(cells, minlength=self._states)
        if not self.moments.pass_by(parts):
            return
        found = self._inspect(learner(), np.arange(self._states, dtype=np.int32))
        beliefs = {name: np.asarray(found[name], np.float32) for name in MAPS if name in found}
        taken = {"episode": np.int64(episodes), "visits": self._visits.astype(np.int32)}
        self._taken.append(taken | beliefs)  # type: ignore[arg-type]
        if self.moments.too_many(len(self._taken)):
            self._taken = self._taken[1::2]

    def write(self, run_dir: Path) -> None:
        """One sealed file beside the results; like logs, outside the manifest."""
        if self._taken:
            stacked = {name: np.stack([t[name] for t in self._taken]) for name in self._taken[0]}
            checkpoint.save_file(run_dir / FILE, stacked | self._constant, {"kind": "snapshots"})

    def state(self) -> dict[str, NDArray[Any]]:
        """For the checkpoint: the visits. Earlier pictures are not kept across an interruption."""
        return {"visits": self._visits}

    def template(self) -> dict[str, NDArray[Any]]:
        """What `state` looks like."""
        return {"visits": np.zeros(self._states, np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue counting."""
        self._visits = state["visits"].copy()


def read(run_dir: Path) -> dict[str, NDArray[Any]]:
    """The maps of a run, by name: each with a leading axis of time.

    A Deep Sea also has `right`, without that axis: the action that means it in each cell.
    """
    path = run_dir / FILE
    arrays, meta = checkpoint.unpack(path, files.read_bytes(path, checkpoint.MAX_MODEL_BYTES))
    if meta.get("kind") != "snapshots":
        raise DamagedFile(path, "holds no snapshots")
    return {name.strip("[]'"): values for name, values in arrays.items()}
