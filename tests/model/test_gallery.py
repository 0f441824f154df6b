"""`isl gallery`: models with cards that are true, and found out if they are not."""

import pytest

from isl.cli.main import main
from isl.model import gallery
from isl.model.gallery import Piece


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(gallery, "PIECES", {"sea": Piece("deep_sea/4", 400)})
    monkeypatch.setattr(gallery, "EPISODES", 3)


@pytest.mark.usefixtures("small")
def test_made_once_and_checked(tmp_path, capsys):
    out = ["--out", str(tmp_path / "g")]
    assert main(["gallery", *out]) == 0
    assert "mean return" in capsys.readouterr().out
    model = (tmp_path / "g" / "sea.isl").read_bytes()
    assert len(model) < 100_000
    assert main(["gallery", *out]) == 0
    assert capsys.readouterr().out == "sea: is there\n"
    text = (tmp_path / "g" / gallery.PAGE).read_text(encoding="utf-8")
    (card,) = gallery.cards(tmp_path / "g")
    for fact in ("deep_sea/4", "isl gallery sea", f"{card['return_mean']:.4g}"):
        assert fact in text
    assert main(["gallery", "--check", *out]) == 0
    assert "1 of 1 models play as their cards say" in capsys.readouterr().out


@pytest.mark.usefixtures("small")
def test_a_wrong_card_is_found_out(tmp_path, capsys):
    folder = tmp_path / "g"
    card = gallery.make("sea", gallery.PIECES["sea"], folder, episodes=2)
    assert gallery.wrong(card, folder) == ""
    assert "its card says" in gallery.wrong({**card, "return_mean": 7.0}, folder)
    (folder / "sea.isl").write_bytes(b"other")
    assert "is not the file" in gallery.wrong(card, folder)
    assert main(["gallery", "--check", "--out", str(folder)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_bad_usage(tmp_path, capsys):
    assert main(["gallery", "taxis", "--out", str(tmp_path)]) == 2
    assert "did you mean taxi?" in capsys.readouterr().err
    assert main(["gallery", "--check", "--out", str(tmp_path)]) == 2
    assert "make them: isl gallery" in capsys.readouterr().err
