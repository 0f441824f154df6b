"""MountainCar: −1 per step until a car that is too weak for its hill has swung itself up.

    python docs/examples/mountain_car.py

Expected output (seed 0; the numbers depend on the version of JAX and on the processor):

    549 episodes of training, the last mean return -171
    greedy return -101, 95 % interval [-104, -98], 20 episodes
"""

import argparse

from isl import Seeker
from isl.model.evaluation import evaluate

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--timesteps", type=int, default=100_000)
args = parser.parse_args()

model = Seeker("MountainCar-v0", seed=args.seed)
model.learn(args.timesteps, progress_bar=False)

result = evaluate(model, "MountainCar-v0", episodes=20)
low, high = result.interval
print(
    f"{model.episodes.finished} episodes of training, the last mean return "
    f"{model.episodes.means()[0]:.0f}"
)
print(f"greedy return {result.mean:.0f}, 95 % interval [{low:.0f}, {high:.0f}], 20 episodes")
model.save("mountain_car.isl")
