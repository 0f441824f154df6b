"""Durable files: written whole or not at all, read within limits.

Every file that the project keeps goes through `write_bytes`: a temporary file, fsync, rename,
fsync of the folder. Whatever kills the process, the path holds the old content or the new one.
Reading never follows a symbolic link, never reads more than a stated limit and never executes
anything. Checksums find damage; they do not prove who wrote a file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from isl.errors import CannotWrite, DamagedFile, Locked, UnsupportedFormat

MAX_JSON_BYTES = 16 << 20
MAX_JSON_DEPTH = 64
_TMP_PREFIX = ".tmp-"
# Possessive, and closed by the end of the file too: linear in time whatever the file holds.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)


def _fsync_dir(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        # Some network file systems have no fsync for folders: nothing more can be done there.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


# Every change to the disk is one of these calls, so that a test can fail any of them.
steps = SimpleNamespace(
    mkdir=os.mkdir,
    open=os.open,
    write=os.write,
    fsync=os.fsync,
    rename=os.replace,
    fsync_dir=_fsync_dir,
    unlink=os.unlink,
)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the operating system's refusal into one line that names the path."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        raise CannotWrite(path, error) from error


def write_bytes(path: Path, data: bytes | bytearray) -> None:
    """Replace `path` by `data`, durably: after a crash it holds the old content or the new."""
    # Unique per writer, so that simultaneous writers never share a temporary file.
    tmp = path.with_name(f"{_TMP_PREFIX}{os.getpid()}-{secrets.token_hex(8)}")
    with _naming(path):
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a symbolic link, which is never written through")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = steps.open(tmp, flags, 0o666)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[steps.write(fd, rest) :]
                steps.fsync(fd)
            finally:
                os.close(fd)
            steps.rename(tmp, path)
        except BaseException:
            with suppress(OSError):
                steps.unlink(tmp)
            raise
        steps.fsync_dir(path.parent)


def make_folder(path: Path) -> None:
    """Create `path` and its parents, durably; an existing folder is fine."""
    with _naming(path):
        missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
        for folder in reversed(missing):
            try:
                steps.mkdir(folder)
            except FileExistsError:  # made meanwhile by another process, or something else
                if not folder.is_dir():
                    raise
            steps.fsync_dir(folder.parent)


def remove(path: Path) -> None:
    """Delete a file, durably; a missing one is fine."""
    with _naming(path), suppress(FileNotFoundError):
        steps.unlink(path)
        steps.fsync_dir(path.parent)


def remove_stale_tmp(folder: Path) -> None:
    """Delete what killed writers left. Only for the holder of the folder's lock."""
    for path in folder.glob(f"{_TMP_PREFIX}*"):
        remove(path)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the advisory lock on `path`, or raise `Locked` at once if another process does.

    The kernel releases it with the process, however that ends, so it is never left stuck. The
    file stays: deleting a lock file lets two processes hold two different ones. It works among
    the processes of one host; among hosts, as far as the file system's `flock` does (NFS from
    version 4, not with `nolock` or `local_lock`).
    """
    with _naming(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with _naming(path):
            _acquire(fd, path)
        yield
    finally:
        os.close(fd)


def _acquire(fd: int, path: Path, attempts: int = 5) -> None:
    for attempt in range(attempts):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt == attempts - 1:
                raise Locked(path) from None
            time.sleep(0.01)  # `is_locked` may hold it for some microseconds
    raise AssertionError("unreachable")


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock on `path`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


@contextmanager
def open_regular(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file for reading: no link is followed and no pipe is waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DamagedFile(path, "is a symbolic link; expected a regular file") from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise DamagedFile(path, "is not a regular file")
    with open(fd, "rb") as file:
        try:
            yield file
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise DamagedFile(path, "cannot be read: input/output error") from error


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file of at most `max_bytes`."""
    with open_regular(path) as file:
        return file.read(check_size(path, file, max_bytes))


def check_size(path: Path, file: BufferedReader, max_bytes: int) -> int:
    """The size of an open file, which must be at most `max_bytes`."""
    size = os.fstat(file.fileno()).st_size
    if size > max_bytes:
        raise DamagedFile(path, f"has {size} bytes; the limit is {max_bytes}")
    return size


def sha256_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path, max_bytes: int) -> str:
    with open_regular(path) as file:
        check_size(path, file, max_bytes)  # a file of a terabyte may take up no space, but hours
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any) -> bytes:
    """Equal values, equal bytes: sorted keys, no spaces, no NaN. What hashes are taken over."""
    return _dump(value, indent=None, separators=(",", ":"))


def pretty_json(value: Any) -> bytes:
    """The same value for people: what JSON files hold."""
    return _dump(value, indent=2) + b"\n"


def _dump(value: Any, **layout: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, **layout)
    return text.encode()


def parse_json(path: Path, data: bytes) -> Any:
    """JSON without its traps: bounded nesting, no repeated keys, only finite numbers."""
    opening = data.count(b"[") + data.count(b"{")
    if opening > MAX_JSON_DEPTH and _depth(data) > MAX_JSON_DEPTH:
        raise DamagedFile(path, f"nests deeper than {MAX_JSON_DEPTH} levels")
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=_unique_keys,
            parse_float=_finite,
            parse_constant=_finite,
        )
        if b"\\u" in data:
            canonical_json(value)  # half of a surrogate pair could be read but not written
        return value
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, f"is not valid JSON: {error}") from error


def _depth(data: bytes) -> int:
    brackets = re.findall(rb"[][{}]", _STRING.sub(b"", data))
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise ValueError(f"{text} is not a finite number")
    return number


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, pretty_json(value))


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    return parse_json(path, read_bytes(path, max_bytes))


def check_format(path: Path, value: Any, supported: int) -> dict[str, Any]:
    """The object itself, if its `format` is the one this version reads."""
    if not isinstance(value, dict) or type(value.get("format")) is not int:
        raise DamagedFile(path, "has no format number")
    if value["format"] != supported:
        raise UnsupportedFormat(
            path,
            f"has format {value['format']}, this version of isl reads format {supported}: "
            "use the version that wrote it, or move it away",
        )
    return value


def write_sealed_json(path: Path, value: dict[str, Any]) -> None:
    """JSON that carries the sha256 of its own canonical content."""
    write_json(path, {**value, "sha256": sha256_bytes(canonical_json(value))})


def read_sealed_json(path: Path, supported: int) -> dict[str, Any]:
    """What `write_sealed_json` wrote, byte for byte, without the seal."""
    data = read_bytes(path, MAX_JSON_BYTES)
    sealed = check_format(path, parse_json(path, data), supported)
    value = {key: item for key, item in sealed.items() if key != "sha256"}
    if sealed.get("sha256") != sha256_bytes(canonical_json(value)) or pretty_json(sealed) != data:
        raise DamagedFile(path, "does not match its own checksum")
    return value
