"""A folder of trained models, each with a card: what it is, how well it plays, how it was made.

The models are small enough to be committed: they hold what was learned, without replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from isl.errors import UsageError, closest
from isl.model.classes import Seeker
from isl.model.evaluation import evaluate
from isl.storage import files
from isl.version import __version__

FORMAT = 1
EPISODES = 100  # of an evaluation, seeds 0 to 99
LONGEST = 1_000  # steps of an episode, for environments that do not end it
PAGE = "README.md"


class Piece(NamedTuple):
    """One model of the gallery."""

    env: str
    steps: int
    seed: int = 0


PIECES = {
    "frozen-lake": Piece("FrozenLake-v1", 50_000),
    "taxi": Piece("Taxi-v4", 100_000),
    "deep-sea-20": Piece("deep_sea/20", 20_000),
    "cart-pole": Piece("CartPole-v1", 30_000),
    "mountain-car": Piece("MountainCar-v0", 100_000),
}


def chosen(names: Sequence[str]) -> dict[str, Piece]:
    """The pieces of these names; all of them if there are none."""
    for name in names:
        if name not in PIECES:
            close = closest(name, PIECES)
            hint = f"did you mean {close}?" if close else f"known: {', '.join(PIECES)}"
            raise UsageError(f"the gallery has no {name!r}; {hint}")
    return {name: PIECES[name] for name in names or PIECES}


def make(name: str, piece: Piece, folder: Path, episodes: int = EPISODES) -> dict[str, Any]:
    """Train a model, save it, and write its card; the card."""
    files.make_folder(folder)
    model = Seeker(piece.env, seed=piece.seed)
    model.learn(piece.steps, progress_bar=False, n_eval_episodes=0)
    path = folder / f"{name}.isl"
    model.save(path, replay=False)
    found = evaluate(model, piece.env, episodes, LONGEST)
    low, high = found.interval
    card = {
        "format": FORMAT,
        "name": name,
        "env": piece.env,
        "agent": model.agent_name,
        "steps": model.num_timesteps,
        "seed": piece.seed,
        "return_mean": found.mean,
        "return_low": low,
        "return_high": high,
        "episodes": episodes,
        "bytes": path.stat().st_size,
        "model_sha256": files.sha256_bytes(path.read_bytes()),
        "isl": __version__,
        "command": f"isl gallery {name}",
    }
    files.write_sealed_json(_card_path(folder, name), card)
    return card


def cards(folder: Path) -> list[dict[str, Any]]:
    """The cards of a folder, in the order of the gallery."""
    order = list(PIECES)
    found = [
        files.read_sealed_json(path, FORMAT)
        for path in sorted(folder.glob("*.json"))
        if path.stem in PIECES
    ]
    return sorted(found, key=lambda card: order.index(card["name"]))


def is_made(name: str, piece: Piece, folder: Path) -> bool:
    """Whether the folder has that model, as its card says."""
    card_path, path = _card_path(folder, name), folder / f"{name}.isl"
    if not (card_path.exists() and path.exists()):
        return False
    card = files.read_sealed_json(card_path, FORMAT)
    same = (card["env"], card["seed"]) == (piece.env, piece.seed) and card["steps"] >= piece.steps
    return bool(same) and files.sha256_bytes(path.read_bytes()) == card["model_sha256"]


def wrong(card: dict[str, Any], folder: Path) -> str:
    """Play the model again: "" if the card is true, else what is not."""
    path = folder / f"{card['name']}.isl"
    if not path.exists():
        return f"{path} is missing"
    if files.sha256_bytes(path.read_bytes()) != card["model_sha256"]:
        return f"{path} is not the file that its card describes"
    found = evaluate(Seeker.load(path), card["env"], card["episodes"], LONGEST)
    low, high = found.interval
    if abs(found.mean - card["return_mean"]) <= 1e-6 * max(1.0, abs(found.mean)):
        return ""
    told = f"{found.mean:.6g} [{low:.6g}, {high:.6g}]"
    return f"{path} has a mean return of {told}, its card says {card['return_mean']:.6g}"


def page(found: Sequence[dict[str, Any]]) -> str:
    """The cards of a folder in Markdown."""
    lines = [
        "# Trained models",
        "",
        "Made by `isl gallery`, with Seeker's defaults. Returns are greedy means over fixed",
        "episodes, with the 95 % bootstrap interval. `isl gallery --check` plays them again.",
        "",
        "| model | environment | steps | return [95 %] | episodes | size | made by |",
        "|---|---|---|---|---|---|---|",
    ]
    for card in found:
        interval = f"{card['return_low']:.4g}, {card['return_high']:.4g}"
        lines.append(
            f"| [{card['name']}]({card['name']}.isl) | `{card['env']}` | {card['steps']:,} "
            f"| {card['return_mean']:.4g} [{interval}] | {card['episodes']} "
            f"| {card['bytes'] / 1000:.0f} kB | `{card['command']}` |"
        )
    if found:
        first = found[0]
        lines += [
            "",
            "```python",
            "from isl import Seeker",
            "",
            f'model = Seeker.load("{first["name"]}.isl", env="{first["env"]}")',
            "```",
        ]
    return "\n".join(lines) + "\n"


def _card_path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
