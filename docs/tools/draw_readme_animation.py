"""Train ISL and DQN on Deep Sea and film where they have been: docs/figures/exploration.gif.

python docs/tools/draw_readme_animation.py        # about two minutes on one core
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import jax
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from isl import agents
from isl.experiments.spec import resolve
from isl.training.compiled import compile_training

SIZE, EPISODES, SEED = 20, 500, 0
FRAMES = 50
MEMORY = 40  # episodes that the trail of recent visits is over
OUT = Path(__file__).parents[1] / "figures" / "exploration.gif"
AGENTS = {"isl": "ISL: information seeking", "dqn": "DQN: ε-greedy"}


def train(agent: str) -> tuple[np.ndarray, np.ndarray]:
    """The cells that each episode went through [episodes, size], and treasures found so far."""
    spec = resolve(f"deep_sea/{SIZE}", agent, {}, episodes=EPISODES)
    env = spec.environment()
    made = agents.load(agent).make(spec.config(), env.observation_space, env.num_actions)
    program = compile_training(env, made)
    state, steps = program.warm_up(program.init([SEED]))[:2]
    cells, goals = [steps.cell[0]], [steps.info["goal"][0]]
    while sum(map(len, cells)) < EPISODES * SIZE:
        state, steps = program.chunk(state)[:2]
        cells.append(steps.cell[0])
        goals.append(steps.info["goal"][0])
    jax.block_until_ready(state)
    paths = np.concatenate(cells)[: EPISODES * SIZE].reshape(EPISODES, SIZE)
    found = np.concatenate(goals)[: EPISODES * SIZE].reshape(EPISODES, SIZE).sum(1).cumsum()
    return paths, found


def visits(paths: np.ndarray) -> np.ndarray:
    return np.bincount(paths.ravel(), minlength=SIZE**2).reshape(SIZE, SIZE)


def draw(runs: dict[str, tuple[np.ndarray, np.ndarray]], episode: int) -> Image.Image:
    """Where the last episodes went (bright) and where any has been (dim)."""
    figure, axes = plt.subplots(1, len(runs), figsize=(6.6, 3.75), facecolor="#0d1117")
    unreachable = np.triu(np.ones((SIZE, SIZE), bool), 1)
    for axis, (agent, (paths, found)) in zip(axes, runs.items(), strict=True):
        ever = np.log1p(visits(paths[:episode]))
        recent = visits(paths[max(0, episode - MEMORY) : episode])
        glow = 0.45 * ever / np.log1p(EPISODES) + 0.55 * np.sqrt(recent / MEMORY)
        glow = np.ma.masked_array(np.where(ever > 0, 0.12 + 0.88 * glow, 0.0), unreachable)
        axis.imshow(glow, cmap="magma", vmin=0, vmax=1)
        caught = found[episode - 1] > 0
        colour = "#ffd33d" if caught else "#57606a"
        axis.scatter(
            SIZE - 1, SIZE - 1, marker="*", s=150, color=colour, edgecolors="white", lw=0.6
        )
        axis.set_title(AGENTS[agent], color="white", fontsize=11)
        treasure = f"{found[episode - 1]} treasures" if caught else "no treasure yet"
        axis.set_xlabel(treasure, color=colour if caught else "#9aa6b8", fontsize=10)
        axis.set(xticks=[], yticks=[])
        axis.set_facecolor("#0d1117")
        for spine in axis.spines.values():
            spine.set_color("#30363d")
    figure.suptitle(f"Deep Sea {SIZE}, episode {episode}", color="white", fontsize=12)
    figure.subplots_adjust(left=0.02, right=0.98, bottom=0.08, top=0.84, wspace=0.04)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100, facecolor=figure.get_facecolor())
    plt.close(figure)
    return Image.open(buffer).convert("RGB").quantize(128, dither=Image.Dither.NONE)


def main() -> int:
    runs = {agent: train(agent) for agent in AGENTS}
    frames = [draw(runs, round(k * EPISODES / FRAMES)) for k in range(1, FRAMES + 1)]
    durations = [110] * (FRAMES - 1) + [2500]
    frames[0].save(OUT, save_all=True, append_images=frames[1:], duration=durations, loop=0)
    for agent, (paths, found) in runs.items():
        deepest = np.flatnonzero(np.diag(visits(paths))).max()
        print(f"{agent}: {found[-1]} treasures, deepest cell of the diagonal: row {deepest}")
    print(f"{OUT}: {OUT.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
