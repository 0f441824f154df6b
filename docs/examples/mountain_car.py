"""MountainCar: −1 per step until a car too weak for its hill has swung itself up.

    python docs/examples/mountain_car.py

Expected output (seed 0; the numbers depend on the versions of JAX and of the processor):

    249 episodes of training, the last mean return -136
    greedy return -120, 95 % interval [-135, -105], 20 episodes
"""

import argparse

from isl import ISL
from isl.model.evaluation import evaluate

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--timesteps", type=int, default=40_000)
args = parser.parse_args()

# The paper's settings for Cartpole Swing-up, with biases in the ℓ networks: observations near zero
# would otherwise all look equally uncertain.
model = ISL(
    "MountainCar-v0",
    seed=args.seed,
    kappa=13.0,
    eta1=0.8,
    eta2=0.7,
    lr_q=2e-4,
    lr_rho=5e-6,
    lr_ell=2e-5,
    batch_size=64,
    target_period=4,
    steps=1,
    updates=3,
    ell_bias=True,
)
model.learn(args.timesteps, progress_bar=False)

result = evaluate(model, "MountainCar-v0", episodes=20)
low, high = result.interval
print(
    f"{model.episodes.finished} episodes of training, the last mean return "
    f"{model.episodes.means()[0]:.0f}"
)
print(f"greedy return {result.mean:.0f}, 95 % interval [{low:.0f}, {high:.0f}], 20 episodes")
model.save("mountain_car.isl")
