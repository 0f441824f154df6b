"""FrozenLake 8 × 8, not slippery: one reward, at the far corner.

    python docs/examples/frozen_lake.py

Expected output (seed 0; the numbers depend on the version of JAX and on the processor):

    1104 episodes of training
    greedy return 1 in 14 steps (the shortest way has 14)
    at the start: values [0.32 0.36 0.37 0.32] policy [0.   0.47 0.53 0.  ]
"""

import argparse

import gymnasium

from isl import Seeker
from isl.callbacks import EvalCallback
from isl.model.evaluation import evaluate

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--timesteps", type=int, default=30_000)
args = parser.parse_args()

env = gymnasium.make("FrozenLake8x8-v1", is_slippery=False)
model = Seeker(env, seed=args.seed)
# The greedy policy may get worse again during training, so the best one is kept.
watch = EvalCallback(
    gymnasium.make(env.spec), eval_freq=1_000, n_eval_episodes=1, best_model_save_path="lake"
)
model.learn(args.timesteps, callback=watch, progress_bar=False)

best = Seeker.load("lake/best_model.isl", env=env)
result = evaluate(best, env, episodes=1)  # neither agent nor environment is random
print(f"{model.episodes.finished} episodes of training")
print(f"greedy return {result.mean:.0f} in {result.lengths[0]} steps (the shortest way has 14)")
beliefs = best.inspect(0)
print("at the start: values", beliefs["greedy"].round(2), "policy", beliefs["policy"].round(2))
