"""Episode records as Parquet: equal tables give equal bytes, strange files give one clear line."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from isl.errors import DamagedFile

MAX_BYTES = 1 << 30  # of the file, and of the table it unpacks to


def to_parquet(episodes: pl.DataFrame) -> bytes:
    """Every choice that could change a byte is fixed here, but for the version of polars."""
    buffer = io.BytesIO()
    episodes.write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 16
    )
    return buffer.getvalue()


def from_parquet(path: Path, data: bytes) -> pl.DataFrame:
    """The table in `data`; `path` is for the message if it is not one of numbers and flags."""
    try:
        table = pl.scan_parquet(data)
        for name, dtype in table.collect_schema().items():
            if not (dtype.is_numeric() or dtype == pl.Boolean):
                raise DamagedFile(path, f"column {name!r} is {dtype}, expected numbers")
        # Counted before anything is unpacked: a few bytes can stand for billions of equal rows.
        cells = table.select(pl.len()).collect().item() * max(1, len(table.collect_schema()))
        if cells * 8 > MAX_BYTES:
            raise DamagedFile(path, f"holds {cells} values; the limit is {MAX_BYTES // 8}")
        return table.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise DamagedFile(path, f"is not a readable Parquet file: {reason}") from error
