"""Learned numbers by name, in and out of a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from isl.errors import DamagedFile, UsageError, closest
from isl.storage import checkpoint


def with_parameters(learner: Any, given: Mapping[str, Any], exact_match: bool) -> Any:
    """The learner with some of its arrays replaced; all of them, if `exact_match`."""
    own: dict[str, NDArray[Any]] = checkpoint.flatten(learner)
    for name in given:
        if name not in own:
            close = closest(name, own)
            hint = f"did you mean {close}?" if close else "get_parameters() has the names"
            raise UsageError(f"unknown parameter {name!r}; {hint}")
    missing = [name for name in own if name not in given]
    if exact_match and missing:
        raise UsageError(
            f"{len(missing)} parameters are missing, the first is {missing[0]!r}; "
            "give all, or exact_match=False"
        )
    arrays = {name: np.asarray(given.get(name, array)) for name, array in own.items()}
    try:
        found = checkpoint.restore(Path("parameters"), arrays, learner)
    except DamagedFile as error:
        raise UsageError(f"parameters do not fit: {error.reason}") from None
    return jax.tree.map(jax.numpy.array, found)
