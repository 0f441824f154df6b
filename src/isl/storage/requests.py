"""What was asked for: a note per command, so that others can say what is left.

    requests/<hash of the runs>.json        the runs that a command is responsible for
    requests/<hash of the runs>.left.json   how long they will still take, as it last thought

Only for people: nothing that is computed depends on these files, and they may be deleted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isl.errors import CannotWrite, DamagedFile
from isl.storage import files

FOLDER = "requests"
FORMAT = 1
STALE_SECONDS = 60.0  # an older estimate is of a command that is no longer at work


@dataclass(frozen=True)
class Request:
    """The runs of a command, relative to the root, and the seconds left if it is at work."""

    runs: tuple[str, ...]
    seconds_left: float | None


def write(root: Path, paths: Sequence[Path]) -> Path:
    """Note what is asked for; the same runs give the same note."""
    runs = sorted({str(path.relative_to(root)) for path in paths})
    name = files.sha256_bytes(files.canonical_json(runs))[:12]
    note = root / FOLDER / f"{name}.json"
    files.make_folder(note.parent)
    files.write_json(note, {"format": FORMAT, "runs": runs})
    return note


def note_time_left(note: Path, seconds: float | None) -> None:
    """Say how long it will take; None: nobody is at work any more, or nothing is known yet."""
    path = note.with_suffix(".left.json")
    with suppress(CannotWrite):  # a full disk is the runs' to report, not the note's
        if seconds is None:
            files.remove(path)
        else:
            value = {"format": FORMAT, "seconds": round(seconds, 1), "at": round(time.time(), 1)}
            files.write_json(path, value)


def read(root: Path) -> list[Request]:
    """Every note that can be read; the others are of no use, and of no harm either."""
    found = []
    for note in sorted((root / FOLDER).glob("*.json")):
        if note.name.endswith(".left.json"):
            continue
        try:
            runs = files.check_format(note, files.read_json(note), FORMAT)["runs"]
            found.append(Request(tuple(map(str, runs)), _time_left(note)))
        except (DamagedFile, OSError, KeyError, TypeError):
            continue
    return found


def _time_left(note: Path) -> float | None:
    path = note.with_suffix(".left.json")
    try:
        value = files.check_format(path, files.read_json(path), FORMAT)
        age = time.time() - value["at"]
        return max(0.0, value["seconds"] - age) if abs(age) < STALE_SECONDS else None
    except (DamagedFile, OSError, KeyError, TypeError):
        return None
