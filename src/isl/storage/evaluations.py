"""Greedy evaluations of a run as a table: one row per evaluation, in the order of training.

    steps        environment steps of training by then
    episodes     training episodes finished by then
    return_mean  return_min  return_max  length_mean     of the episodes that were played greedily
    evaluated    how many they were

Like `episodes.parquet` the table depends on nothing but the run's config and seed, and on how often
evaluations were asked for; a run made without them has no such file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from isl.errors import DamagedFile
from isl.storage.episodes import from_parquet

COLUMNS: dict[str, type[pl.DataType]] = {
    "steps": pl.Int64,
    "episodes": pl.Int64,
    "return_mean": pl.Float64,
    "return_min": pl.Float64,
    "return_max": pl.Float64,
    "length_mean": pl.Float64,
    "evaluated": pl.Int64,
}


def table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The evaluations as they are stored."""
    return pl.DataFrame(list(rows), schema=COLUMNS)


def read(paths: list[Path], contents: list[bytes]) -> list[pl.DataFrame]:
    """The tables in some files; another table than one of evaluations is refused."""
    tables = from_parquet(paths, contents)
    for path, found in zip(paths, tables, strict=True):
        if dict(found.schema) != COLUMNS:
            raise DamagedFile(path, f"has the columns {', '.join(found.columns)} of no evaluations")
    return tables
