"""Whether the same observations come back: random steps in a copy of an environment tell.

The steps, their seeds and the answer are the same whatever the seed of a run is: how observations
are read is a property of the environment. The environment that is trained in is not touched.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from isl.envs import action_masks, spaces
from isl.errors import EnvironmentFault
from isl.training.python_envs.guard import EnvGuard
from isl.training.python_envs.step_limit import StepLimit

log = logging.getLogger(__name__)

STEPS = 5000  # at most
FIRST_LOOK, FIRST_SHARE = 200, 0.95  # if nearly all of the first observations differ, that is all
SECONDS = 10.0  # that a step may take where no limit is given: one that hangs tells nothing
SHARE = 1 / 3  # of the steps: if more observations differ, they do not come back


def scouted(
    reading: spaces.Observations,
    copy: Callable[[], gymnasium.Env[Any, Any]],
    limit: StepLimit | None = None,
) -> spaces.Observations:
    """`reading`, or where observations come back the one that says so.

    Args:
        reading: that the space alone suggests.
        copy: makes the environment to play in.
        limit: of the time that a step takes.
    """
    if not spaces.can_recur(reading):
        return reading
    try:
        env = copy()
    except Exception as error:  # whatever the environment's own code raises
        log.debug("no copy to look at, so observations are read as a %s: %s", reading.kind, error)
        return reading
    try:
        back = comes_back(env, reading, limit)
    except EnvironmentFault:  # which training will meet as well, and name
        back = False
    finally:
        env.close()
    return spaces.observations(reading.space, "recurring") if back else reading


def comes_back(
    env: gymnasium.Env[Any, Any], reading: spaces.Observations, limit: StepLimit | None = None
) -> bool:
    """Whether few observations differ in `STEPS` random steps."""
    if limit is None and threading.current_thread() is threading.main_thread():
        limit = StepLimit(SECONDS)
    guard = EnvGuard("a copy of the environment", reading, 1, limit)
    rng, method = np.random.default_rng(0), action_masks.method_of(env)
    actions = spaces.actions(env.action_space)
    met: set[bytes] = set()
    over, episode = True, 0
    for step in range(1, STEPS + 1):
        with guard.watching():
            if over:
                obs, info = env.reset(seed=episode)
                met.add(guard.observed(obs).tobytes())
                episode += 1
            allowed = np.arange(actions.number)
            if (mask := action_masks.given(info, method)) is not None:
                allowed = np.flatnonzero(action_masks.read(env.action_space, mask))
            action = actions.decode(int(rng.choice(allowed)))
            obs, _, terminated, truncated, info = env.step(action)
            met.add(guard.observed(obs).tobytes())
        over = bool(terminated or truncated)
        if step == FIRST_LOOK and len(met) > FIRST_SHARE * step:
            return False
    return len(met) <= SHARE * STEPS
