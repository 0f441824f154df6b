"""Which actions an environment allows: `info["action_mask"]`, or its method `action_masks()`.

A mask has one flag per action. Of a MultiDiscrete space it has those of each choice, one choice
after the other, as Stable-Baselines3's maskable agents read it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from isl.errors import UsageError

KEY = "action_mask"  # in the info of `reset` and `step`
METHOD = "action_masks"  # of the environment

Mask = NDArray[np.bool_]


def read(space: spaces.Space[Any], raw: Any) -> Mask:
    """Masks [..., flags] as bool [..., A], one flag per action that agents choose from.

    Raises:
        UsageError: if they do not fit the action space.
    """
    flags = np.asarray(raw)
    choices = space.nvec if isinstance(space, spaces.MultiDiscrete) else np.array([_number(space)])
    expected = int(choices.sum())
    if flags.ndim == 0 or flags.shape[-1] != expected:
        raise UsageError(f"an action mask has shape {flags.shape}, expected {expected} flags")
    if flags.dtype.kind not in "biuf" or not ((flags == 0) | (flags == 1)).all():
        raise UsageError(f"an action mask holds {flags.dtype} values, expected only 0 and 1")
    first, *others = np.split(flags.astype(np.bool_), np.cumsum(choices)[:-1], axis=-1)
    for other in others:  # every combination, the first choice leading
        pairs = first[..., :, None] & other[..., None, :]
        first = pairs.reshape(*pairs.shape[:-2], -1)
    return first


def method_of(env: Any) -> Callable[[], Any] | None:
    """The environment's `action_masks`, also if wrappers are around it; None if it has none."""
    if hasattr(env, "has_wrapper_attr"):
        return env.get_wrapper_attr(METHOD) if env.has_wrapper_attr(METHOD) else None
    return getattr(env, METHOD, None)


def given(info: Any, method: Callable[[], Any] | None) -> Any:
    """The mask of the present state, as the environment gives it; None if it gives none."""
    return method() if method is not None else in_info(info)


def in_info(info: Any) -> Any:
    """The mask in an info; None if there is none."""
    if not isinstance(info, dict):
        return None
    if KEY not in info and METHOD in info:
        raise UsageError(f'gave info["{METHOD}"], which nobody reads; its name is "{KEY}"')
    return info.get(KEY)


def _number(space: Any) -> int:
    return int(space.n)
