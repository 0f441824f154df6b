"""A search gives the same trials however often it is interrupted, and a preset that can be used."""

import dataclasses
import importlib.util
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from gymnasium.spaces import Box, Discrete

from isl import Seeker
from isl.agents import load
from isl.cli.main import main
from isl.errors import UsageError
from isl.experiments.spec import resolve
from isl.status import ExitCode
from isl.tuning import report, search, space
from isl.tuning.search import JOURNAL, Search, run_search
from tests.support import ray_nodes

try:
    import optuna
except ModuleNotFoundError:
    optuna = None
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'isl[ray]'"
)
needs_optuna = pytest.mark.skipif(optuna is None, reason="needs Optuna: pip install 'isl[tune]'")
VECTOR, TABLE = Box(-1, 1, (3,)), Discrete(9)


def ranges(seen=VECTOR, fixed=(), asked=(), agent="seeker"):
    config = load(agent).Config()
    return {each.name: each for each in space.search_space(config, seen, dict(fixed), asked)}


def test_basic_options_are_searched_around_their_usual_values():
    found, config = ranges(), load("seeker").Config()
    basic = {o.name for o in dataclasses.fields(config) if o.metadata["basic"]}
    assert set(found) == basic
    lr = found["lr"]
    assert (lr.low, lr.high, lr.log) == pytest.approx((config.lr / 10, config.lr * 10, True))
    assert found["gamma"].from_1
    assert found["gamma"].value(0.02) == pytest.approx(0.98)
    assert (found["greedy_share"].low, found["greedy_share"].high) == (0, 1)
    assert found["steps"].whole
    assert found["steps"].low == 1
    assert tuple(config.hidden) in found["hidden"].choices
    for name, each in found.items():
        drawn = each.drawn(getattr(config, name))
        assert each.value(drawn) == pytest.approx(getattr(config, name)), name


def test_what_has_no_effect_or_is_given_is_not_searched():
    assert not {"hidden", "lr", "tile_width"} & set(ranges(TABLE))
    assert "lr" not in ranges(fixed={"lr": 1e-3})
    own = ranges(asked=["ell_min=0.001:0.1", "hidden=32,64x64"])
    assert own["ell_min"].log
    assert own["hidden"].choices == (32, (64, 64))


@pytest.mark.parametrize(
    ("asked", "fixed", "message"),
    [
        ("lrr=1:2", {}, "did you mean lr"),
        ("lr=2:1", {}, "NAME=LOW:HIGH"),
        ("lr=a:b", {}, "NAME=LOW:HIGH"),
        ("lr=1e-4:1e-3", {"lr": 1e-3}, "given both"),
        ("sweep=1:100", {}, "no effect here"),
    ],
)
def test_bad_ranges(asked, fixed, message):
    with pytest.raises(UsageError, match=message):
        ranges(asked=[asked], fixed=fixed)


def small(trials=8, **options) -> Search:
    config = load("seeker").Config()
    usual = {o.name: getattr(config, o.name) for o in dataclasses.fields(config)}

    def resolved(hyper, budget):
        return resolve("CartPole-v1", "seeker", hyper, timesteps=budget)

    found = list(ranges().values())
    return Search(resolved, usual, found, 900, (1000,), trials, generation=4, **options)


class Killed(BaseException):
    """Ends a search wherever it is."""


@pytest.fixture
def worth(monkeypatch):
    """Trials have values without runs."""

    def value_of(root, spec, seeds):
        hyper = spec.hyper
        return -abs(hyper["lr"] - 1e-3) * 1000 - hyper["greedy_share"] + spec.timesteps / 1e4

    monkeypatch.setattr(search, "value_of", value_of)


def done(jobs, root):
    return ExitCode.OK


@needs_optuna
def test_the_search_is_the_same_however_often_it_is_killed(tmp_path, worth, monkeypatch):
    code, trials = run_search(small(12), tmp_path / "whole", done)
    assert code is ExitCode.OK
    assert [trial.number for trial in trials] == list(range(12))
    left = {"n": 0}

    def dying(jobs, root):
        left["n"] -= 1
        if not left["n"]:
            raise Killed
        return ExitCode.OK

    add = search.Journal.add

    def dying_add(self, *given):
        dying([], None)
        add(self, *given)

    monkeypatch.setattr(search.Journal, "add", dying_add)
    kills = 0
    for after in (1, 2, 5, 6, 9, 3, 4, 100):
        left["n"] = after
        try:
            code, again = run_search(small(12), tmp_path / "killed", dying)
        except Killed:
            kills += 1
    assert kills >= 5
    assert again == trials
    assert trials[0].drawn["lr"] == load("seeker").Config().lr  # the usual setting is trial 0
    assert len({tuple(trial.drawn.values()) for trial in trials}) == 12


