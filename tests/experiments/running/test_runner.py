"""Runs that are interrupted, parted, padded or broken: their results stay what they would be."""

import hashlib

import pytest

from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import RunSpec, resolve
from isl.status import Status
from isl.storage import run_folder, store
from isl.training.evaluations import Wish

pytestmark = pytest.mark.slow  # trains runs again and again

SMALL = {"hidden": [8, 8], "batch_size": 8, "learning_starts": 20, "replay_capacity": 200}


def digests(root, spec, seed, *more):
    path = run_folder.run_path(root, spec.to_dict(), seed)
    names = ("episodes.parquet", "checkpoint/final.safetensors", *more)
    return [hashlib.sha256((path / name).read_bytes()).hexdigest() for name in names]


@pytest.fixture(scope="module")
def spec() -> RunSpec:
    return resolve("deep_sea/5", "isl", SMALL, episodes=900)


@pytest.fixture(scope="module")
def whole(spec, tmp_path_factory):
    root = tmp_path_factory.mktemp("whole")
    outcome = run_cohort(spec, [0], root)
    assert outcome == {0: Status.DONE}
    return root


def test_a_finished_run_says_what_happened(spec, whole):
    path = run_folder.run_path(whole, spec.to_dict(), 0)
    run = store.read_run(path)
    episodes = run_folder.read_episodes(path)
    assert episodes.height == run.summary["episodes"] == 900
    assert run.summary["steps"] == 900 * 5
    assert (episodes["length"] == 5).all()
    assert run.summary["goal_visits"] == episodes["goal_visits"][-1]
    assert run.summary["message"] == ""  # its values were possible all the time
    assert run_folder.verify(path) == []


@pytest.mark.parametrize("chunks", [0, 1, 3])
def test_interrupted_and_continued_gives_the_same_bits(spec, whole, tmp_path, chunks):
    calls = []

    def stop():
        calls.append(1)
        return len(calls) > chunks

    assert run_cohort(spec, [0], tmp_path, should_stop=stop) == {0: Status.INTERRUPTED}
    assert run_cohort(spec, [0], tmp_path) == {0: Status.DONE}
    assert digests(tmp_path, spec, 0) == digests(whole, spec, 0)


def test_continuing_from_an_early_checkpoint_gives_the_same_bits(spec, whole, tmp_path):
    """As after a power cut: checkpoints at every chunk, then the process is gone."""

    class PowerCut(BaseException):
        pass

    calls = []

    def cut(progress):
        calls.append(1)
        if len(calls) == 3:
            raise PowerCut

    with pytest.raises(PowerCut):
        run_cohort(spec, [0], tmp_path, listener=cut, checkpoint_seconds=0)
    assert run_cohort(spec, [0], tmp_path) == {0: Status.DONE}
    assert digests(tmp_path, spec, 0) == digests(whole, spec, 0)


def test_a_finished_run_is_not_run_again(spec, whole):
    path = run_folder.run_path(whole, spec.to_dict(), 0)
    before = (path / "DONE.json").stat().st_mtime_ns
    assert run_cohort(spec, [0], whole) == {0: Status.DONE}
    assert (path / "DONE.json").stat().st_mtime_ns == before


def test_a_run_that_another_process_holds_is_left_alone(spec, tmp_path):
    with run_folder.lock(run_folder.run_path(tmp_path, spec.to_dict(), 0)):
        assert run_cohort(spec, [0], tmp_path) == {0: Status.RUNNING}


def test_until_solved_ends_at_the_tenth_visit(tmp_path):
    spec = resolve("deep_sea/2", "isl", SMALL, until_solved=True)
    run_cohort(spec, [0], tmp_path)
    path = run_folder.run_path(tmp_path, spec.to_dict(), 0)
    episodes = run_folder.read_episodes(path)
    assert episodes["goal_visits"][-1] == 10
    assert (episodes["goal_visits"][:-1] < 10).all()
    assert store.read_run(path).summary["solved_episode"] == episodes.height


