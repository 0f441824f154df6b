"""Row 10: files of format 1, kept since it was made, are read; other formats are named."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from isl.errors import UnsupportedFormat
from isl.model import file, load
from isl.model.policy import make_agent
from isl.storage import checkpoint, files, run_folder, store
from tests.support.fault_injection import CONFIG, state_at, write_run

FORMAT_1 = Path(__file__).parents[1] / "fixtures" / "format-1"
MODEL = FORMAT_1 / "model.isl"


def test_a_run_and_its_checkpoint_of_format_1_are_read(tally):
    (run,) = store.scan(FORMAT_1)
    assert run_folder.verify(run.path) == []
    assert run.config == CONFIG
    assert store.load_episodes(FORMAT_1)["return"].to_list() == [0.25 * e for e in range(6)]
    state, meta = checkpoint.latest(run.path, state_at(0))
    assert meta == {"step": 7}
    np.testing.assert_array_equal(state["w"], state_at(7)["w"])
    tally(10, "format 1: run, checkpoint and model read; versions 0 and 99 refused by number")


def test_a_model_of_format_1_is_read():
    """The container: who it is, what it was trained on, every array by name."""
    found = file.read_model(MODEL)
    assert found.agent == "dqn"
    assert (found.task, found.seed, found.num_timesteps) == ("deep_sea/3", 1, 508)
    assert found.config().hidden == (2,)
    assert found.observations().space.n == 9
    assert found.actions().number == 2
    content = hashlib.sha256()
    for name, array in sorted(found._arrays.items()):
        content.update(name.encode() + str((array.dtype, array.shape)).encode() + array.tobytes())
    assert content.hexdigest() == "ec3ede547828f44a7006025d281069485183e092c022f74b663e4ba83a1aeffc"


def test_a_model_of_other_networks_is_refused_by_its_version():
    """What the networks look like is not part of the format: then the version is named."""
    arrays, meta = checkpoint.unpack(MODEL, MODEL.read_bytes())
    older = {f"{name}_of_old": array for name, array in arrays.items()}
    forged = file.ModelFile(MODEL, older, meta)
    with pytest.raises(UnsupportedFormat, match=r"saved by isl 0\.1\.0 .* use the version that"):
        forged.learner(loaded_agent())


def loaded_agent():
    found = file.read_model(MODEL)
    return make_agent("dqn", found.config(), found.observations(), found.actions(), False, None)


@pytest.mark.parametrize("version", [0, 99])
def test_other_versions_are_refused_by_their_number(tmp_path, monkeypatch, version):
    named = f"has format {version}, this version of isl reads format 1"
    # A model and a checkpoint.
    arrays, meta = checkpoint.unpack(MODEL, MODEL.read_bytes())
    monkeypatch.setattr(checkpoint, "FORMAT", version)
    (tmp_path / "m.isl").write_bytes(checkpoint.pack(arrays, meta))
    checkpoint.save(tmp_path, 1, state_at(1), {})
    monkeypatch.undo()
    with pytest.raises(UnsupportedFormat, match=named):
        load(tmp_path / "m.isl")
    with pytest.raises(UnsupportedFormat, match=named):
        checkpoint.latest(tmp_path, state_at(0))
    # A run, finished or not: neither read nor continued nor overwritten.
    run_dir = write_run(tmp_path / "runs")
    record = json.loads((run_dir / "config.json").read_text())
    files.write_json(run_dir / "config.json", {**record, "format": version})
    (run_dir / "DONE.json").unlink()
    assert named in store.read_run(run_dir).problem
    with pytest.raises(UnsupportedFormat, match=named):
        run_folder.start(run_dir, CONFIG)
    shutil.rmtree(run_dir)
    run_dir = write_run(tmp_path / "runs")
    files.write_sealed_json(run_dir / "DONE.json", {"format": version, "files": {}})
    assert named in store.read_run(run_dir).problem
    with pytest.raises(UnsupportedFormat, match=named):
        run_folder.is_done(run_dir)
