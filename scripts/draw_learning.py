"""Learning curves of Cartpole runs, with what the agent believed of the upright state meanwhile.

    python scripts/draw_learning.py RUN [RUN …] picture.svg

The runs must have been made with --snapshots, as `isl reproduce cartpole_swingup` makes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from isl.experiments import beliefs, store

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # Okabe and Ito's
BELIEFS = {"q": "q̂", "ell": "ℓ"}
STYLES = {"upright": "-", "hanging": ":"}


def main() -> int:
    if len(sys.argv) < 3:
        print("usage: draw_learning.py RUN [RUN …] PICTURE", file=sys.stderr)
        return 2
    *folders, target = map(Path, sys.argv[1:])
    runs = [store.read_run(folder) for folder in folders]
    if wrong := [run for run in runs if run.summary is None]:
        print(f"{wrong[0].path} is not finished: {wrong[0].problem}", file=sys.stderr)
        return 2
    if missing := [run.path for run in runs if not (run.path / beliefs.FILE).is_file()]:
        print(f"{missing[0]} holds no {beliefs.FILE}: make it with --snapshots", file=sys.stderr)
        return 2
    matplotlib.rcParams["svg.hashsalt"] = "isl"
    figure, axes = plt.subplots(3, 1, figsize=(7.2, 7.2), sharex=True, layout="constrained")
    for run, colour in zip(runs, COLOURS, strict=False):
        _draw(axes, run, colour)
    axes[0].set(title=f"{runs[0].task}, {runs[0].agent}", ylabel="return")
    axes[1].set_ylabel("largest q̂")
    axes[2].set(ylabel="largest ℓ", xlabel="episode", yscale="log")
    for ticks in (axes[2].yaxis.set_major_formatter, axes[2].yaxis.set_minor_formatter):
        ticks("{x:g}")
    axes[0].legend(frameon=False, fontsize=8)
    for name, style in STYLES.items():
        axes[1].plot([], [], style, color="black", label=f"pole {name}, at rest")
    axes[1].legend(frameon=False, fontsize=8)
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.savefig(target, dpi=130, metadata={"Date": None} if target.suffix == ".svg" else None)
    print(f"picture: {target}")
    return 0


def _draw(axes: np.ndarray, run: store.Run, colour: str) -> None:
    episodes = store.read_episodes(run.path)
    returns = episodes["return"].to_numpy()
    axes[0].plot(episodes["episode"], returns, ".", ms=2, color=colour, alpha=0.35)
    best = np.maximum.accumulate(returns)
    axes[0].plot(episodes["episode"], best, color=colour, label=f"seed {run.seed}: best so far")
    hundreds = [returns[start : start + 100] for start in range(0, len(returns), 100)]
    for name, of in (("mean", np.mean), ("best", np.max)):
        told = " ".join(f"{of(some):.0f}" for some in hundreds)
        print(f"seed {run.seed}, {name} return by hundreds of episodes: {told}")
    names, believed = beliefs.read(run.path)
    for place, name in enumerate(names):
        for axis, (belief, symbol) in zip(axes[1:], BELIEFS.items(), strict=True):
            if belief in believed:
                largest = believed[belief][:, place].max(-1)
                axis.plot(believed["episode"], largest, STYLES[name], color=colour)
                print(f"seed {run.seed}, {name}: {symbol} {largest[0]:.3g} → {largest[-1]:.3g}")


if __name__ == "__main__":
    sys.exit(main())