def test_divergence_ends_one_run_and_names_its_update(tmp_path):
    spec = resolve(
        "deep_sea/3", "tests.support.counting_agent", {"diverge_at": 700}, episodes=10_000
    )
    assert run_cohort(spec, [0], tmp_path, wish=Wish(every=400)) == {0: Status.DIVERGED}
    run = store.read_run(run_folder.run_path(tmp_path, spec.to_dict(), 0))
    assert run.status is Status.DIVERGED
    assert "update 700" in run.summary["message"]
    evaluated = run_folder.read_evaluations(run.path)["steps"]  # before it diverged
    assert 0 < evaluated[-1] < run.summary["steps"]


def test_values_beyond_what_is_possible_mark_the_run_killed_or_not(tmp_path):
    """It goes on to its budget, so that no record changes, and ends as diverged."""
    hyper = {"doubling": 250.0, "updates": 20}
    spec = resolve("deep_sea/3", "tests.support.growing_agent", hyper, episodes=120)

    class PowerCut(BaseException):
        pass

    told = []

    def cut(progress):
        told.append(progress.message)
        if len(told) == 6:
            raise PowerCut

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run_cohort(spec, [0], whole) == {0: Status.DIVERGED}
    with pytest.raises(PowerCut):
        run_cohort(spec, [0], parts, listener=cut, checkpoint_seconds=0)
    assert ("values diverge" in told[-1], told[0]) == (True, "")  # said while it happens
    assert run_cohort(spec, [0], parts) == {0: Status.DIVERGED}
    assert digests(parts, spec, 0) == digests(whole, spec, 0)
    first, second = (
        store.read_run(run_folder.run_path(root, spec.to_dict(), 0)) for root in (whole, parts)
    )
    assert first.summary["message"] == second.summary["message"]
    assert "values diverge; lower lr" in first.summary["message"]
    assert first.summary["episodes"] == 120


def test_cohorts_pad_and_part_without_changing_bits(tmp_path):
    """Width 2 holds seeds (0, 1), (1, padding), or seeds that a crash left at different steps."""
    spec = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=1_500, cohort_width=2)
    roots = [tmp_path / name for name in ("together", "apart", "parted")]
    wish = Wish(every=700, episodes=2)
    run_cohort(spec, [0, 1], roots[0], wish=wish)
    for seed in (1, 0):
        run_cohort(spec, [seed], roots[1], wish=wish)
    calls = []

    def stop():
        calls.append(1)
        return len(calls) > 2

    run_cohort(spec, [1], roots[2], should_stop=stop, wish=wish)
    assert run_cohort(spec, [0, 1], roots[2], wish=wish) == {0: Status.DONE, 1: Status.DONE}
    for seed in (0, 1):
        first, *others = (digests(root, spec, seed, "evaluations.parquet") for root in roots)
        assert others == [first, first]


def test_snapshots_cover_training(tmp_path):
    from isl.storage import snapshots

    spec = resolve("deep_sea/4", "isl", SMALL, episodes=600)
    run_cohort(spec, [0], tmp_path, snapshots=True)
    maps = snapshots.read(run_folder.run_path(tmp_path, spec.to_dict(), 0))
    assert maps["ell"].shape == (len(maps["episode"]), 16, 2)
    assert maps["visits"][-1].sum() >= 600 * 4
    assert maps["visits"][-1].reshape(4, 4)[0, 1:].sum() == 0  # cells that cannot be reached
    assert (maps["policy"].sum(-1) - 1 < 1e-5).all()


@pytest.fixture(scope="module")
def host_spec() -> RunSpec:
    hyper = {**SMALL, "steps": 2}
    return resolve("FrozenLake-v1", "dqn", {**hyper, "epsilon_steps": 500}, timesteps=2_500)


def test_a_gymnasium_environment_continues_with_the_same_bits(host_spec, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run_cohort(host_spec, [3], whole) == {3: Status.DONE}
    calls = []

    def stop():
        calls.append(1)
        return len(calls) > 1

    assert run_cohort(host_spec, [3], parts, should_stop=stop) == {3: Status.INTERRUPTED}
    assert run_cohort(host_spec, [3], parts) == {3: Status.DONE}
    assert digests(parts, host_spec, 3) == digests(whole, host_spec, 3)
    summary = store.read_run(run_folder.run_path(whole, host_spec.to_dict(), 3)).summary
    assert summary["episodes"] > 10
    assert summary["goal_visits"] is None
