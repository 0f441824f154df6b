"""Greedy evaluations of runs: recorded and continued, and no bit of training depends on them."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import register
from gymnasium.spaces import Discrete

from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from isl.status import Status
from isl.storage import checkpoint, run_folder, store, tensorboard
from isl.training.evaluations import Wish
from tests.support import endless  # noqa: F401  (registers its environment)

pytestmark = pytest.mark.slow  # trains runs again and again

COUNTING = "tests.support.counting_agent"
FILES = ("episodes.parquet", "checkpoint/final.safetensors")
EVALUATED = ("evaluations.parquet", "checkpoint/best.safetensors")


class Sloppy(gymnasium.Env):
    """Its dice are those of the whole process: whoever draws from them disturbs it."""

    observation_space = Discrete(6)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            np.random.seed(seed)
        return int(np.random.randint(6)), {}

    def step(self, action):
        obs = int(np.random.randint(6))
        return obs, float(obs + action), obs == 5, False, {}


if "Sloppy-v0" not in gymnasium.registry:
    register("Sloppy-v0", entry_point=Sloppy)


def content(root, spec, names):
    path = run_folder.run_path(root, spec.to_dict(), 0)
    return [(path / name).read_bytes() for name in names]


def after(chunks):
    """Asked to stop after so many chunks."""
    calls = []

    def stop():
        calls.append(1)
        return len(calls) > chunks

    return stop


@pytest.fixture(scope="module", params=["deep_sea/3", "Sloppy-v0"])
def spec(request):
    """A compiled task and a Python environment."""
    budget = {"episodes": 2_000} if "/" in request.param else {"timesteps": 5_000}
    return resolve(request.param, COUNTING, {"learning_starts": 500}, **budget)


@pytest.fixture(scope="module")
def whole(spec, tmp_path_factory):
    root = tmp_path_factory.mktemp("whole")
    assert run_cohort(spec, [0], root, wish=Wish()) == {0: Status.DONE}
    return root


def test_a_run_says_what_its_greedy_policy_is_worth(spec, whole):
    path = run_folder.run_path(whole, spec.to_dict(), 0)
    assert run_folder.verify(path) == []
    assert set(EVALUATED) <= set(run_folder.manifest(path))
    rows = run_folder.read_evaluations(path)
    assert rows["steps"].is_sorted()
    assert len(rows) >= 5
    assert rows["steps"][-1] >= 5_000
    assert (rows["return_min"] <= rows["return_mean"]).all()
    assert rows["return_mean"].n_unique() == 1  # the policy is 0 everywhere, the episodes the same
    summary = store.read_run(path).summary
    last = rows["return_mean"][-1]
    assert (summary["greedy_return"], summary["best_greedy_return"]) == (last, last)
    assert summary["best_greedy_steps"] == rows["steps"][-1]
    meta = checkpoint.read_meta(path / "checkpoint" / "best.safetensors")
    assert meta == {"kind": "best", "evaluation": rows.row(-1, named=True)}
    logged = {
        row.step: row.values["eval/mean_reward"]
        for row in tensorboard.read(path / "tensorboard")
        if "eval/mean_reward" in row.values
    }
    assert list(logged) == rows["steps"].to_list()


def test_no_bit_of_training_depends_on_it(spec, whole, tmp_path):
    run_cohort(spec, [0], tmp_path)
    assert content(tmp_path, spec, FILES) == content(whole, spec, FILES)
    path = run_folder.run_path(tmp_path, spec.to_dict(), 0)
    assert run_folder.read_evaluations(path) is None
    assert store.read_run(path).summary["greedy_return"] is None


def test_an_interrupted_run_has_the_same_evaluations(spec, whole, tmp_path):
    stopped = run_cohort(spec, [0], tmp_path, should_stop=after(3), wish=Wish())
    assert stopped == {0: Status.INTERRUPTED}
    assert run_cohort(spec, [0], tmp_path, wish=Wish()) == {0: Status.DONE}
    assert content(tmp_path, spec, FILES + EVALUATED) == content(whole, spec, FILES + EVALUATED)


def test_a_run_begun_without_evaluations_can_go_on_with_them_and_the_other_way(
    spec, whole, tmp_path, caplog
):
    """The first is also what a checkpoint of a version without evaluations looks like."""
    for first, second in ((Wish(episodes=0), Wish()), (Wish(), Wish(episodes=0))):
        root = tmp_path / str(first.episodes)
        run_cohort(spec, [0], root, should_stop=after(3), wish=first)
        assert run_cohort(spec, [0], root, wish=second) == {0: Status.DONE}
        assert content(root, spec, FILES) == content(whole, spec, FILES)
        rows = run_folder.read_evaluations(run_folder.run_path(root, spec.to_dict(), 0))
        assert (
            0
            < len(rows)
            < len(run_folder.read_evaluations(run_folder.run_path(whole, spec.to_dict(), 0)))
        )
    assert not caplog.messages


def test_a_run_says_that_episodes_had_to_be_cut(tmp_path):
    """As news while it runs; it does not make a run that ended well a failed one."""
    spec = resolve("Endless-v0", COUNTING, {"learning_starts": 500}, timesteps=2_000)
    heard = []
    run_cohort(spec, [0], tmp_path, listener=heard.append, wish=Wish())
    told = "1 of 1 greedy episodes had not ended after 1,000 steps and were cut there"
    assert (heard[-1].status, heard[-1].message) == (Status.DONE.value, told)
    summary = store.read_run(run_folder.run_path(tmp_path, spec.to_dict(), 0)).summary
    assert summary["message"] == told
