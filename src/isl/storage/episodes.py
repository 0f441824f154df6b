"""Episode records as Parquet: equal tables give equal bytes, strange files give one clear line.

A file of a few bytes can claim a table of exabytes, and the reader of Parquet believes some such
claims and aborts the process. So files, which may come from anybody, are first read in a process
of their own with bounded memory and time: `python -m isl.storage.episodes` is that process.
"""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import polars as pl
from numpy.typing import NDArray

from isl.errors import DamagedFile

MAX_BYTES = 1 << 30  # of the file, and of the table it unpacks to
_CHILD_BYTES = 4 * MAX_BYTES
_CHILD_SECONDS = 300


def table(columns: Mapping[str, NDArray[Any]], episodes: int) -> pl.DataFrame:
    """The first `episodes` episodes: `return` is a float, every other column counts something."""
    kinds = {name: pl.Float64 if name == "return" else pl.Int64 for name in columns}
    return pl.DataFrame({name: x[:episodes] for name, x in columns.items()}, schema=kinds)


def to_parquet(table: pl.DataFrame) -> bytes:
    """Every choice that could change a byte is fixed here, but for the version of polars."""
    buffer = io.BytesIO()
    table.write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 16
    )
    return buffer.getvalue()


def from_parquet(paths: Sequence[Path], contents: Sequence[bytes]) -> list[pl.DataFrame]:
    """The tables in some files, all checked before the first is read here."""
    for path, complaint in zip(paths, complaints(contents), strict=False):
        if complaint:
            raise DamagedFile(path, complaint)
    return [_parse(content) for content in contents]


def complaints(contents: Sequence[bytes]) -> list[str]:
    """What is wrong with each file ("" if nothing), up to the first that ends the reader."""
    if not contents:
        return []
    done = subprocess.run(
        # -P: a module that lies in the working folder is not imported from there.
        [sys.executable, "-P", "-m", "isl.storage.episodes"],
        input=b"".join(len(content).to_bytes(8, "little") + content for content in contents),
        capture_output=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )
    answers = done.stdout.decode(errors="replace").splitlines()
    if len(answers) < len(contents):
        answers.append(f"cannot be read: its reader ended with code {done.returncode}")
    return answers


def _parse(content: bytes) -> pl.DataFrame:
    """The table, if it is one of numbers and flags and of bearable size; else a ValueError."""
    table = pl.scan_parquet(content)
    schema = table.collect_schema()
    for name, dtype in schema.items():
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            raise ValueError(f"column {name!r} is {dtype}, expected numbers")
    # Counted before anything is unpacked: a few bytes can stand for billions of equal rows.
    cells = table.select(pl.len()).collect().item() * len(schema)
    if cells * 8 > MAX_BYTES:
        raise ValueError(f"it holds {cells} values, the limit is {MAX_BYTES // 8}")
    return table.collect()


def _answer(source: BinaryIO, answers: TextIO) -> None:
    """One line for each file in `source`: empty, or what is wrong with it."""
    while length := source.read(8):
        content = source.read(int.from_bytes(length, "little"))
        complaint = ""
        try:
            _parse(content)
        except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            complaint = f"is not a table of a run: {reason}"
        print(complaint, file=answers, flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_CHILD_BYTES, _CHILD_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CHILD_SECONDS, _CHILD_SECONDS))
    _answer(sys.stdin.buffer, sys.stdout)
