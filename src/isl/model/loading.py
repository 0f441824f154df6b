"""Models from files, and models in other environments than before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from gymnasium.spaces import Space

from isl.agents.config import Config
from isl.envs import spaces
from isl.errors import UsageError
from isl.model.environment import Attachment
from isl.model.file import ModelFile
from isl.training.episodes import Episodes
from isl.training.loop import Loop

if TYPE_CHECKING:
    from isl.model.model import Model

MODELS: dict[str, type[Model]] = {}  # by agent; the classes of isl.model.classes
Wanted = TypeVar("Wanted", bound="Model")


class Build(NamedTuple):
    """All that a model is before it learns, but for its environment."""

    config: Config
    observations: spaces.Observations
    actions: spaces.Actions
    task: str
    seed: int
    normalize: bool
    torso: Any


def loaded(file: ModelFile, wanted: type[Wanted], env: Any, torso: Any, num_envs: int) -> Wanted:
    """The model in a file; its environment is the one given, or the compiled task it was of."""
    torso = file.torso(torso)
    # A file of 0.1's ISL may hold what is Seeker now.
    found = cast("type[Wanted]", class_of(file, wanted))
    model = found.__new__(found)
    reading, actions = file.observations(), file.actions()
    build = Build(file.config(), reading, actions, file.task, file.seed, file.normalize, torso)
    model._set_up(build)
    file.check_memory(model._agent, model._observations)
    model._learner = file.learner(model._agent)
    model.num_timesteps = file.num_timesteps
    model._file = file
    if env is None:
        env = file.compiled_task()
    if env is not None:
        model.set_env(env, num_envs)
    return model


def class_of(file: ModelFile, wanted: type[Model]) -> type[Model]:
    """The class of a file's agent, which must be `wanted` unless that is `Model` itself.

    In 0.1 `ISL` was also what is Seeker now: such a file is read as what it is.
    """
    found = MODELS.get(file.agent)
    if found is None:
        raise UsageError(f"{file.path} holds a model of agent {file.agent!r}, which is unknown")
    expected = getattr(wanted, "agent_name", None)
    if expected is not None and expected not in (file.agent, file.recorded_agent):
        raise UsageError(
            f"{file.path} holds a model of agent {file.agent!r}, expected {expected!r}"
        )
    return found


def restore(model: Model, file: ModelFile, loop: Loop) -> None:
    """Training as it stood in the file, if the environment is of the same kind."""
    attached = model._attached
    assert attached is not None
    learner = file.learner(model._agent)
    if file.fits(attached.kind, attached.width) and file.masked == loop.masked:
        loop.restore(learner, file.loop_state(loop.template()))
    else:
        loop.restart(learner, f"@{file.num_timesteps}")
        model.episodes = Episodes(attached.width)
    model._learner = model._file = None


def move(model: Model, attached: Attachment) -> None:
    """Go on in another environment of the same spaces; what was learned and stored stays."""
    if spaces.describe(model.action_space) != spaces.describe(attached.actions.space):
        raise other_space("action", model.action_space, attached.actions.space)
    model.learned_elsewhere = True
    if model._file is not None:  # and training goes on from there
        model._attach(attached)
        if model._file.fits(attached.kind, attached.width):
            model.episodes.restore(model._file.episodes(model.episodes.state()))
        return
    now, previous, learner = model._attached, model._loop, model.learner
    assert now is not None
    assert previous is not None
    fits = (now.kind, now.width) == (attached.kind, attached.width)
    state, masked = previous.state() if fits else None, previous.masked
    model._attach(attached)
    model._made = made = attached.loop(model._agent)
    if state is not None and masked == made.masked:
        made.restore(learner, state)
    else:
        made.restart(learner, f"@{model.num_timesteps}")


def other_space(what: str, ours: Space[Any], theirs: Space[Any]) -> UsageError:
    """The environment does not fit the model."""
    return UsageError(f"the model was made for {what} space {ours}, the environment has {theirs}")
