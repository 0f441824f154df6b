"""What a run is, resolved: everything that can change a bit of its result, and nothing else."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from dataclasses import dataclass
from typing import Any

from isl import agents, envs
from isl.agents import config
from isl.envs.base import Environment
from isl.errors import UsageError
from isl.experiments import presets

DEFAULT_TIMESTEPS = 100_000  # of a Gymnasium environment


@dataclass(frozen=True)
class RunSpec:
    """One configuration; with a seed it is one run."""

    task: str
    agent: str
    hyper: dict[str, Any]  # resolved hyper-parameters, plain JSON values
    episodes: int | None  # the budget of a compiled task
    until_solved: bool = False
    mapping_seed: int | None = None  # Deep Sea tasks only
    cohort_width: int = 1
    timesteps: int | None = None  # the budget of a Gymnasium environment

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: what is hashed, what `config.json` holds, what is sent to a worker."""
        values = dataclasses.asdict(self)
        if self.timesteps is None:  # so that the hashes of compiled tasks stay what they were
            del values["timesteps"]
        return values

    def environment(self) -> Environment:
        """The compiled task."""
        return envs.make(self.task, **envs.parameters_of(self.task, vars(self)))

    def config(self) -> config.Config:
        """The agent's hyper-parameters, checked."""
        made: config.Config = agents.load(self.agent).Config().replace(self.hyper)
        return made


def resolve(
    task: str,
    agent: str,
    overrides: dict[str, Any],
    *,
    episodes: int | None = None,
    until_solved: bool = False,
    mapping_seed: int | None = None,
    cohort_width: int = 1,
    timesteps: int | None = None,
    preset: str | None = None,
) -> RunSpec:
    """Preset, then overrides, then the rest of the defaults; every name and bound is checked."""
    family = envs.family_of(task)
    known = {} if family is None else family.parameters
    if mapping_seed is not None and "mapping_seed" not in known:
        raise UsageError(f"--mapping-seed is for Deep Sea tasks, not for {task}")
    if until_solved and not envs.has_goal(task):
        raise UsageError(f"--until-solved is for tasks with a goal to visit; {task} has none")
    if family is None:
        return _resolve_gymnasium(task, agent, overrides, timesteps, episodes, cohort_width, preset)
    if timesteps is not None:
        raise UsageError(f"--timesteps is for Gymnasium environments; {task} takes --episodes")
    if mapping_seed is None:
        mapping_seed = known.get("mapping_seed")
    spec = RunSpec(task, agent, {}, 1, until_solved, mapping_seed, cohort_width)
    env = spec.environment()
    if episodes is None:
        episodes = env.default_episodes
    if episodes < 1:
        raise UsageError(f"--episodes must be at least 1, got {episodes}")
    if cohort_width < 1:
        raise UsageError(f"--cohort-width must be at least 1, got {cohort_width}")
    hyper = _hyper(task, agent, preset, overrides, episodes * env.max_episode_steps)
    return dataclasses.replace(spec, hyper=hyper, episodes=episodes)


def _resolve_gymnasium(
    task: str,
    agent: str,
    overrides: dict[str, Any],
    timesteps: int | None,
    episodes: int | None,
    cohort_width: int,
    preset: str | None,
) -> RunSpec:
    _check_gymnasium_id(task)
    if episodes is not None:
        raise UsageError(f"--episodes is for compiled tasks; {task} takes --timesteps")
    if cohort_width != 1:
        raise UsageError(f"--cohort-width is for compiled tasks; {task} runs one seed at a time")
    timesteps = DEFAULT_TIMESTEPS if timesteps is None else timesteps
    if timesteps < 1:
        raise UsageError(f"--timesteps must be at least 1, got {timesteps}")
    hyper = _hyper(task, agent, preset, overrides, timesteps)
    return RunSpec(task, agent, hyper, None, timesteps=timesteps)


def _hyper(
    task: str, agent: str, preset: str | None, overrides: dict[str, Any], steps: int
) -> dict[str, Any]:
    """The agent's defaults, then the preset, then what the user asked for; `steps`: the budget."""
    made: config.Config = agents.load(agent).Config()
    if hasattr(made, "epsilon_steps"):  # the control anneals ε over the first tenth of its budget
        made = made.replace({"epsilon_steps": max(1, steps // 10)})
    return made.replace(presets.values(preset, task, agent)).replace(overrides).to_dict()


def _check_gymnasium_id(task: str) -> None:
    import gymnasium

    module, colon, name = task.rpartition(":")
    if colon:  # Gymnasium's way to name an environment and the module that registers it
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"no module named {error.name!r} for task {task!r}; "
                "is its folder on PYTHONPATH or the package installed?"
            ) from None
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error:
        family = task.partition("/")[0]
        close = difflib.get_close_matches(task, gymnasium.registry, n=1, cutoff=0.75)
        if close and not difflib.get_close_matches(family, envs.TASKS, n=1):
            raise UsageError(f"unknown task {task!r}; did you mean {close[0]}?") from None
        envs.make(task)  # raises, and says which tasks there are
        raise
