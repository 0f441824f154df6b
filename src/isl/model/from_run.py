"""The policy that a finished run of `isl train` left in its folder, to be played and looked at.

The folder may be a stranger's: nothing that its files name is imported. So the agent must be one of
ours, and an environment whose name holds a module (`module:Id`) has to be given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from isl import agents
from isl.envs import spaces
from isl.errors import DamagedFile, UsageError
from isl.experiments.running.prepared import host_agent
from isl.experiments.spec import RunSpec
from isl.model.evaluation import playable
from isl.model.policy import Policy
from isl.storage import checkpoint, run_folder, store


@dataclass(frozen=True)
class Trained:
    """What a run learned, with the methods that models have for it."""

    run: store.Run
    env: Any  # a compiled task, or the name of a Gymnasium environment
    observations: spaces.Observations
    policy: Policy
    learner: Any

    @property
    def observation_space(self) -> Space[Any]:
        """The environment's."""
        return self.observations.space

    def reads(self, space: Space[Any]) -> bool:
        """Whether observations of a space are read as those that it was trained on."""
        return self.observations.describe() == self.observations.describe(space)

    def predict(
        self, observation: Any, state: Any = None, *, action_masks: Any = None
    ) -> tuple[Any, Any]:
        """The greedy action, as `Model.predict`."""
        return self.policy.predict(self.learner, observation, state, masks=action_masks)

    def inspect(self, observation: Any) -> dict[str, NDArray[Any]]:
        """What the agent believes there, as `Model.inspect`."""
        return self.policy.inspect(self.learner, observation)


def trained(path: Path, best: bool = False, env: str | None = None) -> Trained:
    """The last policy of a finished run, or that of its best evaluation.

    Args:
        path: the run's folder, …/seed-<k>.
        best: of the best evaluation.
        env: the environment's name; by default the one that the run names.
    """
    if run_folder.SEED_FOLDER.fullmatch(path.absolute().name) is None:
        raise UsageError(f"{path} is not a run: expected its folder, such as …/seed-0")
    run = store.read_run(path)
    if run.summary is None:
        raise UsageError(f"{path} is {run.status}; expected a finished run {run.problem}".rstrip())
    if run.agent not in agents.AGENTS:
        known = ", ".join(agents.AGENTS)
        raise UsageError(f"{path} is of agent {run.agent!r}: only {known} are read from a folder")
    try:
        spec = RunSpec(**run.config)
    except TypeError:
        raise DamagedFile(path / run_folder.CONFIG, "describes no run of isl") from None
    played, space, choices = _environment(spec, env)
    observations, actions = spec.reading(space), spaces.actions(choices)
    agent = host_agent(spec, observations, actions.number)
    template = jax.eval_shape(agent.init, jax.random.key(0))
    file = path / checkpoint.FOLDER / (checkpoint.BEST if best else checkpoint.FINAL)
    if best and not file.exists():
        raise UsageError(f"{path} has no best policy: it was trained without evaluations")
    learner, _ = checkpoint.load_file(file, template)
    policy = Policy(agent, observations, actions, run.task, run.seed)
    return Trained(run, played, observations, policy, jax.device_put(learner))


def _environment(spec: RunSpec, env: str | None) -> tuple[Any, Space[Any], Space[Any]]:
    """What the policy is played on, and the spaces of what it was trained on."""
    if spec.timesteps is None:
        task = spec.environment()
        return env or task, task.observation_space, Discrete(task.num_actions)
    if env is None and ":" in spec.task:
        raise UsageError(f"give the environment of the run: --env {spec.task}")
    name = env or spec.task
    made: gymnasium.Env[Any, Any] = playable(name)
    made.close()
    return name, made.observation_space, made.action_space
