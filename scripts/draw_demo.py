"""Draw what `isl train deep_sea/N --snapshots` did: episodes to solve, and where it has been.

python scripts/draw_demo.py runs/demo        # writes runs/demo/demo.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from isl.storage import run_folder, snapshots, store


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: draw_demo.py FOLDER", file=sys.stderr)
        return 2
    root = Path(sys.argv[1])
    runs = [run for run in store.scan(root) if run.summary and run.task.startswith("deep_sea")]
    if not runs:
        print(f"no finished Deep Sea run in {root}", file=sys.stderr)
        return 1
    size = int(runs[0].task.split("/")[1])
    shown = next((run for run in runs if (run.path / snapshots.FILE).exists()), None)

    figure, axes = plt.subplots(1, 5 if shown else 1, figsize=(17 if shown else 5, 3.6))
    first = np.atleast_1d(axes)[0]
    for run in runs:
        episodes = run_folder.read_episodes(run.path)
        first.step(episodes["episode"], episodes["goal_visits"], label=f"seed {run.seed}")
    first.axhline(10, color="grey", lw=0.8, ls="--")
    first.set(title=f"{runs[0].task}: visits to the goal", xlabel="episode", ylabel="visits")
    first.legend(fontsize=8)
    if shown:
        _maps(figure, axes[1:], shown, size)
    figure.tight_layout()
    figure.savefig(root / "demo.png", dpi=120)
    for run in sorted(runs, key=lambda run: run.seed):
        print(f"seed {run.seed}: solved at episode {run.summary['solved_episode']}")
    print(f"picture: {root / 'demo.png'}")
    print(f"look into it: .venv/bin/isl report {root}")
    return 0


def _maps(figure, axes, run, size: int) -> None:
    maps = snapshots.read(run.path)
    last = -1
    below = np.triu(np.ones((size, size), bool), 1)  # cells that cannot be reached
    frontier = len(maps["episode"]) // 3
    panels = [
        (
            f"visits, seed {run.seed}",
            np.log10(1 + maps["visits"][last]),
            "magma",
            "log₁₀(1 + visits)",
        ),
        (
            f"largest ℓ, episode {maps['episode'][frontier]}",
            maps["ell"][frontier].max(-1),
            "viridis",
            "ℓ",
        ),
        (f"largest ℓ, episode {maps['episode'][last]}", maps["ell"][last].max(-1), "viridis", "ℓ"),
        (f"largest q̂, episode {maps['episode'][last]}", maps["q"][last].max(-1), "cividis", "q̂"),
    ]
    for axis, (title, values, colours, label) in zip(axes, panels, strict=True):
        grid = np.ma.masked_array(values.reshape(size, size), below)
        picture = axis.imshow(grid, cmap=colours)
        axis.set(title=title, xticks=[], yticks=[])
        figure.colorbar(picture, ax=axis, fraction=0.046, label=label)


if __name__ == "__main__":
    sys.exit(main())
