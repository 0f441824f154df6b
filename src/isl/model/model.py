"""The user's object: an agent and an environment, with a Stable-Baselines3-style API.

model = Seeker("FrozenLake-v1", seed=0)
model.learn(50_000)
action, _ = model.predict(obs)
model.save("m.isl")
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from gymnasium.spaces import Space
from numpy.typing import NDArray

from isl.agents import sb3_names
from isl.envs import spaces
from isl.errors import UsageError
from isl.model import sb3_attributes
from isl.model.callbacks import evaluates
from isl.model.choices import configured, recognises
from isl.model.environment import Attachment, attach
from isl.model.evaluation import evaluations_of
from isl.model.file import ModelFile, read_model, write_model
from isl.model.given_callbacks import MaybeCallback, as_callback
from isl.model.learning import check_budget, learn, plan_rates
from isl.model.loading import MODELS, Build, loaded, move, other_space, restore
from isl.model.parameters import with_parameters
from isl.model.policy import Policy, make_agent
from isl.model.progress import Logger, checked_verbosity
from isl.model.replay import Replay
from isl.storage import checkpoint
from isl.training.episodes import Episodes
from isl.training.evaluations import EPISODES, Evaluated, Wish
from isl.training.loop import Loop, Steps
from isl.training.program_cache import keep_programs
from isl.training.watch import Watch

log = logging.getLogger(__name__)


class Model:
    """One agent learning in one environment; what `Seeker`, `ISL` and the others share.

    Args:
        env: a Gymnasium id, a task such as "deep_sea/20", a function that makes an environment, or
            one: Gymnasium's (single or vector), Stable-Baselines3's VecEnv, dm_env's, a compiled
            task. Action masks (`info["action_mask"]`, `action_masks()`) are followed.
        seed: every random number derives from it.
        num_envs: how many environments run side by side; `env` must then be an id or a function.
        step_timeout: seconds after which a step of a Python environment is given up as hanging.
        preset: a set of hyper-parameters, by name or in a .toml file; None: the task's own.
        observations: how they are read: "table", "vector", "image", "parts", "symbols" or
            "recurring" (isl.envs.spaces); "auto": as their space suggests, or as a table where the
            same ones come back.
        normalize: scale observations to zero mean and unit variance, by running statistics.
        torso: what reads observations: "mlp", "cnn", or a flax module, [B, …] → [B, features].
        verbose: 1 prints what is logged, every `log_interval` episodes of `learn`.
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
        verbose: int = 0,
        **hyper: Any,
    ) -> None:
        read = partial(spaces.observations, kind=observations)
        scout = observations == "auto" and torso is None and recognises(self.agent_name)
        attached = attach(env, seed, num_envs, step_timeout, read, scout)
        config = configured(self.agent_name, attached, preset, normalize, torso, hyper)
        reading, actions = attached.observations, attached.actions
        self._set_up(Build(config, reading, actions, attached.task, seed, normalize, torso))
        self.verbose = checked_verbosity(verbose)
        self._attach(attached)
        self._made = attached.loop(self._agent)

    if not TYPE_CHECKING:  # where it would allow every attribute
        __getattr__ = sb3_attributes.missing

    # What is shown of a class: what `__init__` takes, although there is a `__new__`.
    __signature__ = inspect.Signature([*inspect.signature(__init__).parameters.values()][1:])

    def _set_up(self, build: Build) -> None:
        """Everything but the environment."""
        keep_programs()
        config, observations, actions, task, seed, normalize, torso = build
        self.config, self.task, self.seed = config, task, seed
        self.normalize, self.torso = normalize, torso
        self._observations, self._actions = observations, actions
        self._agent = make_agent(self.agent_name, config, observations, actions, normalize, torso)
        self._policy = Policy(self._agent, observations, actions, task, seed)
        self._attached: Attachment | None = None
        self._learner: Any = None  # a copy of the loop's, or None if that has moved on
        self._file: ModelFile | None = None  # what was loaded, until training goes on
        self.num_timesteps = self.verbose = 0
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
                restore(self, self._file, self._made)
        return self._made

    @property
    def env(self) -> Any:
        """The environment it learns in, or None."""
        return self._attached.env if self._attached else None

    def get_env(self) -> Any:
        """The environment it learns in, or None; the first one of several that it made."""
        return self.env

    @property
    def replay(self) -> Replay:
        """The transitions that it learns from, oldest first: `model.replay[-100:].reward`."""
        if self._loop is None:
            raise UsageError("this model has no environment, hence no replay")
        return Replay(self._loop)

    @property
    def observation_space(self) -> Space[Any]:
        """The space of the environment's observations."""
        return self._observations.space

    @property
    def action_space(self) -> Space[Any]:
        """The space of the environment's actions."""
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
        """Learn for at least `total_timesteps` more environment steps.

        Training continues where it was. The greedy policy is evaluated about ten times and at the
        end, within a tenth of the time; no bit of training depends on it.

        Args:
            total_timesteps: on compiled tasks `learn` ends with the chunk that reaches them.
            callback: a callback, a list of them, or a function of the model; False ends `learn`.
            log_interval: episodes between two rows of the log.
            tensorboard_log: a folder; None writes no log.
            reset_num_timesteps: count from 0 again, in a new run of TensorBoard; `False` goes on
                counting, in the same curves.
            progress_bar: show one.
            eval_env: where the greedy policy is evaluated; None: in the model's own environment
                made again, which needs its name.
            eval_freq: steps between two evaluations; None: a tenth of `total_timesteps`.
            n_eval_episodes: of an evaluation, at most; 0: it is never evaluated.

        Returns:
            The model itself; `evaluations` has what the evaluations found.
        """
        check_budget(total_timesteps, log_interval)
        if self._loop is None or self._attached is None:
            raise UsageError("this model has no environment; give it one with model.set_env(env)")
        if reset_num_timesteps:
            self.num_timesteps = 0
            self.evaluations = []
        wish, watched = Wish(eval_freq, n_eval_episodes), evaluates(as_callback(callback))
        planned = evaluations_of(self, self._attached, wish, total_timesteps, eval_env, watched)
        plan_rates(self, self._loop, total_timesteps, reset_num_timesteps)
        name, earlier = type(self).__name__, self.logger.folder
        self.logger = Logger(
            tensorboard_log, name, self.num_timesteps, earlier, shown=bool(self.verbose)
        )
        learn(self, self._loop, total_timesteps, callback, log_interval, progress_bar, planned)
        return self

    def say_once(self, message: str) -> None:
        """A warning that is not repeated."""
        if message not in self._said:
            self._said.add(message)
            log.warning(message)

    @property
    def diverged(self) -> bool:
        """Whether the values are far beyond what the rewards make possible, after `learn`."""
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
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, or one for each of a batch.

        Args:
            observation: one, or a batch.
            state: what the last call returned; None where an episode begins. On views of symbols,
                such as MiniGrid's, it remembers the episode and gets the policy out of loops.
            episode_start: of which observations in a batch the state is made anew.
            deterministic: take the best action by what was learned; `False` explores as in
                training, and the state is what was drawn for the episode.
            action_masks: the environment's, one or one for each observation: no action outside
                them is taken.

        Returns:
            The action or actions, and the state for the next call.
        """
        return self._policy.predict(
            self.learner, observation, state, episode_start, deterministic, action_masks
        )

    def inspect(self, observation: Any) -> dict[str, NDArray[Any]]:
        """What the agent believes of an observation, per action: "q", "policy", "ell", "pareto" …

        Agents leave out what they do not have.
        """
        return self._policy.inspect(self.learner, observation)

    def get_parameters(self) -> dict[str, NDArray[Any]]:
        """Copies of all that was learned, by name; the optimiser's moments are among them."""
        return checkpoint.flatten(self.learner.inner if self.normalize else self.learner)

    def set_parameters(self, parameters: Mapping[str, Any], exact_match: bool = True) -> None:
        """Replace what was learned, by the names that `get_parameters` gives; targets follow.

        With `exact_match=False` parameters that are not given stay as they are.
        """
        now = self.learner
        inner = with_parameters(now.inner if self.normalize else now, parameters, exact_match)
        self.adopt(now._replace(inner=inner) if self.normalize else inner)

    def adopt(self, learner: Any) -> None:
        """Go on with another learned state of the same build."""
        if self._loop is not None:
            self._loop.adopt(learner)
        self._learner = learner

    def set_env(self, env: Any, num_envs: int = 1, step_timeout: float | None = None) -> None:
        """Go on in another environment with the same spaces; what was learned and stored stays."""
        move(self, attach(env, self.seed, num_envs, step_timeout, self._read))

    def _read(self, space: Space[Any]) -> spaces.Observations:
        """The reading of another environment's observations."""
        if not self.reads(space):
            raise other_space("observation", self.observation_space, space)
        return spaces.observations(space, self._observations.kind)

    def save(self, path: str | Path, replay: bool = True) -> None:
        """Write the model to one file with a checksum, without pickle.

        `replay=False` keeps what was learned, but neither the replay nor where training stood:
        training then fills a new replay first.
        """
        write_model(self, Path(path), replay)

    def export(self, path: str | Path) -> list[str]:
        """Write the greedy policy and the beliefs as .onnx or .npz, for use without JAX.

        Returns:
            The beliefs of `inspect` that the file does not have.
        """
        return self._policy.export(self.learner, Path(path), type(self).__name__)

    @classmethod
    def load(cls, path: str | Path, env: Any = None, torso: Any = None, num_envs: int = 1) -> Self:
        """Read a model from its file; it continues exactly where it was saved.

        Args:
            path: what `save` wrote.
            env: where it goes on learning. Without it a model of a compiled task makes that task
                again; any other can predict, and can learn once `set_env` was called.
            torso: the module of a model with a custom torso.
            num_envs: how many environments run side by side.
        """
        return loaded(read_model(Path(path)), cls, env, torso, num_envs)
