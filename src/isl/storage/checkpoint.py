"""Checkpoints and model files: a tree of arrays and its JSON metadata in one sealed file.

A tree is nested dicts, lists, tuples, NamedTuples and None, as JAX has them; no JAX is needed here.

The file is ordinary safetensors, readable by any tool. Its header begins with the sha256 of the
whole file (taken with that digest as zeros), so one atomic rename commits tensors, metadata and
checksum together, and no bit can change unnoticed. A run keeps its two latest generations in
`<run>/checkpoint/step-<n>.safetensors` and falls back to the older one if the newer is damaged.
"""

from __future__ import annotations

import hashlib
import io
import logging
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

from isl.errors import DamagedFile, UnsupportedFormat
from isl.storage import files
from isl.templates import AnyLength

FORMAT = 1
FOLDER = "checkpoint"
FINAL = "final.safetensors"  # what a finished run has learned; its generations are not kept
BEST = "best.safetensors"  # what it had learned at its best evaluation
MAX_MODEL_BYTES = 1 << 30
_MAX_HEADER_BYTES = 16 << 20
_SLACK_BYTES = 256 << 20  # header, and arrays of any length, beside what the template adds up to
_GENERATION = re.compile(r"step-(\d{12})\.safetensors")
_DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
}
# Where the digest sits: right after the first characters of the header, which never vary.
_ZIP = b"PK\x03\x04"
_HEADER_START = b'{"__metadata__":{"isl":"'
_DIGEST = slice(8 + len(_HEADER_START), 8 + len(_HEADER_START) + 64)

log = logging.getLogger(__name__)
Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]


def pack(arrays: Arrays, meta: dict[str, Any]) -> bytearray:
    """One sealed safetensors file; equal content gives equal bytes."""
    described = files.canonical_json({"format": FORMAT, "meta": meta}).decode()
    # A single metadata entry, because safetensors writes several in random order.
    data = safetensors.numpy.save(arrays, {"isl": "0" * 64 + described})
    if not data.startswith(_HEADER_START, 8):
        raise RuntimeError("this version of safetensors lays out its header differently")
    sealed = bytearray(data)
    sealed[_DIGEST] = _digests(io.BytesIO(data))[1]
    return sealed


