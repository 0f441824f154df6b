"""Film the best swing-up of a finished Cartpole run as a GIF.

    python docs/tools/draw_swingup.py runs/cartpole_swingup/0/isl/<hash>/seed-0 swingup.gif

The agent as it was at the end of training plays twenty episodes without exploring; the one with the
highest return is filmed, in real time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
from PIL import Image

import isl  # noqa: F401  (registers the environment)
from isl.errors import UsageError
from isl.experiments.running.prepared import final_learner
from isl.storage import store

EPISODES = 20
EVERY = 5  # steps of 0.01 s per picture
WIDTH = 420  # pixels
COLOURS = 48

Play = Callable[[np.ndarray], int]


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: draw_swingup.py RUN GIF", file=sys.stderr)
        return 2
    path, target = map(Path, sys.argv[1:])
    run = store.read_run(path)
    family, _, difficulty = run.task.partition("/")
    if run.summary is None or family != "cartpole_swingup":
        print(f"{path} is no finished run of cartpole_swingup: {run.problem}", file=sys.stderr)
        return 2
    prepared, learner = final_learner(path)
    exploit = jax.jit(prepared.agent.exploit)

    def play(observation: np.ndarray) -> int:
        return int(exploit(learner, observation))

    env = gymnasium.make(
        "isl/CartpoleSwingup-v0", difficulty=int(difficulty), render_mode="rgb_array"
    )
    returns = [_episode(env, play, seed)[0] for seed in range(EPISODES)]
    best = int(np.argmax(returns))
    _, pictures = _episode(env, play, best, filmed=True)
    _write(target, pictures)
    middle = float(np.median(returns))
    print(
        f"{run.task} {run.agent} seed {run.seed}: {EPISODES} episodes, median return {middle:.1f}"
    )
    print(f"filmed: the best, return {max(returns):.1f}; {target}, {target.stat().st_size:,} bytes")
    return 0


def _episode(
    env: gymnasium.Env[Any, Any], play: Play, seed: int, filmed: bool = False
) -> tuple[float, list[Image.Image]]:
    observation, _ = env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    pictures = []
    while not over:
        observation, reward, terminated, truncated, _ = env.step(play(observation))
        total, steps, over = total + float(reward), steps + 1, terminated or truncated
        if filmed and (steps % EVERY == 0 or over):
            pictures.append(Image.fromarray(env.render()))
    return total, pictures


def _write(target: Path, pictures: list[Image.Image]) -> None:
    height = round(WIDTH * pictures[0].height / pictures[0].width)
    small = [picture.resize((WIDTH, height), Image.Resampling.LANCZOS) for picture in pictures]
    # One palette for all, of the picture in the middle: colours do not flicker, and it packs well.
    palette = small[len(small) // 2].quantize(COLOURS, dither=Image.Dither.NONE)
    flat = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in small]
    target.parent.mkdir(parents=True, exist_ok=True)
    flat[0].save(
        target, save_all=True, append_images=flat[1:], duration=10 * EVERY, loop=0, optimize=True
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        sys.exit(str(error))
