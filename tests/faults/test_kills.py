"""Row 1: killed by SIGKILL before each step of each write, and in the middle of each `write`."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from gymnasium.spaces import Discrete

from isl.agents.config import Config
from isl.envs.spaces import observations
from isl.model import file
from isl.status import Status
from isl.storage import run_folder, store
from tests.support.fault_injection import recorded_steps
from tests.support.sweeps import hashes

pytestmark = pytest.mark.slow  # kills processes

ROOT = Path(__file__).parents[2]
# What is written, and how many steps that takes at least.
SCENARIOS = {"checkpoint": 7, "model": 5, "run": 35, "finish": 20, "merge": 35}


def run_program(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sigkill_at_every_step_leaves_whole_files(tmp_path, tally, scenario):
    kills = int(run_program("tests.support.fault_injection", scenario, tmp_path))
    assert kills >= SCENARIOS[scenario]
    if scenario == "checkpoint":
        assert kills == 7  # open write fsync rename fsync_dir, and to prune: unlink fsync_dir
    tally(1, f"{scenario}: killed at each of {kills} steps, whole and continued {kills} times")


def test_a_model_is_one_atomic_write(tmp_path, monkeypatch):
    """So the scenario `model`, which writes the same file without JAX, covers `Model.save`."""
    written = []
    monkeypatch.setattr(file.checkpoint, "save_file", lambda *a: written.append(a[0]))
    space = Discrete(2)
    model = SimpleNamespace(
        **{"_loop": None, "_attached": None, "learner": {}, "agent_name": "dqn", "torso": None},
        **{"config": Config(), "normalize": False, "task": "t", "seed": 0, "num_timesteps": 0},
        **{"_observations": observations(space), "action_space": space},
    )
    with recorded_steps() as taken:
        file.write_model(model, tmp_path / "m.isl", replay=False)
    assert written == [tmp_path / "m.isl"]
    assert taken == []


@pytest.mark.usefixtures("only_long")
def test_killed_at_every_step_of_a_whole_run(tmp_path, tally):
    """A real run that writes checkpoints all the time, dies at step k and is continued."""
    whole = tmp_path / "whole"
    whole.mkdir()
    steps = int(run_program("tests.faults.one_run", whole))
    wanted = hashes(whole)
    assert len(wanted) == 2
    for step in range(steps):
        out = tmp_path / str(step)
        out.mkdir()
        run_program("tests.faults.one_run", out, step, code=-9)
        for run in store.scan(out):
            assert run.status is not Status.DAMAGED
            assert run_folder.verify(run.path) == []
        run_program("tests.faults.one_run", out)
        assert hashes(out) == wanted
        shutil.rmtree(out)
    tally(1, f"a whole run: killed at each of its {steps} write steps, same bits each time")
