"""Runs the contestants in turns and says how they compare: a table, a JSON file and a plot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from isl.agents import AGENTS
from isl.bench import ours, peers
from isl.bench.limit import products
from isl.bench.timing import Contestant, take_turns
from isl.storage import files
from isl.storage.provenance import provenance

TASKS = ("deep_sea/10", "deep_sea/20", "deep_sea/50", "cartpole_swingup/10")
PEER_TASKS = ("deep_sea/20", "cartpole_swingup/10")
SIZES = (10, 20, 30, 50, 70, 100)
BATCHES = (32, 64, 128, 256, 512, 1024)
COHORTS = (1, 2, 4, 8)


def bench(out: Path, turns: int, *, peers: bool, scaling: bool) -> None:
    """Measure, print and write `bench.json` and `bench.png` to `out`."""
    console = Console(width=110)
    files.make_folder(out)
    result: dict[str, Any] = {"provenance": provenance(), "turns": turns}
    result["limit"] = _limit(console, turns)
    result["agents"] = _agents(console, turns)
    if peers:
        result["peers"] = _peers(console, turns)
    if scaling:
        result["scaling"] = _scaling(console, turns)
        result["workers"] = _workers(console)
    files.write_json(out / "bench.json", result)
    console.print(f"written: {out / 'bench.json'}")
    if scaling:
        _plot(console, out, result)


def _limit(console: Console, turns: int) -> dict[str, Any]:
    """ISL's update beside the products and the Adam pass that it cannot do without."""
    shapes = ((256, 50, 50), (50, 50, 256))  # rows by kernel, kernel by columns
    cores = [products("×".join(map(str, shape)), [shape] * 16, 200) for shape in shapes]
    rows: dict[str, Any] = {}
    groups = {}
    for task in TASKS:
        groups[task] = (
            ours.isl_update(task),
            ours.training_loop(task, "isl"),
            *ours.isl_limit(task),
        )
    take_turns([*cores, *(c for group in groups.values() for c in group)], turns)
    table = Table(title="ISL's update beside the machine's limit (µs, median over turns)")
    for column in (
        "task",
        "update",
        "loop",
        "products",
        "Adam",
        "limit",
        "update/limit",
        "loop/limit",
    ):
        table.add_column(column, justify="left" if column == "task" else "right")
    for column in ("GFLOP/s", "GB/s"):
        table.add_column(column, justify="right")
    for task, (update, loop, matrix, adam) in groups.items():
        limit = matrix.median + adam.median
        rows[task] = {
            "update": _seconds(update),
            "loop": _seconds(loop),
            "products": _seconds(matrix),
            "adam": _seconds(adam),
            "update_over_limit": update.median / limit,
            "loop_over_limit": loop.median / limit,
            "gflops": matrix.facts["flops"] / matrix.median / 1e9,
            "gbytes": adam.facts["bytes"] / adam.median / 1e9,
        }
        micro = [
            f"{x * 1e6:.0f}"
            for x in (update.median, loop.median, matrix.median, adam.median, limit)
        ]
        ratios = [f"{update.median / limit:.2f}", f"{loop.median / limit:.2f}"]
        rates = [f"{rows[task]['gflops']:.0f}", f"{rows[task]['gbytes']:.0f}"]
        table.add_row(task, *micro, *ratios, *rates)
    console.print(table)
    for core in cores:
        reached = [core.facts["flops"] / t / 1e9 for t in (core.median, core.spread[0])]
        rows[f"gflops {core.name}"] = reached
        console.print(f"{core.name} alone: {reached[0]:.0f} GFLOP/s, at best {reached[1]:.0f}")
    return rows


def _agents(console: Console, turns: int) -> dict[str, Any]:
    loops = [ours.training_loop(task, name) for task in TASKS for name in AGENTS]
    take_turns(loops, turns)
    return _speed_table(console, "our agents: the whole loop", loops)


def _peers(console: Console, turns: int) -> dict[str, Any]:
    """Ours and theirs in turns, at one update per environment step but for ISL's presets."""
    rows: dict[str, Any] = {}
    for task in PEER_TASKS:
        own = [
            ours.training_loop(task, "isl"),
            ours.training_loop(task, "boot_dqn", target_period=4),
            ours.training_loop(task, "dqn", target_period=4),
        ]
        found, missing = peers.available(task, steps=60)
        take_turns([*own, *found], turns)
        rows |= _speed_table(console, f"{task}: beside peers", [*own, *found])
        rates = {c.name.rpartition(" ")[0]: c.facts["steps"] / c.median for c in [*own, *found]}
        for mine, theirs in (
            ("isl", "bsuite boot_dqn"),
            ("boot_dqn", "bsuite boot_dqn"),
            ("dqn", "bsuite dqn"),
            ("dqn", "SB3 dqn"),
            ("dqn", "SBX dqn"),
            ("dqn", "rejax dqn"),
        ):
            if theirs in rates:
                ratio = rates[mine] / rates[theirs]
                rows[f"{task}: {mine} over {theirs}"] = ratio
                console.print(f"{task}: our {mine} makes {ratio:.1f}× the env steps/s of {theirs}")
        for name, reason in missing.items():
            rows[f"missing: {name}"] = reason
            console.print(f"not measured: {name}: {reason}")
    return rows


