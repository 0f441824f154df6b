"""Draw why a Deep Sea run got stuck: where it has been, and how ℓ fell over time.

    python docs/tools/draw_stuck.py runs/deep_sea/50/isl/<hash>/seed-1 picture.png

The run must have been made with --snapshots.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from isl.storage import snapshots


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: draw_stuck.py RUN PICTURE", file=sys.stderr)
        return 2
    maps = snapshots.recorded(Path(sys.argv[1]))
    if maps is None or "visits" not in maps:
        print(f"{sys.argv[1]} has no maps: make it with --snapshots", file=sys.stderr)
        return 2
    episodes = maps["episode"]
    size = int(np.sqrt(maps["visits"].shape[1]))
    unreachable = np.triu(np.ones((size, size), bool), 1)
    times = [int(np.searchsorted(episodes, share * episodes[-1])) for share in (0.05, 0.2, 0.5, 1)]
    times = [min(time, len(episodes) - 1) for time in times]
    figure, axes = plt.subplots(2, len(times), figsize=(3.4 * len(times), 6.4))
    ell = np.log10(maps["ell"].max(-1))
    for column, time in enumerate(times):
        before = maps["visits"][times[column - 1]] if column else 0
        recent = maps["visits"][time] - before
        panels = (
            (f"visits up to episode {episodes[time]}", np.log10(1 + recent), "magma", 0, None),
            (f"log₁₀ ℓ at episode {episodes[time]}", ell[time], "viridis", ell.min(), ell.max()),
        )
        for row, (title, values, colours, low, high) in enumerate(panels):
            grid = np.ma.masked_array(values.reshape(size, size), unreachable)
            picture = axes[row, column].imshow(grid, cmap=colours, vmin=low, vmax=high)
            axes[row, column].set(title=title, xticks=[], yticks=[])
            figure.colorbar(picture, ax=axes[row, column], fraction=0.046)
    figure.suptitle("top: log₁₀(1 + visits since the panel before); bottom: what is left to learn")
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=70)
    root = maps["ell"][:, 0].max(-1)
    print(f"ℓ at the start: {root[0]:.3g} at first, {root[-1]:.3g} at the end")
    deepest = np.flatnonzero(np.diag(maps["visits"][-1].reshape(size, size)))
    print(f"deepest cell reached on the diagonal: row {deepest.max()} of {size - 1}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
