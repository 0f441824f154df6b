"""Logs of runs: what they hold, how long they get, and that they never harm a run."""

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.storage import run_folder, tensorboard
from isl.training import scalars


def rows(path):
    """The events of a file, read by hand: length, its checksum, the event, its checksum."""
    data, found = path.read_bytes(), []
    while data:
        size = int.from_bytes(data[:8], "little")
        found.append(Event.FromString(data[12 : 12 + size]))
        data = data[16 + size :]
    return found


def values(event):
    return {value.tag: value.simple_value for value in event.summary.value}


SMALL = {"batch_size": 16, "learning_starts": 64, "replay_capacity": 512, "hidden": [8]}
BELIEFS = {"q/mean", "ell/q10", "ell/q50", "ell/q90", "policy/entropy", "policy/pareto_actions"}


@pytest.mark.parametrize(
    ("task", "budget"), [("deep_sea/4", {"episodes": 600}), ("FrozenLake-v1", {"timesteps": 2_000})]
)
def test_every_run_leaves_a_log(tmp_path, task, budget):
    spec = resolve(task, "isl", SMALL, **budget)
    run_cohort(spec, [0], tmp_path)
    path = run_folder.run_path(tmp_path, spec.to_dict(), 0)
    (file,) = (path / tensorboard.FOLDER).iterdir()
    logged = [values(event) for event in rows(file) if event.HasField("summary")]
    assert len(logged) >= 2
    assert logged[-1].keys() >= BELIEFS | {"return/mean", "train/td_error"}
    assert logged[-1]["speed/steps_per_second"] > 0
    assert 0 < logged[-1]["ell/q10"] <= logged[-1]["ell/q50"] <= logged[-1]["ell/q90"] <= 100
    assert 0 <= logged[-1]["policy/entropy"] <= np.log(4) + 1e-6
    assert 1 <= logged[-1]["policy/pareto_actions"] <= 4
    assert all(np.isfinite(list(row.values())).all() for row in logged)
    assert run_folder.verify(path) == []  # and is no part of the manifest
    assert tensorboard.FOLDER not in str(run_folder.manifest(path))


def test_a_long_run_stays_below_a_megabyte(tmp_path):
    log = tensorboard.RunLog(tmp_path, budget=10_000, done=0, step=0)
    many = {f"train/value_{i}": float(i) for i in range(25)}
    written = 0
    for episode in range(10_001):
        if log.due(episode):
            log.add(episode, episode * 50, many)
            written += 1
    log.close()
    (file,) = (tmp_path / tensorboard.FOLDER).iterdir()
    assert written == tensorboard.ROWS + 1
    assert file.stat().st_size < 1 << 20


def test_a_continued_run_voids_what_came_after_its_checkpoint(tmp_path):
    tensorboard.RunLog(tmp_path, 100, 0, 0).close()
    tensorboard.RunLog(tmp_path, 100, 40, 800).close()
    second = sorted((tmp_path / tensorboard.FOLDER).iterdir())[1]
    assert rows(second)[1].step == 800
    assert rows(second)[1].session_log.status == 1  # START: TensorBoard drops later steps


def test_a_log_that_cannot_be_written_is_given_up(tmp_path, caplog):
    (tmp_path / tensorboard.FOLDER).write_text("in the way")
    log = tensorboard.RunLog(tmp_path, 100, 0, 0)
    assert not log.due(50)
    assert "no more TensorBoard rows" in caplog.text


def test_observations_are_found_in_whatever_an_agent_stores():
    from isl.agents.base import Transition

    plain = Transition(np.arange(3), 0, 0, 0, 0)
    assert scalars.transitions(plain) is plain
    assert scalars.transitions((plain, np.zeros(3))) is plain
    assert scalars.transitions(np.zeros(3)) is None
    assert scalars.places(10, 100).max() == 9
    assert scalars.places(1000, 100).max() == 99
