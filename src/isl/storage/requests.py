"""What was asked for: a note per command, so that others can say what is left.

    requests/<hash of the runs>.json        the runs that a command is responsible for
    requests/<hash of the runs>.left.json   how long they will still take, as it last thought

Both are sealed. Only for people: nothing that is computed depends on them, and they may be deleted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from isl.errors import CannotWrite, DamagedFile
from isl.storage import files

FOLDER = "requests"
FORMAT = 1
STALE_SECONDS = 60.0  # an older estimate is of a command that is no longer at work
# The fields of isl 0.1, which did not seal them. Its estimates are not believed, and its notes
# where they match their names.
_UNSEALED, _UNSEALED_LEFT = {"format", "runs"}, {"format", "seconds", "at"}


@dataclass(frozen=True)
class Request:
    """The runs of a command, relative to the root, and the seconds left if it is at work."""

    runs: tuple[str, ...]
    seconds_left: float | None


class Notes(NamedTuple):
    """Everything in the folder: what was asked for, and the notes that are damaged."""

    requests: list[Request]
    damaged: list[DamagedFile]


def write(root: Path, paths: Sequence[Path]) -> Path:
    """Note what is asked for; the same runs give the same note."""
    runs = sorted({str(path.relative_to(root)) for path in paths})
    note = root / FOLDER / f"{_name(runs)}.json"
    files.make_folder(note.parent)
    files.write_sealed_json(note, {"format": FORMAT, "runs": runs})
    return note


def _name(runs: Any) -> str:
    return files.sha256_bytes(files.canonical_json(runs))[:12]


def note_time_left(note: Path, seconds: float | None) -> None:
    """Say how long it will take; None: nobody is at work any more, or nothing is known yet."""
    path = note.with_suffix(".left.json")
    with suppress(CannotWrite):  # a full disk is the runs' to report, not the note's
        if seconds is None:
            files.remove(path)
        else:
            value = {"format": FORMAT, "seconds": round(seconds, 1), "at": round(time.time(), 1)}
            files.write_sealed_json(path, value)


def read(root: Path) -> Notes:
    """Every note that is intact, and which are not."""
    found = Notes([], [])
    for note in sorted((root / FOLDER).glob("*.json")):
        if note.name.endswith(".left.json"):
            continue
        seconds = None
        try:
            seconds = _time_left(note.with_suffix(".left.json"))
        except DamagedFile as error:
            found.damaged.append(error)
        try:
            found.requests.append(Request(_runs(note), seconds))
        except DamagedFile as error:
            found.damaged.append(error)
    return found


def _runs(note: Path) -> tuple[str, ...]:
    try:
        value = files.check_format(note, files.read_json(note), FORMAT)
        if value.keys() != _UNSEALED or _name(value["runs"]) != note.stem:
            value = files.read_sealed_json(note, FORMAT)
        return tuple(map(str, value["runs"]))
    except (OSError, KeyError, TypeError) as error:
        raise DamagedFile(note, f"cannot be read: {error}") from error


def _time_left(path: Path) -> float | None:
    try:
        if files.check_format(path, files.read_json(path), FORMAT).keys() == _UNSEALED_LEFT:
            return None
        value = files.read_sealed_json(path, FORMAT)
        age = time.time() - value["at"]
        return max(0.0, value["seconds"] - age) if abs(age) < STALE_SECONDS else None
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, OverflowError) as error:
        raise DamagedFile(path, f"cannot be read: {error}") from error
