"""What a run is, resolved: everything that can change a bit of its result, and nothing else."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space

from isl import agents, envs
from isl.agents import aliases
from isl.agents.config import Config
from isl.envs import named, spaces
from isl.errors import UsageError
from isl.experiments import presets
from isl.nn import rates

if TYPE_CHECKING:
    from isl.agents.base import Agent
    from isl.envs.base import Environment

DEFAULT_TIMESTEPS = 100_000  # of a Gymnasium environment


@dataclass(frozen=True)
class RunSpec:
    """One configuration, as it is recorded; with a seed it is one run.

    `agent` and `hyper` are under the names of the records (isl.agents.aliases).
    """

    task: str
    agent: str
    hyper: dict[str, Any]  # resolved hyper-parameters, plain JSON values
    episodes: int | None  # the budget of a compiled task
    until_solved: bool = False
    mapping_seed: int | None = None  # of tasks that have this parameter
    cohort_width: int = 1
    timesteps: int | None = None  # the budget of a Gymnasium environment
    observations: str | None = None  # how they are read; None: as isl 0.1 did

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: what is hashed, what `config.json` holds, what is sent to a worker."""
        values = dataclasses.asdict(self)
        for later in ("timesteps", "observations"):  # so that the hashes of runs without them stay
            if values[later] is None:
                del values[later]
        return values

    def environment(self) -> Environment:
        """The compiled task."""
        return envs.make(self.task, **envs.parameters_of(self.task, vars(self)))

    @property
    def agent_name(self) -> str:
        """The agent, by today's name."""
        return aliases.meant(self.agent, self.hyper)[0]

    def config(self) -> Config:
        """The agent's hyper-parameters, checked."""
        name, hyper = aliases.meant(self.agent, self.hyper)
        made: Config = agents.load(name).Config().replace(hyper)
        return made

    def reading(self, space: Space[Any]) -> spaces.Observations:
        """How the observations of an environment's space are read."""
        return spaces.observations(space, self.observations or spaces.usual(space))

    def make_agent(self, space: Space[Any], num_actions: int) -> Agent:
        """The agent for an environment's spaces."""
        from isl.agents.wrappers.expand_observations import expanded  # loads JAX

        reading, module = self.reading(space), agents.load(self.agent_name)
        made: Agent = module.make(self.config(), reading.seen, num_actions)
        return expanded(made, reading.expand)


@dataclass(frozen=True)
class Budget:
    """How long a run lasts, and which task of its family it is on; None: the default."""

    episodes: int | None = None
    until_solved: bool = False
    timesteps: int | None = None
    mapping_seed: int | None = None
    cohort_width: int = 1


def resolve(
    task: str,
    agent: str,
    overrides: Mapping[str, Any],
    *,
    preset: str | None = None,
    observations: str = "auto",
    **budget: Any,
) -> RunSpec:
    """Preset, then overrides, then the rest of the defaults; every name and bound is checked.

    Args:
        task: `deep_sea/20`, or a Gymnasium id.
        agent: a name of `isl list`, or the dotted path of a user's module.
        overrides: hyper-parameters that the user gives.
        preset: the name of a set of hyper-parameters; None: the task's own.
        observations: how they are read, one of `isl.envs.spaces.CHOICES`.
        budget: the fields of `Budget`.
    """
    wanted = Budget(**budget)
    family = envs.family_of(task)
    known = {} if family is None else family.parameters
    if wanted.mapping_seed is not None and "mapping_seed" not in known:
        raise UsageError(f"--mapping-seed is for Deep Sea tasks, not for {task}")
    if wanted.until_solved and not envs.has_goal(task):
        raise UsageError(f"--until-solved is for tasks with a goal to visit; {task} has none")
    if family is None:
        reading = observations_of(task, observations, agent)
        return _resolve_gymnasium(task, agent, overrides, preset, reading, wanted)
    if wanted.timesteps is not None:
        raise UsageError(f"--timesteps is for Gymnasium environments; {task} takes --episodes")
    spec = RunSpec(
        task,
        agent,
        {},
        1,
        wanted.until_solved,
        known.get("mapping_seed") if wanted.mapping_seed is None else wanted.mapping_seed,
        wanted.cohort_width,
    )
    env = spec.environment()
    episodes = env.default_episodes if wanted.episodes is None else wanted.episodes
    if episodes < 1:
        raise UsageError(f"--episodes must be at least 1, got {episodes}")
    if wanted.cohort_width < 1:
        raise UsageError(f"--cohort-width must be at least 1, got {wanted.cohort_width}")
    reading = spaces.observations(env.observation_space, observations)
    given = presets.values(preset, task, agent, reading.seen), overrides
    steps = episodes * env.max_episode_steps
    name, hyper = _recorded(agent, *given, reading.seen, steps)
    return dataclasses.replace(
        spec, agent=name, hyper=hyper, episodes=episodes, observations=reading.recorded
    )


