"""Checkpoints come back bit for bit, or the previous one does; nothing else is ever loaded."""

import io
import json
import logging
import os
import random
import struct
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import flax.core
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import safetensors.numpy
from gymnasium.spaces import Box, Discrete
from hypothesis import given
from hypothesis import strategies as st

from isl import agents
from isl.errors import CannotWrite, DamagedFile, UnsupportedFormat
from isl.storage import checkpoint
from tests.faults.fuzz import mutated_bytes
from tests.support.fault_injection import failing_steps, recorded_steps, state_at

START = checkpoint._HEADER_START
DTYPES = [*checkpoint._DTYPES.values()]


class Pair(NamedTuple):
    left: Any
    right: Any


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    raw = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
    if dtype == np.bool_:
        raw = raw & 1
    return raw.view(dtype).reshape(shape)


pytrees = st.recursive(
    arrays(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.builds(Pair, inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | st.dictionaries(st.text("ab'\"]", max_size=3), inner, max_size=3).map(flax.core.freeze)
    ),
    max_leaves=8,
)


def assert_same_bits(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


@given(pytrees)
def test_any_pytree_comes_back_bit_for_bit(tree):
    path = Path("x")
    data = checkpoint.pack(checkpoint.flatten(tree), {"a": [1, None]})
    assert data == checkpoint.pack(checkpoint.flatten(tree), {"a": [1, None]})
    found, meta = checkpoint.unpack(path, bytes(data))
    assert meta == {"a": [1, None]}
    assert_same_bits(checkpoint.restore(path, found, tree), tree)


@given(pytrees)
def test_leaves_have_the_names_and_the_order_that_jax_gives_them(tree):
    assert list(checkpoint.flatten(tree)) == names_by_jax(tree)


TABLE, VECTOR = Discrete(6), Box(-1, 1, (3,), np.float32)
READABLE = [(name, TABLE) for name in agents.AGENTS]
READABLE += [(name, VECTOR) for name in agents.AGENTS if name != "isl_tables"]


@pytest.mark.parametrize(("name", "space"), READABLE)
def test_learners_of_all_agents_have_the_names_that_jax_gives_them(name, space):
    module = agents.load(name)
    agent = module.make(module.Config().replace({"hidden": [4]}), space, 2)
    learner = jax.eval_shape(agent.init, jax.random.key(0))
    found = [leaf for leaf, _ in checkpoint._leaves(learner)]
    assert found == names_by_jax(learner)
    arrays = {leaf: np.zeros(x.shape, x.dtype) for leaf, x in checkpoint._leaves(learner)}
    restored = checkpoint.restore(Path("x"), arrays, learner)
    assert jax.tree.structure(restored) == jax.tree.structure(learner)


def names_by_jax(tree):
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [jax.tree_util.keystr(path) for path, _ in leaves]


def test_training_state_comes_back(tmp_path):
    parameters = {"w": jnp.linspace(0, 1, 6).reshape(2, 3), "b": jnp.zeros(3, jnp.bfloat16)}
    state = {
        "parameters": parameters,
        "optimiser": optax.adam(1e-3).init(parameters),
        "key": jax.random.key_data(jax.random.key(3)),
        "nothing": None,
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "step": 7,
    }
    checkpoint.save_file(tmp_path / "m", state, {"agent": "isl"})
    template = jax.tree.map(np.zeros_like, state)
    found, meta = checkpoint.load_file(tmp_path / "m", template)
    assert meta == {"agent": "isl"} == checkpoint.read_meta(tmp_path / "m")
    assert_same_bits(found, jax.tree.map(np.asarray, state))
    shapes = jax.eval_shape(lambda: parameters)
    checkpoint.save_file(tmp_path / "p", parameters, {})
    assert_same_bits(checkpoint.load_file(tmp_path / "p", shapes)[0], parameters)


def test_growing_records_fit_a_template_of_any_length(tmp_path):
    checkpoint.save_file(tmp_path / "m", {"records": np.zeros((5, 2), np.float32)}, {})
    template = {"records": checkpoint.AnyLength(np.float32, (2,))}
    assert checkpoint.load_file(tmp_path / "m", template)[0]["records"].shape == (5, 2)
    for wrong in (checkpoint.AnyLength(np.float32, (3,)), checkpoint.AnyLength(np.int32, (2,))):
        with pytest.raises(DamagedFile, match="expected"):
            checkpoint.load_file(tmp_path / "m", {"records": wrong})
    checkpoint.save_file(tmp_path / "m", {"records": np.float32(0)}, {})
    with pytest.raises(DamagedFile, match="expected"):
        checkpoint.load_file(tmp_path / "m", {"records": checkpoint.AnyLength(np.float32)})


def test_any_safetensors_reader_reads_the_file(tmp_path):
    checkpoint.save_file(tmp_path / "m", state_at(3), {})
    found = safetensors.numpy.load_file(tmp_path / "m")
    np.testing.assert_array_equal(found["['w']"], state_at(3)["w"])


@pytest.mark.parametrize(
    "leaf",
    ["text", object(), np.array(["a"]), np.array([1j]), jax.random.key(0)],
    ids=lambda leaf: type(leaf).__name__,
)
def test_what_cannot_be_stored_is_refused_on_saving(tmp_path, leaf):
    with pytest.raises(TypeError):
        checkpoint.save_file(tmp_path / "m", {"x": leaf}, {})
    assert list(tmp_path.iterdir()) == []


def test_two_generations_are_kept_and_pruned_only_after_the_new_one_is_durable(tmp_path):
    for step in (1, 2):
        checkpoint.save(tmp_path, step, state_at(step), {})
    with recorded_steps() as taken:
        checkpoint.save(tmp_path, 30, state_at(30), {})
    assert taken == ["open", "write", "fsync", "rename", "fsync_dir", "unlink", "fsync_dir"]
    kept = [int(path.stem[5:]) for path in checkpoint.generations(tmp_path)]
    assert kept == [2, 30]


def test_no_checkpoint_is_none(tmp_path):
    assert checkpoint.latest(tmp_path, state_at(0)) is None


def test_a_save_replaces_later_generations_that_could_not_be_loaded(tmp_path):
    for step in (20, 30):
        checkpoint.save(tmp_path, step, state_at(step), {"step": step})
    checkpoint.generations(tmp_path)[-1].write_bytes(b"damaged")
    assert checkpoint.latest(tmp_path, state_at(0))[1] == {"step": 20}
    checkpoint.save(tmp_path, 25, state_at(25), {"step": 25})
    assert checkpoint.latest(tmp_path, state_at(0))[1] == {"step": 25}
    kept = [int(path.stem[5:]) for path in checkpoint.generations(tmp_path)]
    assert kept == [20, 25]


@pytest.mark.parametrize("number", [28, 30])  # ENOSPC, EROFS
@pytest.mark.parametrize("step", range(7))
def test_a_full_or_read_only_disk_leaves_a_loadable_checkpoint(tmp_path, number, step):
    for saved in (1, 2):
        checkpoint.save(tmp_path, saved, state_at(saved), {"step": saved})
    with failing_steps(step, 10**9, number), pytest.raises(CannotWrite, match="cannot write"):
        checkpoint.save(tmp_path, 3, state_at(3), {"step": 3})
    assert checkpoint.latest(tmp_path, state_at(0))[1]["step"] == (2 if step < 4 else 3)
    checkpoint.save(tmp_path, 4, state_at(4), {"step": 4})
    assert len(list((tmp_path / "checkpoint").iterdir())) == 2


def test_no_damage_goes_unnoticed_and_the_previous_generation_is_used(tmp_path, caplog):
    for step in (1, 2):
        checkpoint.save(tmp_path, step, state_at(step), {"step": step})
    path = checkpoint.generations(tmp_path)[-1]
    whole = path.read_bytes()
    draw = random.Random(0)
    damaged = [whole[:length] for length in draw.sample(range(len(whole)), 250)]
    for bit in draw.sample(range(8 * len(whole)), 250):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    caplog.set_level(logging.CRITICAL)
    for data in (*damaged, whole + b"\0"):
        path.write_bytes(data)
        with pytest.raises(DamagedFile):
            checkpoint.verify_file(path)
        assert checkpoint.latest(tmp_path, state_at(0))[1] == {"step": 1}


def test_a_skipped_checkpoint_is_named_with_the_reason(tmp_path, caplog):
    checkpoint.save(tmp_path, 1, state_at(1), {})
    path = checkpoint.generations(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-1])
    assert checkpoint.latest(tmp_path, state_at(0)) is None
    assert str(path) in caplog.text
    assert "checksum" in caplog.text


def resealed(data: bytes) -> bytes:
    """What somebody would write who knows the format and means harm."""
    sealed = bytearray(data)
    if len(sealed) >= checkpoint._DIGEST.stop:
        sealed[checkpoint._DIGEST] = checkpoint._digests(io.BytesIO(data))[1]
    return bytes(sealed)


def crafted(tensors: str, data: bytes = b"", about: str = '{"format":1,"meta":{}}') -> bytes:
    """A sealed file with this header text for its tensors."""
    escaped = json.dumps(about)[1:-1]
    header = START.decode() + "0" * 64 + escaped + '"}' + tensors + "}"
    return resealed(struct.pack("<Q", len(header.encode())) + header.encode() + data)


def tensor(shape: str, start: int, stop: int, dtype: str = "F32", name: str = "['w']") -> str:
    offsets = f'"data_offsets":[{start},{stop}]'
    return f',{json.dumps(name)}:{{"dtype":"{dtype}","shape":{shape},{offsets}}}'


VALID = crafted(tensor("[2]", 0, 8), bytes(8))
HOSTILE = {
    "empty": b"",
    "seven bytes": bytes(7),
    "pickle": b"cos\nsystem\n(S'touch PWNED'\ntR.",
    "pickle after the start of a header": VALID[:8] + START + b"cos\nsystem\n(S'touch PWNED'\ntR.",
    "zip": b"PK\x05\x06" + bytes(18),
    "no tensors": crafted(""),
    "header of 2**63 bytes": resealed(struct.pack("<Q", 2**63) + VALID[8:]),
    "header of a gigabyte": resealed(struct.pack("<Q", 1 << 30) + VALID[8:]),
    "header longer than the file": resealed(struct.pack("<Q", len(VALID)) + VALID[8:]),
    "header cut short": resealed(struct.pack("<Q", 90) + VALID[8:]),
    "deep header": crafted(',"x":' + "[" * 5000 + "]" * 5000),
    "tensor named twice": crafted(tensor("[2]", 0, 8) * 2, bytes(8)),
    "metadata twice": crafted(',"__metadata__":{}'),
    "metadata that is no text": crafted(',"x":{"__metadata__":1}'),
    "overlapping tensors": crafted(
        tensor("[2]", 0, 8) + tensor("[2]", 4, 12, name="['n']"), bytes(12)
    ),
    "tensor beyond the end": crafted(tensor("[2]", 8, 16), bytes(8)),
    "backwards offsets": crafted(tensor("[2]", 8, 0), bytes(8)),
    "negative shape": crafted(tensor("[-2]", 0, 8), bytes(8)),
    "shape that overflows": crafted(tensor(f"[{2**62},{2**62}]", 0, 8), bytes(8)),
    "shape larger than the data": crafted(tensor("[1000000000000]", 0, 8), bytes(8)),
    "unknown type": crafted(tensor("[2]", 0, 2, "F8_E4M3"), bytes(2)),
    "made-up type": crafted(tensor("[2]", 0, 8, "OBJECT"), bytes(8)),
    "wrong type": crafted(tensor("[2]", 0, 8, "I32"), bytes(8)),
    "wrong shape": crafted(tensor("[1,2]", 0, 8), bytes(8)),
    "boolean that is 2": crafted(tensor("[2]", 0, 2, "BOOL"), b"\1\2"),
    "surplus bytes": resealed(VALID + b"#!/bin/sh"),
    "path as a name": crafted(tensor("[2]", 0, 8, name="../../../tmp/PWNED"), bytes(8)),
    "absolute path as a name": crafted(tensor("[2]", 0, 8, name="/tmp/PWNED"), bytes(8)),
    "surplus tensor": crafted(tensor("[2]", 0, 8) + tensor("[2]", 8, 16, name="['v']"), bytes(16)),
    "metadata that is a list": crafted(tensor("[2]", 0, 8), bytes(8), '{"format":1,"meta":[]}'),
    "metadata that is deep": crafted(
        tensor("[2]", 0, 8), bytes(8), '{"format":1,"meta":' + '{"a":' * 500 + "1" + "}" * 501
    ),
    "metadata with NaN": crafted(tensor("[2]", 0, 8), bytes(8), '{"format":1,"meta":{"a":NaN}}'),
    "half a surrogate pair": crafted(tensor("[2]", 0, 8), bytes(8), '{"format":1,"meta":"\ud800"}'),
    "no format": crafted(tensor("[2]", 0, 8), bytes(8), '{"meta":{}}'),
}


def test_the_crafted_file_is_valid_but_for_the_harm_done_to_it(tmp_path):
    (tmp_path / "m").write_bytes(VALID)
    state, _ = checkpoint.load_file(tmp_path / "m", {"w": np.zeros(2, np.float32)})
    np.testing.assert_array_equal(state["w"], [0, 0])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").write_bytes(HOSTILE[name])
    with pytest.raises(DamagedFile) as caught:
        checkpoint.load_file(tmp_path / "m", {"w": np.zeros(2, np.float32)})
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "m") in str(caught.value)
    assert os.listdir(tmp_path) == ["m"]


