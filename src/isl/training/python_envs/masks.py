"""The action masks of environments side by side: one row of flags per environment.

Whether there are masks is decided by what the first reset gives. From then on an environment must
give one at every step, or none at all: an agent that follows half of the masks is of no use to an
environment that forbids actions. A state in which the episode ended needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isl.envs import action_masks
from isl.envs.action_masks import Mask
from isl.envs.spaces import Actions
from isl.errors import UsageError


class Masks:
    """The masks of `width` environments, as far as they give any."""

    def __init__(self, actions: Actions, width: int) -> None:
        self.now: Mask | None = None  # [E, A]: where the next actions are taken; None: no masks
        self._actions, self._width = actions, width
        self._decided = False

    def put(self, i: int, raw: Any, over: bool = False) -> None:
        """The mask of environment `i` after a reset or a step; `over`: its episode has ended."""
        if not self._decided:
            self._decided = True
            if raw is not None:
                self.now = np.ones((self._width, self._actions.number), np.bool_)
        if self.now is None:
            if raw is not None:
                raise UsageError("gave an action mask, but none at its first reset; give it there")
            return
        if raw is None and not over:
            raise UsageError("gave no action mask; it gave one at its first reset")
        self.now[i] = True if raw is None else self._checked(raw, over)

    def put_all(self, raw: Any, over: Mask | None = None, rows: Mask | None = None) -> None:
        """The masks of all environments [E, …], or of those in `rows`; `over`: where it ended."""
        if raw is None and self.now is None:
            self._decided = True
            return
        for i in range(self._width):
            if rows is None or rows[i]:
                ended = over is not None and bool(over[i])
                self.put(i, None if raw is None else raw[i], ended)

    def replaced(self, rows: Mask, raw: Any) -> Mask | None:
        """The masks now, with those of `rows` replaced by `raw` [E], or by none: all allowed."""
        if self.now is None:
            return None
        found = self.now.copy()
        for i in np.flatnonzero(rows).tolist():
            found[i] = True if raw is None or raw[i] is None else self._checked(raw[i], over=True)
        return found

    def _checked(self, raw: Any, over: bool) -> Mask:
        mask = action_masks.read(self._actions.space, raw)
        if mask.ndim != 1:
            raise UsageError(f"gave an action mask of shape {np.shape(raw)}, expected one axis")
        if not mask.any():
            if not over:
                raise UsageError("gave an action mask that allows no action")
            return ~mask  # of a state where nothing is done: no value depends on it
        return mask


def of_each(infos: Sequence[Any]) -> list[Any] | None:
    """The masks in the infos of several environments; None if there are none."""
    found = [action_masks.in_info(info) for info in infos]
    return None if all(mask is None for mask in found) else found
