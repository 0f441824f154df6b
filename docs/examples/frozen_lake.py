"""FrozenLake 8 × 8, not slippery: one reward, at the far corner.

    python docs/examples/frozen_lake.py

Expected output (seed 0; the numbers depend on the versions of JAX and of the processor):

    1222 episodes of training
    greedy return 1 in 14 steps (the shortest way has 14)
    at the start: q [0.29 0.3  0.31 0.3 ] policy [0. 0. 1. 0.]
"""

import argparse

import gymnasium

from isl import ISL
from isl.callbacks import EvalCallback
from isl.model.evaluation import evaluate

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--timesteps", type=int, default=30_000)
args = parser.parse_args()

env = gymnasium.make("FrozenLake8x8-v1", is_slippery=False)
model = ISL(env, seed=args.seed, kappa=0.5, gamma=0.95, lr_q=5e-4, ell_max=10.0)
# ISL goes on exploring what it is unsure of, so the best greedy policy on the way is kept.
watch = EvalCallback(
    gymnasium.make(env.spec), eval_freq=1_000, n_eval_episodes=1, best_model_save_path="lake"
)
model.learn(args.timesteps, callback=watch, progress_bar=False)

best = ISL.load("lake/best_model.isl", env=env)
result = evaluate(best, env, episodes=1)  # nothing is random: one episode says it all
print(f"{model.episodes.finished} episodes of training")
print(f"greedy return {result.mean:.0f} in {result.lengths[0]} steps (the shortest way has 14)")
beliefs = best.inspect(0)
print("at the start: q", beliefs["q"].round(2), "policy", beliefs["policy"].round(2))
