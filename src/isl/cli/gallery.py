"""`isl gallery`: train the models of the gallery, with a card each, or check those of a folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isl.errors import UsageError
from isl.model import gallery
from isl.status import ExitCode
from isl.storage import files


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    known = ", ".join(gallery.PIECES)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {known}")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder of the models")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--again", action="store_true", help="train also what is there already")
    what.add_argument("--check", action="store_true", help="play the models, compare their cards")


def run(options: argparse.Namespace) -> ExitCode:
    pieces, folder = gallery.chosen(options.names), options.out
    if options.check:
        return _check(set(pieces), folder)
    for name, piece in pieces.items():
        if not options.again and gallery.is_made(name, piece, folder):
            print(f"{name}: is there")
            continue
        card = gallery.make(name, piece, folder)
        print(f"{name}: {_told(card)}", flush=True)
        files.write_bytes(folder / gallery.PAGE, gallery.page(gallery.cards(folder)).encode())
    return ExitCode.OK


def _check(names: set[str], folder: Path) -> ExitCode:
    cards = [card for card in gallery.cards(folder) if card["name"] in names]
    if not cards:
        raise UsageError(f"{folder} holds no models of the gallery; make them: isl gallery")
    problems = [problem for card in cards if (problem := gallery.wrong(card, folder))]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(cards) - len(problems)} of {len(cards)} models play as their cards say")
    return ExitCode.FAILED if problems else ExitCode.OK


def _told(card: dict[str, object]) -> str:
    return (
        f"mean return {card['return_mean']:.4g}, 95 % confidence interval "
        f"[{card['return_low']:.4g}, {card['return_high']:.4g}], {card['bytes']:,} bytes"
    )