def test_archives_of_pickled_arrays_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        archive.writestr("../../PWNED", b"\x80\x04K\x01.")
    with pytest.raises(DamagedFile, match="not a checkpoint or model file"):
        checkpoint.read_meta(tmp_path / "m")


def test_links_pipes_and_huge_files_are_refused(tmp_path):
    (tmp_path / "real").write_bytes(VALID)
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.write(VALID)
        file.truncate(1 << 40)
    for name in ("link", "pipe", "huge"):
        with pytest.raises(DamagedFile):
            checkpoint.load_file(tmp_path / name, {"w": np.zeros(2, np.float32)})
        with pytest.raises(DamagedFile):
            checkpoint.read_meta(tmp_path / name)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").symlink_to(tmp_path)
    with pytest.raises(DamagedFile, match="symbolic link"):
        checkpoint.latest(tmp_path / "run", {})


@pytest.mark.parametrize("version", [0, 99])
def test_other_formats_are_refused_by_their_number(tmp_path, version):
    checkpoint.save(tmp_path, 1, state_at(1), {})
    path = checkpoint.generations(tmp_path)[0]
    about = f'{{"format":{version},"meta":{{}}}}'
    path.write_bytes(crafted(tensor("[2]", 0, 8), bytes(8), about))
    with pytest.raises(UnsupportedFormat, match=f"format {version}"):
        checkpoint.latest(tmp_path, state_at(0))


def test_ten_thousand_mutated_files_load_as_arrays_or_not_at_all():
    draw = random.Random(0)
    loaded, messages = 0, set()
    for _ in range(10_000):
        data = mutated_bytes(VALID, draw)
        try:
            found, _ = checkpoint.unpack(Path("m"), resealed(data))
        except DamagedFile as error:
            messages.add(str(error))
        else:
            loaded += 1
            assert sum(array.nbytes for array in found.values()) <= len(data)
    assert 0 < loaded < 9000
    assert len(messages) > 20  # the damage reaches every check, not only the first
    assert not any("\n" in message for message in messages)