def unpack(path: Path, data: bytes) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and metadata of a sealed file; `path` is for the message if it is damaged."""
    _check_seal(path, io.BytesIO(data))
    header_bytes = int.from_bytes(data[:8], "little")
    if header_bytes > min(len(data) - 8, _MAX_HEADER_BYTES):
        raise DamagedFile(path, f"claims a header of {header_bytes} bytes")
    header = files.parse_json(path, data[8 : 8 + header_bytes])
    described = header["__metadata__"]["isl"][64:].encode()
    try:
        tensors = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise DamagedFile(path, f"is not valid safetensors: {error}") from error
    envelope = files.check_format(path, files.parse_json(path, described), FORMAT)
    if not isinstance(envelope.get("meta"), dict):
        raise DamagedFile(path, "has no metadata")
    return {name: _array(path, name, tensor) for name, tensor in tensors}, envelope["meta"]


def verify_file(path: Path, max_bytes: int = MAX_MODEL_BYTES) -> None:
    """Raise `DamagedFile` unless the file is what its writer left."""
    with files.open_regular(path) as file:
        files.check_size(path, file, max_bytes)
        _check_seal(path, file)


def _check_seal(path: Path, stream: BinaryIO) -> None:
    begin = stream.read(_DIGEST.start)
    if begin[:4] == _ZIP:
        raise DamagedFile(
            path,
            "is not a checkpoint or model file of isl, but a zip archive, as of Stable-Baselines3",
        )
    if begin[8:] != _HEADER_START:
        raise DamagedFile(path, "is not a checkpoint or model file of isl")
    stream.seek(0)
    claimed, actual = _digests(stream)
    if claimed != actual:
        raise DamagedFile(path, "does not match its own checksum")


def _digests(stream: BinaryIO) -> tuple[bytes, bytes]:
    """The digest in a file, and the one that belongs there."""
    total = hashlib.sha256(stream.read(_DIGEST.start) + b"0" * 64)
    claimed = stream.read(64)
    while chunk := stream.read(1 << 20):
        total.update(chunk)
    return claimed, total.hexdigest().encode()


def _array(path: Path, name: str, tensor: dict[str, Any]) -> np.ndarray[Any, np.dtype[Any]]:
    dtype = _DTYPES.get(tensor["dtype"])
    if dtype is None:
        raise DamagedFile(path, f"tensor {name!r} has the unknown type {tensor['dtype']}")
    flat = np.frombuffer(tensor["data"], np.uint8 if dtype == np.bool_ else dtype)
    if dtype == np.bool_ and flat.max(initial=0) > 1:
        raise DamagedFile(path, f"tensor {name!r} is boolean but holds more than 0 and 1")
    return flat.view(dtype).reshape(tensor["shape"])


def flatten(state: Any) -> Arrays:
    """The leaves of a tree by the path that leads to them, as NumPy arrays."""
    arrays: Arrays = {}
    for name, leaf in _leaves(state):
        # `order` keeps 0-d arrays 0-d; safetensors stores the bytes as they lie in memory.
        array = np.asarray(leaf, order="C")
        if array.dtype not in _DTYPES.values():
            raise TypeError(f"leaf {name!r} has type {array.dtype}, which is not stored")
        if name in arrays:
            raise ValueError(f"two leaves share the name {name!r}")
        arrays[name] = array
    return arrays


def restore(path: Path, arrays: Arrays, template: Any) -> Any:
    """The template's tree filled with `arrays`; a name, type or shape that differs is refused."""
    wanted = dict(_leaves(template))
    for names, problem in (
        (wanted.keys() - arrays.keys(), "lacks"),
        (arrays.keys() - wanted.keys(), "has unexpected"),
    ):
        if names:
            raise DamagedFile(path, f"{problem} tensor {min(names)!r} ({len(names)} in all)")
    for name, leaf in wanted.items():
        array = arrays[name]
        fits, expected = _fits(array, leaf)
        if not fits:
            found = f"{array.dtype}{list(array.shape)}"
            raise DamagedFile(path, f"tensor {name!r} is {found}, expected {expected}")
    return _filled(template, "", arrays)


def _children(tree: Any) -> list[tuple[str, Any]] | None:
    """The parts of a tree and their names, as JAX orders and writes them; None for a leaf."""
    if tree is None:
        return []
    if isinstance(tree, Mapping):
        return [(f"[{key!r}]", tree[key]) for key in sorted(tree)]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(f".{name}", part) for name, part in zip(tree._fields, tree, strict=True)]
    if isinstance(tree, list | tuple):
        return [(f"[{i}]", part) for i, part in enumerate(tree)]
    return None


