"""`isl bench --what host`: the same settings for everybody, and a row for each."""

import pytest

from isl.bench import host_loop
from isl.bench.timing import Contestant
from isl.cli import bench as cli_bench
from isl.cli.main import main


def timed(name, seconds, cpu_seconds):
    """A contestant that took so long per step in its one turn."""
    return Contestant(name, 1, print, {"compiling": 1.5}, [seconds], [cpu_seconds])


def test_ratios_are_those_to_stable_baselines3():
    ours, theirs = timed("DQN", 1e-4, 1e-4), timed(host_loop.PEER, 1e-3, 8e-4)
    first, second = host_loop.lines("CartPole-v1", 8, [ours, theirs])
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[:4] == ["CartPole-v1", "8", "DQN", "10,000"]
    assert cells[-5:] == ["10,000", "10.0", "8.0", "8", "1.5"]
    assert second.endswith("| 1,250 | 1.0 | 1.0 | – | 1.5 |")


def test_without_the_packages_it_is_said_in_a_line(monkeypatch, capsys):
    monkeypatch.setattr(cli_bench, "find_spec", lambda name: None)
    for what, needed in (("host", "stable_baselines3 and sbx"), ("solve", "stable_baselines3")):
        assert main(["bench", "--what", what]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert f"this needs {needed}: pip install 'isl[peers]'" in told


@pytest.mark.slow
def test_ours_compile_before_their_turns(monkeypatch):
    monkeypatch.setattr(host_loop, "STEPS", 64)
    for width in (1, 8):
        contestant = host_loop.warmed_up("DQN", "CartPole-v1", width)
        assert contestant.facts["compiling"] > 0
        before = host_loop.compiling().seconds
        contestant.run()
        assert host_loop.compiling().seconds == before


@pytest.mark.slow
def test_with_the_real_packages(monkeypatch, capsys):
    for package in ("stable_baselines3", "sbx"):
        pytest.importorskip(package, reason="needs the extra `peers`")
    monkeypatch.setattr(host_loop, "STEPS", 64)
    monkeypatch.setattr(host_loop, "WARM_UP", 10)
    monkeypatch.setattr(host_loop, "ENVIRONMENTS", ("MountainCar-v0",))
    monkeypatch.setattr(host_loop, "WIDTHS", (2,))
    host_loop.compare(turns=1)
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "Car-v0 |" in line]
    assert [row[3].strip() for row in rows] == ["Seeker", "DQN", "SB3 DQN", "SBX DQN"]
    assert all(float(row[4].replace(",", "")) > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["stable_baselines3", "sbx"])
def test_peers_make_an_update_for_every_step_of_each_environment(module, monkeypatch):
    package = pytest.importorskip(module, reason="needs the extra `peers`")
    made = []

    class Remembered(package.DQN):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            made.append(self)

    monkeypatch.setattr(package, "DQN", Remembered)
    host_loop._peer(module)("CartPole-v1", 4)(host_loop.STARTS + 40)
    (model,) = made
    assert model._n_updates == model.num_timesteps - host_loop.STARTS
    assert (model.batch_size, model.buffer_size) == (32, host_loop.CAPACITY)
