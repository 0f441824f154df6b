"""The user's object: an agent and an environment, with a Stable-Baselines3-style API.

model = Seeker("FrozenLake-v1", seed=0)
model.learn(50_000)
action, _ = model.predict(obs)
model.save("m.isl")
"""

from __future__ import annotations

import inspect
import logging
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from gymnasium.spaces import Space
from numpy.typing import NDArray

from isl import agents
from isl.agents import sb3_names
from isl.agents.config import Config
from isl.envs import spaces
from isl.errors import UsageError
from isl.experiments import presets
from isl.model.callbacks import MaybeCallback, as_callback, evaluates
from isl.model.environment import Attachment, attach
from isl.model.evaluation import evaluations_of
from isl.model.file import ModelFile, read_model, write_model
from isl.model.learning import learn
from isl.model.policy import Policy, make_agent
from isl.model.progress import Logger
from isl.nn.networks import WithTorso
from isl.storage import checkpoint
from isl.training.episodes import Episodes
from isl.training.evaluations import EPISODES, Evaluated, Wish
from isl.training.loop import Loop, Steps
from isl.training.program_cache import keep_programs
from isl.training.watch import Watch

MODELS: dict[str, type[Model]] = {}  # by agent; the classes of isl.model.classes
log = logging.getLogger(__name__)


