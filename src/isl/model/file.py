"""Model files: sealed safetensors (isl.storage.checkpoint) whose metadata rebuilds the model.

Nothing in a file is run or imported: the agent is one of ours, spaces and hyper-parameters are
plain numbers that are checked, and an environment is made from a file only if it is a compiled task
of ours. Any other has to be given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from isl import agents, envs
from isl.agents import aliases
from isl.agents.base import Agent, Transition
from isl.agents.config import Config
from isl.envs import spaces
from isl.errors import DamagedFile, UnsupportedFormat, UsageError
from isl.model import torsos
from isl.nn.networks import dummy_observation
from isl.storage import checkpoint, files
from isl.version import __version__

if TYPE_CHECKING:
    from isl.model.model import Model

Reading = TypeVar("Reading")
MAX_BYTES = 1 << 38
MAX_REPLAY_BYTES = 4 << 30  # that a file may ask for; raise it for a larger one that you trust
MAX_NUMBERS = 1 << 24  # in one observation
_FIELDS: dict[str, type] = {
    "agent": str,
    "hyper": dict,
    "normalize": bool,
    "torso": str,  # the class of the user's own, or ""
    "observation_space": dict,
    "action_space": dict,
    "task": str,
    "mapping_seed": int,  # of a Deep Sea; otherwise unused
    "kind": str,
    "width": int,
    "seed": int,
    "num_timesteps": int,
    "replay": bool,
}


def write_model(model: Model, path: Path, replay: bool) -> None:
    """Everything the model is; without `replay` only what it learned."""
    attached, state = model._attached, {"learner": model.learner}
    if replay:
        loop = model._loop
        if loop is None:
            raise UsageError(
                "this model has no environment, hence no replay; save with replay=False"
            )
        state |= {"loop": loop.state(), "episodes": model.episodes.state()}
    task = attached.env if attached is not None and attached.kind == "compiled" else None
    meta = {
        "type": "model",
        "isl": __version__,
        "agent": model.agent_name,
        "hyper": model.config.to_dict(),
        "normalize": model.normalize,
        "torso": torsos.name_of(model.torso),
        "observation_space": model._observations.describe(),
        "action_space": spaces.describe(model.action_space),
        "task": model.task,
        "mapping_seed": getattr(task, "mapping_seed", 42),
        "kind": "host" if attached is None else attached.kind,
        "width": 1 if attached is None else attached.width,
        "seed": model.seed,
        "num_timesteps": model.num_timesteps,
        "replay": replay,
    }
    if replay and model._loop is not None and model._loop.masked:
        meta["masked"] = True
    if model._observations.recorded is not None:
        meta["observations"] = model._observations.recorded
    files.make_folder(path.parent)
    checkpoint.save_file(path, state, meta)


class ModelFile:
    """A model file that was read and found intact."""

    def __init__(self, path: Path, arrays: checkpoint.Arrays, meta: dict[str, Any]) -> None:
        self.path = path
        self._arrays = arrays
        # Every unit, state and action has parameters: no file can have more than it holds numbers.
        self._numbers = sum(array.size for array in arrays.values())
        self._meta = meta
        self.recorded_agent: str = meta["agent"]
        try:
            self.agent, self._hyper = aliases.meant(meta["agent"], meta["hyper"])
        except UsageError as error:
            raise UnsupportedFormat(path, str(error)) from None
        self.task: str = meta["task"]
        self.kind: str = meta["kind"]
        self.width: int = meta["width"]
        self.seed: int = meta["seed"]
        self.normalize: bool = meta["normalize"]
        self.num_timesteps: int = meta["num_timesteps"]
        self.replay: bool = meta["replay"]
        self.masked: bool = meta.get("masked") is True

    def torso(self, given: Any) -> Any:
        """The model's torso. A module is code: it is not in the file and must be given."""
        saved = self._meta["torso"]
        if saved in torsos.NAMES and given is None:
            return saved
        if saved != torsos.name_of(given):
            is_name = saved in ("", *torsos.NAMES)
            hint = "leave torso out" if is_name else f"give torso={saved}(...)"
            raise UsageError(f"{self.path} was saved with torso {saved or None}; {hint}")
        return given

    def config(self) -> Config:
        """The hyper-parameters, checked."""
        try:
            config: Config = agents.load(self.agent).Config().replace(self._hyper)
        except UsageError as error:
            raise self._bad("hyper-parameter", error) from None
        for name, value in config.to_dict().items():
            if name in ("hidden", "tilings", "successors") or "ensemble" in name:
                self._check_held(sum(value) if isinstance(value, list) else value, name)
        return config

    def check_memory(self, agent: Agent, observations: spaces.Observations) -> None:
        """A few bytes can ask for any replay: refuse what no honest small file would."""

        def stored() -> Any:
            key, obs = jax.random.key(0), dummy_observation(observations.stored)
            step = Transition(obs, jnp.int32(0), jnp.float32(0), jnp.float32(0), obs)
            return agent.observe(agent.init(key), step, key)[1]

        item = jax.tree.leaves(jax.eval_shape(stored))
        per_step = sum(x.size * x.dtype.itemsize for x in item)
        needed = per_step * agent.schedule.replay_capacity
        if needed > MAX_REPLAY_BYTES:
            raise DamagedFile(
                self.path,
                f"asks for a replay of {needed / 2**30:.3g} GiB, the limit is "
                f"{MAX_REPLAY_BYTES / 2**30:g} (isl.model.file.MAX_REPLAY_BYTES)",
            )

    def observations(self) -> spaces.Observations:
        """How the model reads observations."""
        space = self._space("observation_space")
        kind = self._meta.get("observations", spaces.usual(space))
        if isinstance(space, Discrete) and not self._meta["torso"]:
            self._check_held(int(space.n), "observation_space")
        if kind == "symbols":
            self._check_held(math.prod(space.shape or ()), "observation_space")
        reading = partial(spaces.observations, kind=kind)
        found = self._read("observation_space", reading, space)
        if isinstance(found.seen, Discrete) and not self._meta["torso"]:
            self._check_held(int(found.seen.n), "observation_space")
        return found

    def actions(self) -> spaces.Actions:
        """How the model's choices become actions."""
        found = self._read("action_space", spaces.actions, self._space("action_space"))
        self._check_held(found.number, "action_space")
        return found

    def _check_held(self, number: int, name: str) -> None:
        if number > self._numbers:
            told = f"{name} asks for {number}, the file holds {self._numbers} numbers"
            raise DamagedFile(self.path, told)

    def _read(self, name: str, reading: Callable[[Any], Reading], space: Any) -> Reading:
        try:
            return reading(space)
        except UsageError as error:
            raise self._bad(name, error) from None

    def _bad(self, name: str, error: Exception) -> DamagedFile:
        return DamagedFile(self.path, f"holds a bad {name}: {' '.join(str(error).split())}")

    def _space(self, name: str) -> Any:
        try:
            _check_size(self._meta[name])
            return spaces.from_description(self._meta[name])
        except Exception as error:  # whatever nonsense Gymnasium refuses
            raise self._bad(name, error) from None

    def compiled_task(self) -> Any:
        """The compiled task of ours that the model was trained on, or None."""
        if self.kind != "compiled" or not envs.is_compiled_task(self.task):
            return None
        return envs.make(self.task, **envs.parameters_of(self.task, self._meta))

    def learner(self, agent: Agent) -> Any:
        """The learned state, for the agent that the file describes."""
        template = jax.eval_shape(agent.init, jax.random.key(0))
        try:
            return jax.tree.map(jnp.array, self._part("learner", template))
        except DamagedFile as error:
            # The seal is right, so this is what was saved: by a version with other networks.
            raise UnsupportedFormat(
                self.path,
                f"was saved by isl {self._meta.get('isl')} with other parameters than isl "
                f"{__version__} has ({error.reason}): use the version that wrote it",
            ) from None

    def fits(self, kind: str, width: int) -> bool:
        """Whether training can go on where it stood, in environments of such a kind."""
        return self.replay and (self.kind, self.width) == (kind, width)

    def loop_state(self, template: Any) -> Any:
        """Where training stood."""
        return self._part("loop", template)

    def episodes(self, template: Any) -> Any:
        """The open episodes."""
        return self._part("episodes", template)

    def _part(self, name: str, template: Any) -> Any:
        prefix = f"['{name}']"
        arrays = {key: x for key, x in self._arrays.items() if key.startswith(prefix)}
        return checkpoint.restore(self.path, arrays, {name: template})[name]


def _check_size(description: Any) -> None:
    """Gymnasium allocates the bounds of a Box: bound them first."""
    if isinstance(description, dict):
        shape = description.get("shape")
        if isinstance(shape, list) and math.prod(shape) > MAX_NUMBERS:
            raise ValueError(f"shape {shape} is beyond the limit of {MAX_NUMBERS} numbers")
        description = description.get("parts")
    if isinstance(description, list):
        for part in description:
            _check_size(part)


def read_model(path: Path) -> ModelFile:
    """The file's content, checked against its seal and for what a model must have."""
    if not path.exists():
        raise UsageError(f"no such model file: {path}")
    arrays, meta = checkpoint.unpack(path, files.read_bytes(path, MAX_BYTES))
    if meta.get("type") != "model":
        raise DamagedFile(path, "is a checkpoint or other file of isl, but not a model")
    for name, kind in _FIELDS.items():
        if type(meta.get(name)) is not kind:
            raise DamagedFile(path, f"has no valid {name!r} in its metadata")
    return ModelFile(path, arrays, meta)
