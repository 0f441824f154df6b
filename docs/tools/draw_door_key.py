"""Train Seeker on DoorKey and film what it learned: docs/figures/door_key.gif.

    python docs/tools/draw_door_key.py door_key.gif [STEPS]

Every episode has another layout. The first ones are filmed, whether they reach the goal or not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import numpy as np
from PIL import Image

import isl
from isl.model.evaluation import evaluate_compiled

SIZE = 5
FILMED = 4  # episodes
LONGEST = 40  # steps of an episode that are filmed
WIDTH = 300  # pixels
MILLISECONDS = 180  # per step
COLOURS = 32


def main() -> int:
    if len(sys.argv) not in (2, 3) or (not sys.argv[-1].isdigit() and len(sys.argv) == 3):
        print("usage: draw_door_key.py GIF [STEPS]", file=sys.stderr)
        return 2
    target, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 20_000
    model = isl.Seeker(f"door_key/{SIZE}", seed=0).learn(steps, n_eval_episodes=0)
    reached = np.mean(np.array(evaluate_compiled(model, 100).returns) > 0)
    env = gymnasium.make("isl/DoorKey-v0", size=SIZE, render_mode="rgb_array")
    pictures = [picture for seed in range(FILMED) for picture in _episode(env, model, seed)]
    _write(target, pictures)
    print(f"door_key/{SIZE}, {steps:,} steps: {reached:.0%} of 100 episodes reach the goal")
    print(f"filmed: {FILMED} episodes; {target}, {target.stat().st_size:,} bytes")
    return 0


def _episode(env: gymnasium.Env, model: isl.Seeker, seed: int) -> list[Image.Image]:
    obs, _ = env.reset(seed=seed)
    pictures, state, over = [Image.fromarray(env.render())], None, False
    while not over and len(pictures) < LONGEST:
        action, state = model.predict(obs, state=state)
        obs, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
        pictures.append(Image.fromarray(env.render()))
    return pictures + pictures[-1:] * 3  # it rests on the last one


def _write(target: Path, pictures: list[Image.Image]) -> None:
    height = round(WIDTH * pictures[0].height / pictures[0].width)
    small = [picture.resize((WIDTH, height), Image.Resampling.LANCZOS) for picture in pictures]
    palette = small[0].quantize(COLOURS, dither=Image.Dither.NONE)  # one for all: no flicker
    flat = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in small]
    target.parent.mkdir(parents=True, exist_ok=True)
    flat[0].save(
        target, save_all=True, append_images=flat[1:], duration=MILLISECONDS, loop=0, optimize=True
    )


if __name__ == "__main__":
    sys.exit(main())
