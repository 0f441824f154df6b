"""Learning curves of Cartpole runs, with what the agent believed of two states meanwhile.

    python docs/tools/draw_learning.py collect RUN [RUN …] TABLE.csv    # adds runs to a small table
    python docs/tools/draw_learning.py draw TABLE.csv PICTURE.svg       # needs the table alone

The runs must have been made with --snapshots, as `isl reproduce cartpole_swingup` makes them. Equal
tables give equal pictures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from isl.errors import DamagedFile, UsageError
from isl.report.palette import COLOURS
from isl.storage import files, run_folder, snapshots, store

BELIEFS = {"q": "q̂", "ell": "ℓ"}
STYLES = {"upright": "-", "hanging": ":"}
RUN = ["task", "agent", "seed"]  # the columns that name a run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    ways = parser.add_subparsers(dest="way", required=True)
    collecting = ways.add_parser("collect", help="add runs to a table")
    collecting.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    collecting.add_argument("table", type=Path)
    drawing = ways.add_parser("draw", help="draw a table")
    drawing.add_argument("table", type=Path)
    drawing.add_argument("picture", type=Path)
    options = parser.parse_args()
    try:
        if options.way == "collect":
            collect(options.runs, options.table)
        else:
            draw(pl.read_csv(options.table), options.picture)
    except (UsageError, DamagedFile, OSError, pl.exceptions.PolarsError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def collect(folders: list[Path], target: Path) -> None:
    """Put what is drawn of some runs into a table, in the place of what it had of them."""
    table = pl.concat([_table(folder) for folder in folders])
    if target.is_file():
        before = pl.read_csv(target, schema_overrides=table.schema)
        table = pl.concat([before.join(table, on=RUN, how="anti", maintain_order="left"), table])
    # Within an episode there are several moments, which keep their order.
    table = table.sort([*RUN, "what", "episode"], maintain_order=True)
    files.write_bytes(target, table.write_csv().encode())
    print(f"table: {target}, {table.select(RUN).n_unique()} runs")


def _table(folder: Path) -> pl.DataFrame:
    """A run's returns, and the largest q̂ and ℓ at each landmark: a row per value."""
    run = store.read_run(folder)
    if run.summary is None:
        raise UsageError(f"{folder} is not finished: {run.problem}")
    believed = snapshots.recorded(folder)
    if believed is None or "landmarks" not in believed:
        raise UsageError(f"{folder} holds no {snapshots.PROBES}: make it with --snapshots")
    episodes = run_folder.read_episodes(folder)
    # Rewards are tenths, so a tenth is all there is; float32 shows in the digits behind it.
    curves = {"return": (episodes["episode"].to_numpy(), episodes["return"].round(1).to_numpy())}
    for belief in BELIEFS:
        for place, name in enumerate(believed["landmarks"]):
            if belief in believed:
                largest = believed[belief][:, place].max(-1)
                rounded = np.array([float(f"{value:.5g}") for value in largest])
                curves[f"{belief} {name}"] = (believed["episode"], rounded)
    parts = [
        pl.DataFrame({"what": [what] * len(value), "episode": at, "value": value})
        for what, (at, value) in curves.items()
    ]
    named = [pl.lit(getattr(run, name)).alias(name) for name in RUN]
    return pl.concat(parts).select(*named, "what", "episode", "value")


def draw(table: pl.DataFrame, target: Path) -> None:
    """Returns above, q̂ and ℓ below; prints them in few numbers."""
    matplotlib.rcParams["svg.hashsalt"] = "isl"
    figure, axes = plt.subplots(3, 1, figsize=(7.2, 7.2), sharex=True, layout="constrained")
    runs = table.partition_by(RUN, as_dict=True, maintain_order=True)
    for ((task, agent, seed), rows), colour in zip(runs.items(), COLOURS, strict=False):
        _draw(axes, f"seed {seed}", rows, colour)
        axes[0].set(title=f"{task}, {agent}", ylabel="return")
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


def _draw(axes: Any, name: str, rows: pl.DataFrame, colour: str) -> None:
    curves = {
        what: (own["episode"].to_numpy(), own["value"].to_numpy())
        for (what,), own in rows.partition_by("what", as_dict=True).items()
    }
    episodes, returns = curves["return"]
    axes[0].plot(episodes, returns, ".", ms=2, color=colour, alpha=0.35)
    axes[0].plot(episodes, np.maximum.accumulate(returns), color=colour, label=f"{name}: best")
    hundreds = [returns[start : start + 100] for start in range(0, len(returns), 100)]
    for told, of in (("mean", np.mean), ("best", np.max)):
        numbers = " ".join(f"{of(some):.0f}" for some in hundreds)
        print(f"{name}, {told} return by hundreds of episodes: {numbers}")
    for axis, (belief, symbol) in zip(axes[1:], BELIEFS.items(), strict=True):
        for mark, style in STYLES.items():
            if f"{belief} {mark}" in curves:
                at, value = curves[f"{belief} {mark}"]
                axis.plot(at, value, style, color=colour)
                print(f"{name}, {mark}: {symbol} {value[0]:.3g} → {value[-1]:.3g}")


if __name__ == "__main__":
    sys.exit(main())