def _resolve_gymnasium(
    task: str,
    agent: str,
    overrides: Mapping[str, Any],
    preset: str | None,
    reading: spaces.Observations,
    wanted: Budget,
) -> RunSpec:
    if wanted.episodes is not None:
        raise UsageError(f"--episodes is for compiled tasks; {task} takes --timesteps")
    if wanted.cohort_width != 1:
        raise UsageError(f"--cohort-width is for compiled tasks; {task} runs one seed at a time")
    timesteps = DEFAULT_TIMESTEPS if wanted.timesteps is None else wanted.timesteps
    if timesteps < 1:
        raise UsageError(f"--timesteps must be at least 1, got {timesteps}")
    given = presets.values(preset, task, agent, reading.seen), overrides
    name, hyper = _recorded(agent, *given, reading.seen, timesteps)
    return RunSpec(task, name, hyper, None, timesteps=timesteps, observations=reading.recorded)


def _recorded(
    agent: str,
    preset: Mapping[str, Any],
    overrides: Mapping[str, Any],
    space: Space[Any],
    steps: int,
) -> tuple[str, dict[str, Any]]:
    """The agent's defaults, then the preset, then what the user asked for; `steps`: the budget."""
    made: Config = agents.load(agent).Config()
    if hasattr(made, "epsilon_steps"):  # the control anneals ε over the first tenth of its budget
        made = made.replace({"epsilon_steps": max(1, steps // 10)})
    usual = made.replace(preset)
    config = usual.replace(overrides)
    config.check_given(overrides, space, usual)
    return aliases.recorded(agent, _with_courses(config, steps).to_dict())


def _with_courses(config: Config, steps: int) -> Config:
    """The config whose schedules of learning rates are over all updates of the budget."""
    updates = max(0, steps - config.learning_starts) // config.steps * config.updates
    named = {name: value for name, value in vars(config).items() if rates.is_rate(name)}
    texts = {name: value for name, value in named.items() if isinstance(value, str)}
    return config.replace({name: rates.over(text, updates) for name, text in texts.items()})


@lru_cache(maxsize=64)
def observations_of(task: str, kind: str = "auto", agent: str = "") -> spaces.Observations:
    """How an agent reads a Gymnasium environment; both its spaces are checked."""
    _check_name(task)
    try:
        env = named.make(task)
    except UsageError:
        raise
    except Exception as error:  # whatever the environment's own code raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"{task} cannot be made: {reason}") from None
    try:
        spaces.actions(env.action_space)
        reading = spaces.observations(env.observation_space, kind)
        if not agent or kind not in ("auto", "recurring"):
            return reading
        return _scouted(reading, agent, task)
    finally:
        env.close()


def _scouted(reading: spaces.Observations, agent: str, task: str) -> spaces.Observations:
    """The reading, also where observations come back; for agents that make a difference of it."""
    from isl.training.python_envs.scout import scouted

    if agents.load(agent).Config.recognises:
        return scouted(reading, lambda: named.make(task))
    if reading.kind == "recurring":
        raise UsageError(spaces.no_use_of_recurring(agents.label(agent)))
    return reading


def _check_name(task: str) -> None:
    import gymnasium

    try:
        named.check(task)
    except gymnasium.error.Error:
        family = task.partition("/")[0]
        close = difflib.get_close_matches(task, gymnasium.registry, n=1, cutoff=0.75)
        if close and not difflib.get_close_matches(family, envs.TASKS, n=1):
            raise UsageError(f"unknown task {task!r}; did you mean {close[0]}?") from None
        envs.make(task)  # raises, and says which tasks there are
        raise
