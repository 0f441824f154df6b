"""Draw how well an agent tells what it has never tried from what it has tried often.

    python docs/tools/draw_novelty.py docs/figures            # mountain_car, door_key and pixels
    python docs/tools/draw_novelty.py docs/figures pixels     # one of them

Seeker is trained with its defaults. A pair is an observation and an action. For each kind of
observation the script prints two AUCs: how often ℓ of a pair that was never tried is larger than ℓ
of one that was tried at least ten times, and the same of u, the novelty of the pair itself; equal
ones count half. ℓ has a part, h, for what lies ahead: a pair that was tried often may lead to what
is unknown. Pairs that the agent might meet are

    mountain_car   the middles of 40 × 40 cells of position and speed
    door_key       the views of 20,000 random steps in other layouts
    pixels         all 256 pictures
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import mannwhitneyu

import isl
import isl.paper.grids

STEPS, SEED, OFTEN, SIDE = 20_000, 0, 10, 40


class Kind(NamedTuple):
    """A kind of observation."""

    title: str
    env: Callable[[], gymnasium.Env[Any, Any]]
    meets: Callable[[gymnasium.Env[Any, Any]], Any]  # what an agent might see, [N, …]
    place: Callable[[Any], Any]  # observations [N, …] → what visits are counted by, one row each
    observations: str = "auto"  # how they are read; pictures that come back would be a table


def middles(env: gymnasium.Env[Any, Any]) -> Any:
    low, high = env.observation_space.low, env.observation_space.high
    each = [a + (b - a) * (np.arange(SIDE) + 0.5) / SIDE for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*each, indexing="ij"), -1).reshape(-1, 2).astype(np.float32)


def cells(obs: Any) -> Any:
    space = gymnasium.make("MountainCar-v0").observation_space
    share = (obs - space.low) / (space.high - space.low)
    return np.clip(np.floor(share * SIDE), 0, SIDE - 1).astype(int)


def views(env: gymnasium.Env[Any, Any]) -> Any:
    rng, found = np.random.default_rng(1), {}
    obs, _ = env.reset(seed=1)
    for _ in range(20_000):
        found[obs.tobytes()] = obs
        obs, _, terminated, truncated, _ = env.step(rng.integers(env.action_space.n))
        if terminated or truncated:
            obs, _ = env.reset()
    return np.stack(list(found.values()))


def pictures(env: gymnasium.Env[Any, Any]) -> Any:
    grid = env.unwrapped
    found = []
    for place in np.ndindex(grid.size, grid.size):
        grid._at = place
        found.append(grid._seen())
    return np.stack(found)


KINDS = {
    "mountain_car": Kind(
        "MountainCar-v0", lambda: gymnasium.make("MountainCar-v0"), middles, cells
    ),
    "door_key": Kind(
        "DoorKey-5x5",
        lambda: gymnasium.make("isl/DoorKey-v0", size=5),
        views,
        lambda obs: obs.reshape(len(obs), -1),
    ),
    "pixels": Kind(
        "a grid of 16 × 16 pixels",
        lambda: gymnasium.make("isl/Pixels-v0"),
        pictures,
        lambda obs: obs.reshape(len(obs), -1),
        "image",
    ),
}


def tried(kind: Kind, replay: Any, met: Any, num_actions: int) -> Any:
    """How often each action was tried where it is met, [N, A]."""
    counts: dict[bytes, Any] = {}
    held = replay[:]
    for place, action in zip(kind.place(held.obs), held.action, strict=True):
        counts.setdefault(place.tobytes(), np.zeros(num_actions, int))[action] += 1
    nothing = np.zeros(num_actions, int)
    return np.stack([counts.get(place.tobytes(), nothing) for place in kind.place(met)])


def draw(name: str, kind: Kind, folder: Path) -> None:
    model = isl.Seeker(kind.env(), seed=SEED, observations=kind.observations)
    model.learn(STEPS, progress_bar=False)
    env = kind.env()
    met = kind.meets(env)
    counts = tried(kind, model.replay, met, int(env.action_space.n))
    beliefs = model.inspect(met)
    print(
        f"{kind.title}, {STEPS:,} steps, seed {SEED}: {np.sum(counts == 0)} pairs never tried, "
        f"{np.sum(counts >= OFTEN)} tried at least {OFTEN} times"
    )
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for axis, belief, words in (
        (axes[0], beliefs["novelty"], "u, how new the pair is"),
        (axes[1], beliefs["ell"] / beliefs["ell"].max(), "ℓ: with what lies ahead, over its most"),
    ):
        never, often = belief[counts == 0], belief[counts >= OFTEN]
        auc = mannwhitneyu(never, often).statistic / (never.size * often.size)
        print(
            f"  {words[0]}: median {np.median(never):.3g} where never tried, "
            f"{np.median(often):.3g} where tried often; AUC {auc:.3f}"
        )
        for values, label, colour in (
            (never, "never tried", "#d95f02"),
            (often, f"tried at least {OFTEN} times", "#1b9e77"),
        ):
            share = np.full(values.size, 1 / values.size)
            edges = np.linspace(0, 1, 41)
            axis.hist(values, edges, weights=share, alpha=0.6, label=label, color=colour)
        axis.set(title=f"{kind.title}: AUC {auc:.3f}", xlabel=words)
    axes[0].set(ylabel="share of the pairs")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(folder / f"novelty_{name}.svg")


def main() -> int:
    names = sys.argv[2:] or list(KINDS)
    if len(sys.argv) < 2 or not set(names) <= set(KINDS):
        print(f"usage: draw_novelty.py FOLDER [{' | '.join(KINDS)}]", file=sys.stderr)
        return 2
    for name in names:
        draw(name, KINDS[name], Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
