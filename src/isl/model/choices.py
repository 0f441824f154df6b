"""The hyper-parameters of a model: defaults, the preset's, the user's, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium.spaces import Space

from isl import agents
from isl.agents.config import Config
from isl.envs.kinds import Recurring
from isl.envs.spaces import no_use_of_recurring
from isl.errors import UsageError
from isl.experiments import presets
from isl.model.environment import Attachment
from isl.model.torsos import read_by

log = logging.getLogger(__name__)


def recognises(agent: str) -> bool:
    """Whether the agent keeps a table of observations that come back."""
    return bool(agents.load(agent).Config.recognises)


def configured(
    agent: str,
    attached: Attachment,
    preset: str | Path | None,
    normalize: bool,
    torso: Any,
    hyper: Mapping[str, Any],
) -> Config:
    """The hyper-parameters; an option that would have no effect is refused."""
    seen = attached.observations.seen
    if isinstance(seen, Recurring) and not recognises(agent):
        raise UsageError(no_use_of_recurring(agents.label(agent)))
    usual = default_config(agent, attached.task, seen, preset)
    config = usual.replace(hyper)
    config.check_given(hyper, read_by(torso, seen), usual)
    if normalize and config.normalises:
        label = agents.label(agent)
        raise UsageError(f"{label} normalises vectors by itself; leave normalize out")
    if preset is None and (note := presets.note(attached.task, agent, seen)):
        log.warning(note)
    return config


def default_config(
    agent: str, task: str, space: Space[Any], preset: str | Path | None = None
) -> Config:
    """Hyper-parameters where the user gives none: the preset's."""
    config: Config = agents.load(agent).Config()
    return config.replace(presets.values(preset, task, agent, space))
