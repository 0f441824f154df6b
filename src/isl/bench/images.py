"""Seeker and DQN on pictures, steps per second, beside Stable-Baselines3's convolutional DQN.

A bright pixel moves over a dark picture (isl.paper.grids). Everybody has a batch of 32, one update
for every step, the same replay capacity and steps before the first update, and torsos of its own:
ours have convolutions of 3 × 3, Stable-Baselines3 has the network of Mnih et al. (2015), which
needs pictures of 36 × 36 at least. Pictures are read as images, though they come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

import gymnasium

from isl import DQN, Seeker
from isl.bench import peers
from isl.bench.compiling import compiling
from isl.bench.host_loop import PEER
from isl.bench.solving import learn_on
from isl.bench.timing import Contestant, take_turns

PICTURES = "isl.paper.grids:isl/Pixels-v0"
SIZES = (16, 84)
STEPS = {16: 800, 84: 100}  # of each contestant, per turn
STARTS, WARM_UP = 150, 50  # the replay has one episode, and an update was compiled
MATCHED: Mapping[str, Any] = {
    "batch_size": 32,
    "replay_capacity": 5_000,
    "learning_starts": STARTS,
    "steps": 1,
    "updates": 1,
}


def compare(turns: int) -> None:
    """Measure and print a Markdown table, the contestants of a size taking turns."""
    compiling()
    print(", ".join(f"{package} {version(package)}" for package in ("stable-baselines3", "jax")))
    print(f"batch 32, one update per step; medians of {turns} turns")
    print("| pixels | agent | steps/s | lowest | highest | × DQN | × SB3 |")
    print("|---|---|--:|--:|--:|--:|--:|", flush=True)
    for size in SIZES:
        contestants = [warmed_up(name, size) for name in MAKERS if name != PEER or size >= 36]
        take_turns(contestants, turns)
        for line in lines(size, contestants):
            print(line, flush=True)


def lines(size: int, contestants: list[Contestant]) -> list[str]:
    """Rows of the table, for contestants that have taken their turns."""
    medians = {each.name: each.median for each in contestants}
    rows = []
    for each in contestants:
        best, worst = each.spread
        rates = [f"{1 / x:,.1f}" for x in (each.median, worst, best)]
        times = [
            f"{medians[name] / each.median:.2f}" if name in medians else "–"
            for name in ("DQN", PEER)
        ]
        rows.append(f"| {' | '.join([f'{size} × {size}', each.name, *rates, *times])} |")
    return rows


def warmed_up(name: str, size: int) -> Contestant:
    """A contestant that has compiled everything it needs."""
    learn = MAKERS[name](gymnasium.make(PICTURES, size=size))
    learn(STARTS + WARM_UP)
    return Contestant(name, STEPS[size], partial(learn, STEPS[size]))


def _ours(kind: Callable[..., Any]) -> Callable[[Any], Callable[[int], Any]]:
    return lambda env: partial(learn_on, kind(env, observations="image", **MATCHED))


def _peer(env: Any) -> Callable[[int], Any]:
    model = peers.sb3_like_dqn(
        "stable_baselines3",
        env,
        policy="CnnPolicy",
        batch_size=MATCHED["batch_size"],
        buffer_size=MATCHED["replay_capacity"],
        learning_starts=STARTS,
        gradient_steps=1,
    )
    return partial(model.learn, reset_num_timesteps=False)


MAKERS: Mapping[str, Callable[[Any], Callable[[int], Any]]] = {
    "Seeker": _ours(Seeker),
    "DQN": _ours(DQN),
    PEER: _peer,
}
