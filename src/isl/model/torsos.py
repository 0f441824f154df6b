"""Torsos by name: what reads observations before the dense layers, where the user chooses it.

mlp    all numbers in a row; what vectors have anyway, and what images can have
cnn    convolutions; what images have anyway, and what a Box of floats with 2 or 3 axes can have
"""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Discrete, Space

from isl.envs.encoding import in_one_line
from isl.envs.joined import Joined
from isl.envs.kinds import Recurring, is_image
from isl.errors import UsageError, closest
from isl.nn.networks import Convolutions, Flat, WithTorso

NAMES = ("mlp", "cnn")


def module(torso: Any, seen: Space[Any]) -> Any:
    """The flax module of a choice; None where it is what such observations have anyway."""
    if not isinstance(torso, str):
        return torso
    if torso not in NAMES:
        close = closest(torso, NAMES)
        hint = f"did you mean {close}?" if close else 'expected "mlp", "cnn" or a flax module'
        raise UsageError(f"unknown torso {torso!r}; {hint}")
    if isinstance(seen, Discrete | Recurring):
        raise UsageError(
            f'torso="{torso}" has no effect on a table of observations; leave it out, or give '
            'observations="vector" too'
        )
    has_images = is_image(seen) or isinstance(seen, Joined)
    if torso == "mlp":
        return Flat() if has_images else None
    if has_images:
        return None
    if len(seen.shape or ()) not in (2, 3):
        raise UsageError(
            f'torso="cnn" reads observations with 2 or 3 axes, not {in_one_line(seen)}; '
            "leave it out"
        )
    return Convolutions()


def read_by(torso: Any, seen: Space[Any]) -> Space[Any]:
    """The space that agents are made for: with the torso, if it is not the usual one."""
    own = module(torso, seen)
    return seen if own is None else WithTorso(seen, own)


def name_of(torso: Any) -> str:
    """What a file says of it: the name of a choice, the class of a module, or nothing."""
    return torso if isinstance(torso, str) else "" if torso is None else type(torso).__name__