@needs_optuna
def test_only_the_best_get_the_whole_budget(tmp_path, worth):
    _, trials = run_search(small(4), tmp_path, done)
    assert small().budgets() == [100, 300, 900]
    by_rung = [[t for t in trials if budget in t.values] for budget in small().budgets()]
    assert [len(some) for some in by_rung] == [4, 2, 1]
    (last,) = by_rung[-1]
    assert last.complete
    assert last.values[100] == max(t.values[100] for t in trials)


@needs_optuna
def test_a_torn_journal_is_mended_and_a_longer_search_goes_on(tmp_path, worth):
    _, trials = run_search(small(4), tmp_path, done)
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-10])
    _, mended = run_search(small(4), tmp_path, done)
    assert mended == trials
    _, longer = run_search(small(8), tmp_path, done)
    _, whole = run_search(small(8), tmp_path / "other", done)
    assert longer == whole
    with pytest.raises(UsageError, match=r"another search \(its rungs differ\)"):
        run_search(small(8, rungs=2), tmp_path, done)


@needs_optuna
def test_the_report_and_the_preset(tmp_path, worth):
    wanted = small(12)
    _, trials = run_search(wanted, tmp_path, done)
    best = report.write_results(wanted, trials, tmp_path, "seeker", "isl tune CartPole-v1")
    text = (tmp_path / report.REPORT).read_text(encoding="utf-8")
    assert "importance" in text
    assert f"| {best.number} |" in text
    preset = tomllib.loads((tmp_path / report.PRESET).read_text(encoding="utf-8"))["seeker"]
    model = Seeker("CartPole-v1", preset=tmp_path / report.PRESET)
    assert {name: getattr(model.config, name) for name in preset if name != "hidden"} == {
        name: value for name, value in preset.items() if name != "hidden"
    }
    assert list(model.config.hidden) == preset["hidden"]
    spec = resolve("CartPole-v1", "seeker", {}, preset=str(tmp_path / report.PRESET))
    assert spec.hyper["lr"] == preset["lr"]


def test_bad_presets(tmp_path, capsys):
    file = tmp_path / "p.toml"
    told = ["train", "CartPole-v1", "--out", str(tmp_path / "runs"), "--preset", str(file)]
    for content, message in (
        (None, "cannot read the preset"),
        ("lr = 1", "expected sections named after agents"),
        ("[dqn]\nlr = 1", "has nothing for agent 'seeker'; it has dqn"),
        ("[seeker]\nlrr = 1", "unknown hyper-parameter 'lrr'; did you mean lr?"),
        ("[seeker", "cannot read the preset"),
    ):
        if content is not None:
            file.write_text(content)
        assert main(told) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials", "10"], "--trials must be a multiple of --generation 9, got 10; give 18"),
        (["--no-eval"], "--no-eval leaves nothing to tune by"),
        (["--rungs", "0"], "--rungs must be at least 1"),
    ],
)
def test_bad_usage(words, message, tmp_path, capsys):
    assert main(["tune", "CartPole-v1", "--out", str(tmp_path / "t"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


COMMAND = ["FrozenLake-v1", "--timesteps", "400", "--trials", "4", "--generation", "4"]
COMMAND += ["--rungs", "2", "--seeds", "1", "--workers", "1"]


def tune(out: Path, *more: str, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    arguments = [sys.executable, "-m", "isl", "tune", *COMMAND, "--out", str(out), *more]
    with out.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(arguments, stdout=log, stderr=log, env=env)


def finished(out: Path, *more: str, env: dict[str, str] | None = None) -> None:
    assert tune(out, *more, env=env).wait() == 0, out.with_suffix(".log").read_text()


def killed_five_times(out: Path, *more: str, env: dict[str, str] | None = None) -> None:
    """By SIGKILL, when the first, second … of its six runs has begun; then continued."""
    for kill in range(5):
        process = tune(out, *more, env=env)
        while len(list(out.glob("runs/**/config.json"))) < kill + 1:
            assert process.poll() is None, out.with_suffix(".log").read_text()
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    finished(out, *more, env=env)


def assert_the_same(whole: Path, other: Path) -> None:
    """Trial for trial, parameter for parameter, value for value."""
    first, second = (search.Journal(folder / JOURNAL).trials() for folder in (whole, other))
    assert len(first) == 4
    assert first == second
    assert (whole / report.PRESET).read_bytes() == (other / report.PRESET).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted search."""
    out = tmp_path_factory.mktemp("tune") / "whole"
    finished(out)
    return out


@needs_optuna
@pytest.mark.slow
def test_killed_five_times(whole, tmp_path):
    killed_five_times(tmp_path / "killed")
    assert_the_same(whole, tmp_path / "killed")


@needs_optuna
@needs_ray
@pytest.mark.slow
def test_killed_five_times_on_two_ray_nodes(whole, tmp_path):
    """The command is killed, the cluster stays; the trials are those of the local search."""
    killed = tmp_path / "killed"
    with ray_nodes.cluster() as (address, environment, _):
        more = ("--executor", "ray", "--ray-address", address, "--workers", "2")
        killed_five_times(killed, *more, env=environment)
    assert_the_same(whole, killed)
