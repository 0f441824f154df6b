"""`isl report RUNS --picture FILE`: the picture of `make demo`."""

import pytest

from isl.cli.main import main
from tests.support import made_runs


@pytest.fixture
def runs(tmp_path):
    for seed, solves_at in ((1, None), (0, 41)):
        path = made_runs.make(tmp_path / "runs", "deep_sea/5", "isl", seed, solves_at=solves_at)
    made_runs.add_snapshots(path, 5)
    return tmp_path / "runs"


def test_it_says_when_each_seed_solved_the_task_and_draws(runs, capsys):
    picture = runs / "demo.png"
    assert main(["report", str(runs), "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.splitlines() == [
        "seed 0: solved at episode 50",
        "seed 1: unsolved",
        f"picture: {picture}",
    ]
    drawn = runs / "demo.svg"
    assert main(["report", str(runs), "--picture", str(drawn)]) == 0
    text = drawn.read_text()
    for title in ("ISL on Deep Sea 5", "Seed 0 is unsure at first", "It reaches the treasure"):
        assert f"<!-- {title}" in text
    assert "1 of 2 seeds found the treasure" in text
    assert "episode 250" in text


def test_what_cannot_be_drawn_is_one_line(runs, tmp_path, capsys):
    made_runs.make(tmp_path / "other", "cartpole_swingup/3", "dqn")
    for words in (
        ("report", str(tmp_path / "other"), "--picture", "demo.png"),
        ("report", str(runs), "--picture", "demo.txt"),
        ("report", str(runs), "--picture", "demo.png", "--out", "there"),
    ):
        assert main(list(words)) == 2
        assert capsys.readouterr().err.count("\n") == 1
