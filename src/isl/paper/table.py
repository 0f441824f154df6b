"""Results that accumulate: a row per finished run, in CSV files made for git and for reading.

A run is named by its config hash and its seed. The hash covers the task, the agent, every
hyper-parameter and the budget (isl.experiments.spec), so a row stands for a command. It does not
cover the code, JAX or the processor, on which the last bits depend: those are columns, and
`isl reproduce NAME --check N` does rows again to see whether they still hold.

There are two kinds of rows: `Row`, a run of a compiled task by `isl train`, and `Trial`
(isl.paper.trial), a model trained through the Python API. Reading, merging, locking and writing are
the same for both.

Tables are merged by adding rows. The order does not matter, and adding a row twice changes nothing.
Two rows of one run with other numbers are a conflict: it is reported, and the row that was there
stays. Reading needs no JAX.
"""

from __future__ import annotations

import csv
import io
import json
import math
import time
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from isl.errors import DamagedFile, Locked
from isl.status import Status
from isl.storage import files

TABLES = ("deep_sea", "deep_sea_stochastic", "cartpole_swingup", "ablation")
MAX_BYTES = 64 << 20
LOCK = ".lock"
PATIENCE_SECONDS = 30.0  # for another process that adds rows to the same folder


class Row(NamedTuple):
    """What is known of a finished run."""

    task: str
    agent: str
    variant: str  # what differs from the task's preset: `ell_bias=true ell_ensemble=2`
    seed: int
    config_hash: str
    budget: int  # episodes
    until_solved: bool
    status: str
    solved_episode: int | None  # of the tenth visit to the goal; Deep Sea tasks only
    censored_at: int | None  # unsolved: it takes more episodes than these; Deep Sea tasks only
    best_return: float | None
    episodes: int
    steps: int
    records: str  # twelve digits of the sha256 of all its episodes
    seconds: float  # of computing, without compilation
    isl: str
    commit: str  # with a + if the code was changed since
    jax: str
    cpu: str

    @property
    def key(self) -> tuple[str, int]:
        """Which run it is."""
        return self.config_hash, self.seed

    @property
    def family(self) -> str:
        return self.task.partition("/")[0]

    @property
    def size(self) -> int:
        """The size of the sea, or the difficulty of the swing-up."""
        return int(self.task.partition("/")[2])

    @property
    def numbers(self) -> tuple[Any, ...]:
        """What the same command must give again: all that does not depend on the clock."""
        return self[: self._fields.index("seconds")]

    @property
    def order(self) -> tuple[Any, ...]:
        """How a table is sorted: sizes as numbers; the rest decides between equal results."""
        return (self.family, self.size, self.agent, self.variant, self.budget, self.seed, str(self))

    def check(self) -> None:
        """Raise ValueError if no run can have these values."""
        if not self.task.partition("/")[2].isdecimal():
            raise ValueError(f"the task {self.task!r} has no number")
        if not Status(self.status).is_final:
            raise ValueError(f"a run that is {self.status} is not finished")

    @staticmethod
    def later() -> frozenset[str]:
        """Columns that earlier files may lack."""
        return frozenset()


class Record(Protocol):
    """What the store asks of a row beside its fields."""

    @property
    def key(self) -> tuple[Any, ...]: ...
    @property
    def numbers(self) -> tuple[Any, ...]: ...
    @property
    def order(self) -> tuple[Any, ...]: ...
    def check(self) -> None: ...
    @staticmethod
    def later() -> frozenset[str]: ...


R = TypeVar("R", bound=Record)


def settings_of(variant: str) -> dict[str, Any]:
    """`eta1=0.5 hidden=[50,50]` → {"eta1": 0.5, "hidden": [50, 50]}."""
    parts = (word.partition("=") for word in variant.split())
    return {name: json.loads(value) for name, _, value in parts}


class Merged(NamedTuple, Generic[R]):
    """Rows without duplicates, in order, and what could not be added because it disagrees."""

    rows: list[R]
    conflicts: list[tuple[R, R]]  # (kept, refused)


def merge(ours: Iterable[R], theirs: Iterable[R] = ()) -> Merged[R]:
    """All rows of both. Of two with equal numbers the one that sorts first stays."""
    found: dict[tuple[Any, ...], R] = {}
    conflicts = []
    for row in [*ours, *theirs]:
        kept = found.setdefault(row.key, row)
        if kept.numbers != row.numbers:
            conflicts.append((kept, row))
        else:
            found[row.key] = min(kept, row, key=lambda r: r.order)
    return Merged(sorted(found.values(), key=lambda r: r.order), conflicts)


def read(path: Path) -> list[Row]:
    """The rows of a table of runs; none if there is no file."""
    return read_kind(path, Row)


def read_kind(path: Path, kind: type[R]) -> list[R]:
    """The rows of a table whose rows are of this kind; none if there is no file."""
    fields = _fields(kind)
    try:
        text = files.read_bytes(path, MAX_BYTES).decode()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise DamagedFile(path, "is not text in UTF-8") from None
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    header = lines[0] if lines else []
    if header != [name for name in fields if name in header or name not in kind.later()]:
        raise DamagedFile(path, f"has other columns than {','.join(fields)}")
    return [
        _parsed(path, kind, number, header, line) for number, line in enumerate(lines[1:], start=2)
    ]


def read_folder(folder: Path) -> list[Row]:
    """The rows of all tables of runs in a folder; a run may be in several of them."""
    rows, conflicts = merge(row for name in TABLES for row in read(folder / f"{name}.csv"))
    if conflicts:
        kept, other = conflicts[0]
        which = f"{kept.task} {kept.agent} seed {kept.seed} [{kept.config_hash}]"
        raise DamagedFile(folder, f"holds two results of {which} ({other.commit}): delete one")
    return rows


def add(path: Path, rows: Iterable[R]) -> list[tuple[R, R]]:
    """Add rows of one kind to a table, durably, whoever else does the same; the conflicts."""
    new = list(rows)
    if not new:
        return []
    files.make_folder(path.parent)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with files.lock(path.parent / LOCK):
                merged = merge(read_kind(path, type(new[0])), new)
                files.write_bytes(path, to_csv(merged.rows, type(new[0])).encode())
                return merged.conflicts
        except Locked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def to_csv(rows: Iterable[Any], kind: type[Any] = Row) -> str:
    """A table of rows of one kind; equal rows, equal text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_fields(kind))
    writer.writerows([_written(value) for value in row] for row in rows)
    return text.getvalue()


def _written(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fields(kind: type[Any]) -> tuple[str, ...]:
    fields: tuple[str, ...] = kind._fields
    return fields


def _parsed(path: Path, kind: type[R], number: int, header: list[str], line: list[str]) -> R:
    """A row; the cell of a column that the file lacks is empty."""
    if len(line) != len(header):
        raise DamagedFile(path, f"line {number} has {len(line)} cells, not {len(header)}")
    types_of = typing.get_type_hints(kind)
    cells = dict.fromkeys(_fields(kind), "") | dict(zip(header, line, strict=True))
    try:
        row = kind(**{name: _value(types_of[name], text) for name, text in cells.items()})
        row.check()
    except ValueError as error:
        raise DamagedFile(path, f"line {number}: {error}") from None
    return row


def _value(kind: Any, text: str) -> Any:
    if isinstance(kind, types.UnionType):  # X | None
        return None if text == "" else _value(kind.__args__[0], text)
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"expected true or false, got {text!r}")
        return text == "true"
    value = kind(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {text!r}")
    return value