def _scaling(console: Console, turns: int) -> dict[str, Any]:
    """Time per ISL update against size, batch and seeds per program."""
    sizes = {n: ours.training_loop(f"deep_sea/{n}", "isl", updates=200) for n in SIZES}
    batches = {b: ours.training_loop("deep_sea/20", "isl", 200, batch_size=b) for b in BATCHES}
    cohorts = {w: ours.training_loop("deep_sea/20", "isl", 200, seeds=w) for w in COHORTS}
    everyone = [*sizes.values(), *batches.values(), *cohorts.values()]
    take_turns(everyone, turns)
    result = {}
    for name, series in (("size", sizes), ("batch", batches), ("seeds per program", cohorts)):
        table = Table(title=f"ISL on Deep Sea, time per update and seed against {name}")
        table.add_column(name, justify="right")
        table.add_column("µs", justify="right")
        table.add_column("relative to the first", justify="right")
        first = next(iter(series.values())).median
        for value, contestant in series.items():
            micro = contestant.median * 1e6
            table.add_row(str(value), f"{micro:.0f}", f"{contestant.median / first:.2f}")
        console.print(table)
        result[name] = {str(value): _seconds(c) for value, c in series.items()}
    return result


def _workers(console: Console) -> dict[str, float]:
    """Runs per minute of one and two worker processes, and of two on one core."""
    import os

    cores = sorted(os.sched_getaffinity(os.getppid())) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        console.print("not measured: two workers on two cores (this machine shows one core)")
        return {}
    layouts = {"one": cores[:1], "two on two cores": cores[:2], "two on one core": cores[:1] * 2}
    rates = {}
    for name, places in layouts.items():
        command = [sys.executable, "-P", "-m", "isl.bench.one_worker"]
        processes = [
            subprocess.Popen([*command, str(core)], stdout=subprocess.PIPE) for core in places
        ]
        rates[name] = sum(float(p.communicate()[0].split()[-1]) for p in processes)
    for name, rate in rates.items():
        console.print(f"workers, {name}: {rate:,.0f} updates/s, {rate / rates['one']:.2f}× one")
    return rates


def _speed_table(console: Console, title: str, contestants: list[Contestant]) -> dict[str, Any]:
    table = Table(title=title)
    table.add_column("who")
    for column in ("env steps/s", "slowest turn", "fastest turn", "updates/s"):
        table.add_column(column, justify="right")
    rows: dict[str, Any] = {}
    for contestant in contestants:
        steps = contestant.facts["steps"]
        best, worst = contestant.spread
        rate = steps / contestant.median
        rows[contestant.name] = {"env_steps_per_second": rate, **_seconds(contestant)}
        cells = [f"{x:,.0f}" for x in (rate, steps / worst, steps / best, 1 / contestant.median)]
        table.add_row(contestant.name, *cells)
    console.print(table)
    return rows


def _seconds(contestant: Contestant) -> dict[str, float]:
    best, worst = contestant.spread
    return {"median_seconds": contestant.median, "min_seconds": best, "max_seconds": worst}


def _plot(console: Console, out: Path, result: dict[str, Any]) -> None:
    try:
        import matplotlib
    except ModuleNotFoundError:
        console.print("no plot: matplotlib is missing (pip install 'isl[report]')")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    series = result["scaling"]
    figure, axes = plt.subplots(1, len(series), figsize=(4 * len(series), 3.2))
    for axis, (name, values) in zip(axes, series.items(), strict=True):
        x = [int(value) for value in values]
        y, low, high = (
            [1e6 * v[f"{kind}_seconds"] for v in values.values()]
            for kind in ("median", "min", "max")
        )
        axis.plot(x, y, "o-")
        axis.fill_between(x, low, high, alpha=0.2)
        axis.set(xlabel=name, ylabel="µs per update", ylim=(0, None))
    figure.tight_layout()
    figure.savefig(out / "bench.png", dpi=120)
    figure.savefig(out / "bench.svg")
    plt.close(figure)
    console.print(f"written: {out / 'bench.png'}")
