"""Seeker whose layers are not normalised: a row of the table of ablations."""

from __future__ import annotations

from functools import partial

from isl.agents.seeker import networks
from isl.agents.seeker.config import Config

__all__ = ["Config", "make"]

make = partial(networks.make, layer_norm=False)
