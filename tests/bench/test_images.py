"""`isl bench --what images`: who is compared at which size, and the ratios."""

import pytest

from isl.bench import images
from isl.bench.timing import Contestant


def timed(name, seconds):
    return Contestant(name, 1, print, seconds=[seconds])


def test_ratios_are_those_to_our_dqn_and_to_stable_baselines3():
    rows = images.lines(84, [timed("Seeker", 0.02), timed("DQN", 0.01), timed(images.PEER, 0.04)])
    assert rows[0] == "| 84 × 84 | Seeker | 50.0 | 50.0 | 50.0 | 0.50 | 2.00 |"
    assert rows[2].endswith("| 25.0 | 25.0 | 25.0 | 0.25 | 1.00 |")
    alone = images.lines(16, [timed("DQN", 0.01)])
    assert alone == ["| 16 × 16 | DQN | 100.0 | 100.0 | 100.0 | 1.00 | – |"]


@pytest.mark.slow
def test_it_runs(monkeypatch, capsys):
    pytest.importorskip("stable_baselines3", reason="needs the extra `peers`")
    monkeypatch.setattr(images, "SIZES", (36,))
    monkeypatch.setattr(images, "STEPS", {36: 20})
    images.compare(turns=1)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 36")]
    assert [row.split("|")[2].strip() for row in rows] == ["Seeker", "DQN", images.PEER]
