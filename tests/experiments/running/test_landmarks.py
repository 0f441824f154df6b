"""Beliefs at landmarks over training: what is recorded, thinned, kept across an interruption."""

from functools import cache, partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from isl import envs
from isl.errors import DamagedFile
from isl.experiments.running import beliefs
from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.status import Status
from isl.storage import checkpoint, snapshots


class Speaker(NamedTuple):
    init: Any
    inspect: Any


@cache  # what it believes is compiled once per agent
def agent():
    """Its learner is a number, which it believes to be every action's value."""
    return Speaker(
        init=lambda key: jnp.float32(0),
        inspect=lambda learner, obs: {"q": learner + obs[:3], "pareto": obs[:3] > 0},
    )


def test_landmarks_of_cartpole_are_its_goal_and_its_start():
    marks = envs.make("cartpole_swingup/10").landmarks()
    upright, hanging = np.asarray(marks["upright"]), np.asarray(marks["hanging"])
    np.testing.assert_allclose(upright[[0, 1, 2, 3, 4]], [0, 0, 0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(hanging[[0, 1, 2, 3, 4]], [0, 0, 0, -1, 0], atol=1e-6)
    assert (upright[6:] == 1).all()  # central and slow
    assert not hasattr(envs.make("deep_sea/5"), "landmarks")


def test_thinned_evenly_and_the_same_after_an_interruption(tmp_path):
    marks = {"here": jnp.ones(4), "there": jnp.zeros(4)}
    whole = beliefs.Probes(marks, agent(), most=8)
    first = beliefs.Probes(marks, agent(), most=8)
    for call in range(1, 51):
        whole.take(partial(jnp.float32, call), None, call)
        if call == 23:  # save, start again, restore
            saved = first.state()
            first = beliefs.Probes(marks, agent(), most=8)
            arrays = checkpoint.flatten(saved)
            restored = checkpoint.restore(tmp_path, arrays, first.template())
            first.restore(restored)
        first.take(partial(jnp.float32, call), None, call)
    whole.write(tmp_path, 50)
    names, found = snapshots.read_probes(tmp_path)
    assert names == ["here", "there"]
    assert set(found) == {"episode", "q"}
    assert 4 <= len(found["episode"]) <= 8
    assert len(set(np.diff(found["episode"]))) == 1
    # [time, landmark, action]: the learner's number, plus one at the first landmark.
    np.testing.assert_array_equal(found["q"][:, 1, 0], found["episode"])
    np.testing.assert_array_equal(found["q"][:, 0, 2], found["episode"] + 1)
    for name, values in first.state().items():
        np.testing.assert_array_equal(values, whole.state()[name])


def test_a_run_with_snapshots_records_them_also_when_interrupted(tmp_path):
    spec = resolve("cartpole_swingup/0", "tests.support.counting_agent", {}, episodes=3)
    heard = []
    stopped = run_cohort(
        spec, [0], tmp_path, snapshots=True, listener=heard.append,
        should_stop=lambda: len(heard) == 3,
    )  # fmt: skip
    assert stopped == {0: Status.INTERRUPTED}
    assert run_cohort(spec, [0], tmp_path, snapshots=True) == {0: Status.DONE}
    (path,) = tmp_path.glob("**/probes.safetensors")
    names, found = snapshots.read_probes(path.parent)
    assert names == ["upright", "hanging"]
    assert found["q"].shape == (len(found["episode"]), 2, 3)
    assert found["episode"][0] == 0
    assert found["episode"][-1] == 3


def test_another_file_is_refused(tmp_path):
    checkpoint.save_file(tmp_path / snapshots.PROBES, {"q": np.zeros(3)}, {"kind": "snapshots"})
    with pytest.raises(DamagedFile, match="holds no probes"):
        snapshots.read_probes(tmp_path)