def _leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree with their names, which are those of `jax.tree_util.keystr`."""
    children = _children(tree)
    if children is None:
        yield name, tree
    else:
        for step, part in children:
            yield from _leaves(part, name + step)


def _filled(tree: Any, name: str, arrays: Arrays) -> Any:
    """A tree of the same build with the arrays as its leaves."""
    children = _children(tree)
    if children is None:
        return arrays[name]
    parts = [_filled(part, name + step, arrays) for step, part in children]
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return type(tree)(dict(zip(sorted(tree), parts, strict=True)))  # type: ignore[call-arg]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def _fits(array: np.ndarray[Any, np.dtype[Any]], leaf: Any) -> tuple[bool, str]:
    if isinstance(leaf, AnyLength):
        shape: tuple[Any, ...] = (*array.shape[:1], *leaf.row_shape) if array.ndim else (None,)
        described = ["any", *leaf.row_shape]
        dtype = np.dtype(leaf.dtype)
    else:
        dtype, shape = _dtype_and_shape(leaf)
        described = list(shape)
    return array.dtype == dtype and array.shape == shape, f"{dtype}{described}"


def _dtype_and_shape(leaf: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    concrete = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return np.dtype(concrete.dtype), tuple(concrete.shape)


def save_file(path: Path, state: Any, meta: dict[str, Any]) -> None:
    """Write `state` and `meta` to one sealed file, durably."""
    files.write_bytes(path, pack(flatten(state), meta))


def load_file(path: Path, template: Any) -> tuple[Any, dict[str, Any]]:
    """`(state, meta)` of a sealed file whose arrays are exactly those of `template`.

    The template's leaves are arrays, `jax.ShapeDtypeStruct`s or `AnyLength`s; the arrays that
    come back are NumPy's, and the caller puts them on a device.
    """
    limit = _SLACK_BYTES
    for _, leaf in _leaves(template):
        if not isinstance(leaf, AnyLength):
            dtype, shape = _dtype_and_shape(leaf)
            limit += dtype.itemsize * math.prod(shape)
    arrays, meta = unpack(path, files.read_bytes(path, limit))
    return restore(path, arrays, template), meta


def read_meta(path: Path, max_bytes: int = MAX_MODEL_BYTES) -> dict[str, Any]:
    """The metadata of a sealed file: enough to build the template that `load_file` needs."""
    return unpack(path, files.read_bytes(path, max_bytes))[1]


def save(run_dir: Path, step: int, state: Any, meta: dict[str, Any]) -> None:
    """Add a generation to the run's checkpoints; older ones go once this one is on the disk."""
    folder = run_dir / FOLDER
    files.make_folder(folder)
    saved = folder / f"step-{step:012d}.safetensors"
    save_file(saved, state, meta)
    present = generations(run_dir)
    position = present.index(saved)
    # Two are kept: this one and the one before. A later one was there only if it could not be
    # loaded, or the run would have continued from it.
    for path in present[: max(position - 1, 0)] + present[position + 1 :]:
        files.remove(path)
    files.remove_stale_tmp(folder)


def save_final(run_dir: Path, learner: Any, meta: dict[str, Any]) -> None:
    """Keep what a run has learned. Its generations stay until the run is sealed (`prune`)."""
    files.make_folder(run_dir / FOLDER)
    save_file(run_dir / FOLDER / FINAL, learner, meta)


def save_best(run_dir: Path, learner: Any, evaluation: Mapping[str, Any]) -> None:
    """Keep what a run had learned at its best evaluation, and that evaluation."""
    files.make_folder(run_dir / FOLDER)
    save_file(run_dir / FOLDER / BEST, learner, {"kind": "best", "evaluation": dict(evaluation)})


def prune(run_dir: Path) -> None:
    """Delete the generations of a finished run."""
    for path in generations(run_dir):
        files.remove(path)


def latest(run_dir: Path, *templates: Any) -> tuple[Any, dict[str, Any]] | None:
    """The newest checkpoint that is intact and fits one of the templates; None if there is none."""
    for path in reversed(generations(run_dir)):
        try:
            return _load_any(path, templates)
        except UnsupportedFormat:
            raise  # intact work of another version: starting anew would delete it
        except DamagedFile as error:
            log.warning("checkpoint skipped: %s", error)
    return None


def _load_any(path: Path, templates: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    for template in templates[:-1]:
        try:
            return load_file(path, template)
        except UnsupportedFormat:
            raise
        except DamagedFile:
            continue  # the next one may fit
    return load_file(path, templates[-1])


def generations(run_dir: Path) -> list[Path]:
    """The run's checkpoint files, oldest first."""
    folder = run_dir / FOLDER
    if folder.is_symlink():
        raise DamagedFile(folder, "is a symbolic link; expected a folder")
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _GENERATION.fullmatch(path.name))