class Model:
    """One agent learning in one environment; what `Seeker`, `ISL` and the others share.

    Args:
        env: a Gymnasium id or environment (single or vector), a task such as "deep_sea/20", a
            compiled task, or a dm_env environment.
        seed: every random number derives from it.
        num_envs: how many environments run side by side; `env` must then be an id.
        step_timeout: seconds after which a step of a Python environment is given up as hanging.
        preset: a set of hyper-parameters, by name or in a .toml file; None: the task's own.
        observations: how they are read: "table", "vector", "image" or "symbols" (isl.envs.spaces).
        normalize: scale observations to zero mean and unit variance, by running statistics.
        torso: a flax module that reads observations, [B, …] → [B, features].
        hyper: hyper-parameters of the agent; `isl list AGENT` shows them.
    """

    agent_name: ClassVar[str]
    _made: Loop | None = None  # see `_loop`

    def __init_subclass__(cls) -> None:
        MODELS[cls.agent_name] = cls

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Answer whoever gives Stable-Baselines3's arguments before Python refuses them."""
        if given and sb3_names.is_policy(given[0]):
            name = cls.__name__
            raise UsageError(f"{name}(env) takes no policy {given[0]!r}: {sb3_names.NETWORK}")
        return super().__new__(cls)

    # Many parameters: the user's choices, each by its name.
    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        num_envs: int = 1,
        step_timeout: float | None = None,
        preset: str | Path | None = None,
        observations: str = "auto",
        normalize: bool = False,
        torso: Any = None,
        **hyper: Any,
    ) -> None:
        read = partial(spaces.observations, kind=observations)
        attached = attach(env, seed, num_envs, step_timeout, read)
        self._set_up(
            self._configured(attached, preset, normalize, torso, hyper),
            attached.observations,
            attached.actions,
            attached.task,
            seed,
            normalize,
            torso,
        )
        self._attach(attached)
        self._made = attached.loop(self._agent)

    # What is shown of a class: what `__init__` takes, although there is a `__new__`.
    __signature__ = inspect.Signature([*inspect.signature(__init__).parameters.values()][1:])

    def _configured(
        self,
        attached: Attachment,
        preset: str | Path | None,
        normalize: bool,
        torso: Any,
        hyper: dict[str, Any],
    ) -> Config:
        """The hyper-parameters; an option that would have no effect is refused."""
        seen = attached.observations.seen
        usual = default_config(self.agent_name, attached.task, seen, preset)
        config = usual.replace(hyper)
        config.check_given(hyper, seen if torso is None else WithTorso(seen, torso), usual)
        if normalize and config.normalises:
            raise UsageError(
                f"{type(self).__name__} normalises vectors by itself; leave normalize out"
            )
        if preset is None and (note := presets.note(attached.task, self.agent_name, seen)):
            log.warning(note)
        return config

    def _set_up(
        self,
        config: Config,
        observations: spaces.Observations,
        actions: spaces.Actions,
        task: str,
        seed: int,
        normalize: bool,
        torso: Any,
    ) -> None:
        """Everything but the environment."""
        keep_programs()
        self.config, self.task, self.seed = config, task, seed
        self.normalize, self.torso = normalize, torso
        self._observations, self._actions = observations, actions
        self._agent = make_agent(self.agent_name, config, observations, actions, normalize, torso)
        self._policy = Policy(self._agent, observations, actions, task, seed)
        self._attached: Attachment | None = None
        self._learner: Any = None  # a copy of the loop's, or None if that has moved on
        self._file: ModelFile | None = None  # what was loaded, until training goes on
        self.num_timesteps = 0
        self.logger = Logger()
        self.episodes = Episodes(1)
        self.evaluations: list[Evaluated] = []  # of the greedy policy, in the course of `learn`
        self._said: set[str] = set()
        self.watch: Watch | None = None  # over the values, from the first `learn` on
        self.learned_elsewhere = False  # in another environment than the present one, or loaded

    def _attach(self, attached: Attachment) -> None:
        self._attached, self._made, self.watch = attached, None, None
        self.episodes = Episodes(attached.width)

    @property
    def _loop(self) -> Loop | None:
        """The training loop. Of a loaded model it is made when needed: predicting needs none."""
        if self._made is None and self._attached is not None:
            self._made = self._attached.loop(self._agent)
            if self._file is not None:
                self._restore(self._file, self._made)
        return self._made

    @property
    def env(self) -> Any:
        """The environment it learns in, or None."""
        return self._attached.env if self._attached else None

    @property
    def observation_space(self) -> Space[Any]:
        """The environment's."""
        return self._observations.space

    @property
    def action_space(self) -> Space[Any]:
        """The environment's."""
        return self._actions.space

    def reads(self, space: Space[Any]) -> bool:
        """Whether observations of a space are read as those that it was made for."""
        return self._observations.describe() == self._observations.describe(space)

    @property
    def learner(self) -> Any:
        """The learned state: parameters, optimiser and whatever else the agent updates."""
        if self._learner is None and self._loop is not None:
            self._learner = self._loop.learner
        return self._learner

    # Many parameters: Stable-Baselines3's, by name.
    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 10,
        tensorboard_log: str | Path | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = True,
        eval_env: Any = None,
        eval_freq: int | None = None,
        n_eval_episodes: int = EPISODES,
    ) -> Self:
        """Learn for (at least) so many more environment steps.

        Every `log_interval` episodes scalars go to `tensorboard_log`, if given. Training always
        continues where it was; `reset_num_timesteps=True` counts from 0 again, in a new run of
        TensorBoard, and `False` goes on counting, in the same curves.

        The greedy policy is evaluated about ten times and at the end, with up to `n_eval_episodes`
        episodes (0: never) and within a tenth of the time; with `eval_freq` every so many steps.
        `evaluations` then holds what was found. It is played in `eval_env`, or else in the model's
        own environment made again, which needs its name. No bit of training depends on it.
        """
        if total_timesteps < 1:
            raise UsageError(f"total_timesteps must be at least 1, got {total_timesteps}")
        if log_interval < 1:
            raise UsageError(f"log_interval must be at least 1, got {log_interval}")
        if self._loop is None:
            raise UsageError("this model has no environment; give it one with model.set_env(env)")
        if reset_num_timesteps:
            self.num_timesteps = 0
            self.evaluations = []
        assert self._attached is not None
        wish, watched = Wish(eval_freq, n_eval_episodes), evaluates(as_callback(callback))
        planned = evaluations_of(self, self._attached, wish, total_timesteps, eval_env, watched)
        name, earlier = type(self).__name__, self.logger.folder
        self.logger = Logger(tensorboard_log, name, self.num_timesteps, earlier)
        learn(self, self._loop, total_timesteps, callback, log_interval, progress_bar, planned)
        return self

    def say_once(self, message: str) -> None:
        """A warning that is not repeated."""
        if message not in self._said:
            self._said.add(message)
            log.warning(message)

    @property
    def diverged(self) -> bool:
        """Whether `learn` brought the values far beyond what its rewards make possible."""
        return self.watch is not None and self.watch.diverged

    def advance(self, steps: int) -> Steps:
        """Let the loop run, and count what happened."""
        assert self._loop is not None
        before, taken = self._loop.steps, self._loop.run(steps)
        self.episodes.add(taken)
        self.num_timesteps += self._loop.steps - before
        self._learner = None
        return taken

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """The action for an observation (or one for each of a batch), and the state to hand back.

        `deterministic` takes the best action by what was learned. Otherwise the agent explores as
        in training; `state` is then what it drew for the episode, drawn anew where `episode_start`.
        """
        return self._policy.predict(self.learner, observation, state, episode_start, deterministic)

    def inspect(self, observation: Any) -> dict[str, NDArray[Any]]:
        """What the agent believes there: "q", "policy" and, where it has them, "ell", "pareto"."""
        return self._policy.inspect(self.learner, observation)

    def get_parameters(self) -> dict[str, NDArray[Any]]:
        """All that was learned, by name, the optimiser's moments included: copies."""
        return checkpoint.flatten(self.learner.inner if self.normalize else self.learner)

    def set_env(self, env: Any, num_envs: int = 1, step_timeout: float | None = None) -> None:
        """Go on in another environment of the same spaces; what was learned and stored stays."""
        attached = attach(env, self.seed, num_envs, step_timeout, self._read)
        if spaces.describe(self.action_space) != spaces.describe(attached.actions.space):
            raise _other("action", self.action_space, attached.actions.space)
        self.learned_elsewhere = True
        if self._file is not None:  # and training goes on from there
            self._attach(attached)
            if self._file.fits(attached.kind, attached.width):
                self.episodes.restore(self._file.episodes(self.episodes.state()))
            return
        now, previous, learner = self._attached, self._loop, self.learner
        assert now is not None
        assert previous is not None
        fits = (now.kind, now.width) == (attached.kind, attached.width)
        state = previous.state() if fits else None
        self._attach(attached)
        self._made = attached.loop(self._agent)
        if state is not None:
            self._made.restore(learner, state)
        else:
            self._made.restart(learner, f"@{self.num_timesteps}")

    def _read(self, space: Space[Any]) -> spaces.Observations:
        """The reading of another environment's observations."""
        if not self.reads(space):
            raise _other("observation", self.observation_space, space)
        return spaces.observations(space, self._observations.kind)

    def save(self, path: str | Path, replay: bool = True) -> None:
        """One sealed file, without pickle. `replay=False` keeps what was learned but not the replay
        and where training stood: it then starts to store again, with this learner."""
        write_model(self, Path(path), replay)

    def export(self, path: str | Path) -> list[str]:
        """The greedy policy and beliefs for places without JAX, as .onnx or .npz (docs/export.md).

        Returns the beliefs of `inspect` that the file does not have.
        """
        return self._policy.export(self.learner, Path(path), type(self).__name__)

    @classmethod
    def load(cls, path: str | Path, env: Any = None, torso: Any = None, num_envs: int = 1) -> Self:
        """The model in a file, continuing exactly where it was saved.

        Without `env` a model of a compiled task makes that task again; any other can predict, and
        learn once `set_env` was called. A model with a custom torso needs that module again.
        """
        file = read_model(Path(path))
        # A file of 0.1's ISL may hold what is Seeker now.
        return class_of(file, cls)._loaded(file, env, torso, num_envs)  # type: ignore[return-value]

    @classmethod
    def _loaded(cls, file: ModelFile, env: Any, torso: Any, num_envs: int) -> Self:
        file.check_torso(torso)
        model = cls.__new__(cls)
        model._set_up(
            file.config(),
            file.observations(),
            file.actions(),
            file.task,
            file.seed,
            file.normalize,
            torso,
        )
        file.check_memory(model._agent, model._observations)
        model._learner = file.learner(model._agent)
        model.num_timesteps = file.num_timesteps
        model._file = file
        if env is None:
            env = file.compiled_task()
        if env is not None:
            model.set_env(env, num_envs)
        return model

    def _restore(self, file: ModelFile, loop: Loop) -> None:
        """Training as it stood in the file, if the environment is of the same kind."""
        attached = self._attached
        assert attached is not None
        learner = file.learner(self._agent)
        if file.fits(attached.kind, attached.width):
            loop.restore(learner, file.loop_state(loop.template()))
        else:
            loop.restart(learner, f"@{file.num_timesteps}")
        self._learner = self._file = None


def class_of(file: ModelFile, wanted: type[Model]) -> type[Model]:
    """The class of a file's agent, which must be `wanted` unless that is `Model` itself.

    In 0.1 `ISL` was also what is Seeker now: such a file is read as what it is.
    """
    found = MODELS.get(file.agent)
    if found is None:
        raise UsageError(f"{file.path} holds a model of agent {file.agent!r}, which is unknown")
    if wanted is not Model and wanted.agent_name not in (file.agent, file.recorded_agent):
        raise UsageError(
            f"{file.path} holds a model of agent {file.agent!r}, expected {wanted.agent_name!r}"
        )
    return found


def _other(what: str, ours: Space[Any], theirs: Space[Any]) -> UsageError:
    return UsageError(f"the model was made for {what} space {ours}, the environment has {theirs}")


def default_config(
    agent: str, task: str, space: Space[Any], preset: str | Path | None = None
) -> Config:
    """Hyper-parameters where the user gives none: the preset's."""
    config: Config = agents.load(agent).Config()
    return config.replace(presets.values(preset, task, agent, space))
