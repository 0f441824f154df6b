"""Row 4: environments that raise, hang or return nonsense end their own run, by name and step."""

import os
import threading
import time

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from isl.cli.main import main
from isl.errors import EnvironmentFault, UsageError
from isl.status import Status
from isl.storage import store
from isl.training.python_envs.envs import PythonEnvs
from isl.training.python_envs.step_limit import Board, StepLimit
from isl.training.python_envs.vector import VectorEnvs
from tests.faults import bad_envs
from tests.faults.bad_envs import BAD, BAD_STEP
from tests.support.sweeps import ISL, ROOT, finish

pytestmark = pytest.mark.slow  # waits for environments that hang

SAID = {
    "NanReward": "gave the reward nan, expected a finite number of 32 bits",
    "InfReward": "gave the reward -inf, expected a finite number of 32 bits",
    "NanObservation": "observed nan, expected finite numbers",
    "WrongShape": "observed an array of shape (4,), expected (3,)",
    "WrongType": "observed <U1 values, expected float32",
    "OutOfRange": "observed 5, expected 0 to 4",
    "HalfIndex": "observed float64 values, expected int64",
    "FewValues": "raised ValueError: not enough values to unpack (expected 5, got 4); "
    "expected Gymnasium's interface: reset(seed=…, options=…) gives (observation, info), "
    "step(action) gives (observation, reward, terminated, truncated, info)",
    "Raises": "raised ConnectionError: the simulator is gone",
    "Sleeps": "took longer than 0.2 s",
    "Stubborn": "took longer than 0.2 s",
}
CALM = {"HugeReward", "HangsInC"}  # not seen in a step: a loss overflows; no Python code runs


def made(name, count=1, **more):
    """The environment whose seed 1 breaks its promise, in a loop of its own."""
    envs = [getattr(bad_envs, name)() for _ in range(count)]
    return PythonEnvs(envs, "", 1, **more)


def drive(envs, steps=2 * BAD_STEP):
    envs.reset()
    for _ in range(steps):
        envs.step(np.zeros(envs.width, np.int32))


@pytest.mark.parametrize("name", [env.__name__ for env in BAD if env.__name__ not in CALM])
def test_the_step_and_the_environment_are_named(name):
    with pytest.raises(EnvironmentFault) as caught:
        drive(made(name, limit=StepLimit(0.2)))
    assert str(caught.value) == f"step {BAD_STEP} of : {SAID[name]}"
    assert caught.value.__cause__ is not None
    drive(made("Walk", limit=StepLimit(0.2)))


def test_one_of_several_environments_is_named():
    with pytest.raises(EnvironmentFault, match=f"step {BAD_STEP} of , environment 0: gave the"):
        drive(made("NanReward", count=3))


@pytest.mark.parametrize("name", ["NanReward", "NanObservation", "Raises", "Sleeps"])
def test_vector_environments_are_watched_too(name):
    vector = SyncVectorEnv([getattr(bad_envs, name)] * 2)
    vector.envs[0].bad = True
    limit = StepLimit(0.2)
    steps = BAD_STEP + 2  # two episodes have ended, and a step each only began the next
    with pytest.raises(EnvironmentFault, match=rf"step {steps} of Two, environment 0: "):
        drive(VectorEnvs(vector, "Two", 1, limit))


def test_a_fault_in_reset_is_named():
    class Shy(bad_envs.Walk):
        def reset(self, *, seed=None, options=None):
            raise OSError("not now")

    with pytest.raises(EnvironmentFault, match="step 0 of Shy: raised OSError: not now"):
        drive(PythonEnvs([Shy()], "Shy", 0))


def test_a_limit_leaves_nothing_behind_and_needs_the_main_thread():
    import signal

    before = signal.getsignal(signal.SIGALRM)
    limit = StepLimit(0.05)
    with limit.at(3):
        pass
    time.sleep(0.1)
    assert signal.getsignal(signal.SIGALRM) is before
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="step_timeout must be a number of seconds"):
            StepLimit(wrong)
    said = []

    def elsewhere():
        with pytest.raises(UsageError, match="main thread") as caught:
            StepLimit(1.0)
        said.append(caught)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert said


def test_a_board_tells_another_process_what_is_overdue():
    board, descriptor = Board.make()
    other = Board(descriptor)
    os.close(descriptor)
    limit = StepLimit(5.0, other)
    assert board.overdue(0) is None
    with limit.at(7):
        assert board.overdue(0) is None
        assert board.overdue(-10) == 7
    assert board.overdue(-10) is None
    board.close()
    other.close()


def test_a_limit_is_for_environments_that_can_hang(capsys):
    assert main(["train", "deep_sea/3", "--step-timeout", "1"]) == 2
    assert "compiled tasks cannot hang" in capsys.readouterr().err
    assert main(["train", "CartPole-v1", "--step-timeout", "-1"]) == 2
    assert "--step-timeout must be a number of seconds above 0, got -1" in capsys.readouterr().err
    assert main(["train", "no_such_module:Env-v0"]) == 2
    assert "no module named 'no_such_module' for task" in capsys.readouterr().err


def test_other_seeds_and_tasks_are_not_disturbed(tmp_path, often, tally):
    """One sweep; seed 1 of each task is bad. Everybody else ends as if alone."""
    names = often(["NanReward", "HugeReward", "HangsInC"], [env.__name__ for env in BAD])
    seeds = often(2, 3)
    tasks = [f"tests.faults.bad_envs:{name}-v0" for name in names]
    options = "--agents tests.faults.loss_agent --timesteps 60 --step-timeout 1 --workers 1"
    arguments = ["sweep", *tasks, *options.split(), "--seeds", str(seeds), "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = finish([*ISL, *arguments], code=1, env=environment)
    runs = {(run.task.partition(":")[2], run.seed): run for run in store.scan(tmp_path)}
    assert len(runs) == seeds * len(names)
    for (task, seed), run in runs.items():
        name = task.removesuffix("-v0")
        if seed != 1:
            assert run.status is Status.DONE, (task, seed)
        elif name == "HugeReward":
            assert run.status is Status.DIVERGED
            assert f"of tests.faults.bad_envs:{task}, gave" in run.summary["message"]
        else:
            assert run.status is Status.FAILED
            hung = "took longer than 1 s"
            said = hung if name in ("Sleeps", "Stubborn", "HangsInC") else SAID[name]
            assert f"step {BAD_STEP} of tests.faults.bad_envs:{task}: {said}" in run.problem
            assert f"{run.problem}\n" in printed
    others = sum(run.status is Status.DONE for run in runs.values())
    tally(4, f"{len(names)} kinds, each named by step and task; {others} other runs undisturbed")
