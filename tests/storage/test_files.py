"""Files are replaced whole or not at all, and reading them is bounded and harmless."""

import errno
import json
import os
import random
import resource
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isl.errors import CannotWrite, DamagedFile, Locked, UnsupportedFormat
from isl.storage import files
from tests.support.fault_injection import failing_steps, recorded_steps

WRITE = ["open", "write", "fsync", "rename", "fsync_dir"]
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"\\é\0'), inner),
    max_leaves=20,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_content_is_on_the_disk_before_its_name_is(tmp_path):
    with recorded_steps() as taken:
        files.write_bytes(tmp_path / "a", b"x")
    assert taken == WRITE
    assert names(tmp_path) == ["a"]


def test_short_writes_are_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(files.steps, "write", lambda fd, data: os.write(fd, data[:3]))
    files.write_bytes(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("lasting", [False, True])
def test_a_refused_step_leaves_whole_content_and_says_so(tmp_path, number, step, lasting):
    path = tmp_path / "a"
    files.write_bytes(path, b"old")
    with (
        failing_steps(step, 10**9 if lasting else step, number),
        pytest.raises(CannotWrite) as caught,
    ):
        files.write_bytes(path, b"new")
    message = str(caught.value)
    assert str(path) in message
    assert os.strerror(number) in message
    assert "\n" not in message
    assert caught.value.errno == number
    assert path.read_bytes() == (b"new" if WRITE[step] == "fsync_dir" else b"old")
    if not lasting:
        assert names(tmp_path) == ["a"]
    files.write_bytes(path, b"once there is space")
    files.remove_stale_tmp(tmp_path)
    assert path.read_bytes() == b"once there is space"
    assert names(tmp_path) == ["a"]


def test_the_kernels_own_refusal_is_handled_like_an_injected_one(tmp_path):
    path = tmp_path / "a"
    files.write_bytes(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(CannotWrite, match="File too large"):
            files.write_bytes(path, bytes(2 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(CannotWrite, match="no_such_folder"):
        files.write_bytes(tmp_path / "no_such_folder" / "a", b"")


def test_folders_are_made_durably_from_the_top(tmp_path):
    with recorded_steps() as taken:
        files.make_folder(tmp_path / "a" / "b")
        files.make_folder(tmp_path / "a" / "b")
    assert taken == ["mkdir", "fsync_dir"] * 2
    files.write_bytes(tmp_path / "file", b"")
    for path in (tmp_path / "file", tmp_path / "file" / "b"):
        with pytest.raises(CannotWrite, match="file"):
            files.make_folder(path)


def test_links_are_neither_written_through_nor_read(tmp_path):
    (tmp_path / "target").write_bytes(b"{}")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(CannotWrite, match="symbolic link"):
        files.write_bytes(tmp_path / "link", b"x")
    with pytest.raises(DamagedFile, match="symbolic link"):
        files.read_json(tmp_path / "link")
    assert (tmp_path / "target").read_bytes() == b"{}"


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for strange in (tmp_path / "pipe", tmp_path):
        with pytest.raises(DamagedFile, match="not a regular file"):
            files.read_bytes(strange, 10)


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DamagedFile, match="limit"):
        files.read_json(path)


WRITERS = """
import os, sys
from pathlib import Path
from isl.storage import files
for turn in range(20):
    files.write_bytes(Path(sys.argv[1]), (sys.argv[2] * 50_000).encode())
"""


def test_ten_simultaneous_writers_never_mix(tmp_path):
    path = tmp_path / "shared"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITERS, path, letter]) for letter in "abcdefghij"
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            content = path.read_bytes()
            assert content == content[:1] * 50_000
            seen.add(content[:1])
    assert [writer.returncode for writer in writers] == [0] * 10
    assert len(seen) > 1
    assert names(tmp_path) == ["shared"]


HOLDER = """
import sys, time
from pathlib import Path
from isl.storage import files
with files.lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_exclusive_and_dies_with_its_holder(tmp_path):
    path = tmp_path / ".lock"
    assert not files.is_locked(path)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        assert files.is_locked(path)
        with pytest.raises(Locked, match="another process"), files.lock(path):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert not files.is_locked(path)
    with files.lock(path):
        assert files.is_locked(path)
    assert not files.is_locked(path)


def test_looking_at_a_lock_does_not_keep_its_taker_out(tmp_path):
    path = tmp_path / ".lock"
    with files.lock(path):
        pass
    looking = "import sys, time; from pathlib import Path; from isl.storage import files\n" + (
        "while True: files.is_locked(Path(sys.argv[1])); time.sleep(0.001)"
    )
    lookers = [subprocess.Popen([sys.executable, "-c", looking, path]) for _ in range(2)]
    try:
        time.sleep(0.5)
        for _ in range(200):
            with files.lock(path):
                pass
    finally:
        for looker in lookers:
            looker.kill()
            looker.wait()


@given(json_values)
def test_json_comes_back_equal_and_equal_values_give_equal_bytes(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "value.json"
    path.write_bytes(files.pretty_json(value))
    again = files.read_json(path)
    assert again == value
    assert files.pretty_json(again) == path.read_bytes()
    assert json.loads(files.canonical_json(value)) == value


def test_key_order_does_not_change_a_byte(tmp_path):
    files.write_json(tmp_path / "a", {"x": 1, "y": {"b": 2, "a": 3}})
    files.write_json(tmp_path / "b", {"y": {"a": 3, "b": 2}, "x": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_not_written(tmp_path, value):
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(tmp_path / "a", {"x": value})
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"NaN",
        b"[Infinity]",
        b"[1e999]",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'["\\ud800"]',
        b"1" * 5000,
        b'["' + b'\\"' * 100_000,
        b'["\\' * 100_000,
        b"cos\nsystem\n(S'true'\ntR.",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_hostile_json_is_refused_in_one_line(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    started = time.monotonic()
    with pytest.raises(DamagedFile) as caught:
        files.read_json(tmp_path / "a")
    assert time.monotonic() - started < 2
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "a") in str(caught.value)


def test_brackets_inside_strings_are_not_nesting(tmp_path):
    (tmp_path / "a").write_bytes(files.pretty_json({"x": "[{" * 1000 + '\\"'}))
    assert files.read_json(tmp_path / "a")["x"].startswith("[{")


def test_no_damage_to_a_sealed_file_goes_unnoticed(tmp_path):
    path = tmp_path / "sealed.json"
    value = {"format": 1, "files": {"a": "0" * 64, "b": "ü"}, "n": [1.5, None, True]}
    files.write_sealed_json(path, value)
    whole = path.read_bytes()
    assert files.read_sealed_json(path, supported=1) == value
    draw = random.Random(0)
    damaged = [whole[:length] for length in range(len(whole))]
    for bit in draw.sample(range(8 * len(whole)), 800):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    assert len(damaged) > 1000
    for data in (*damaged, whole + b"\n", whole.replace(b"  ", b"\t")):
        path.write_bytes(data)
        with pytest.raises(DamagedFile):
            files.read_sealed_json(path, supported=1)


@pytest.mark.parametrize("version", [0, 99])
def test_other_formats_are_refused_by_their_number(tmp_path, version):
    files.write_sealed_json(tmp_path / "a", {"format": version})
    with pytest.raises(UnsupportedFormat, match=f"format {version}, .* reads format 1"):
        files.read_sealed_json(tmp_path / "a", supported=1)


@pytest.mark.parametrize("value", [{}, {"format": "1"}, {"format": True}, {"format": 1.0}])
def test_a_format_is_a_whole_number(tmp_path, value):
    files.write_sealed_json(tmp_path / "a", value)
    with pytest.raises(DamagedFile, match="no format number"):
        files.read_sealed_json(tmp_path / "a", supported=1)
