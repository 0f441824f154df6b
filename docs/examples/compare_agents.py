"""Compare agents on one task: who learns the way to the treasure of Deep Sea 20 in 500 episodes.

    python docs/examples/compare_agents.py

Expected output (seeds 0 to 2; the numbers depend on the version of JAX and on the processor):

    Seeker: greedy returns 0.99, 0.99, 0.99, so 3 of 3 seeds reach the treasure
    DQN: greedy returns 0.00, 0.00, -0.00, so 0 of 3 seeds reach the treasure

With many seeds, sizes or settings take `isl sweep` and `isl report` instead: runs are recorded,
use all cores and can be continued.
"""

from isl import DQN, Seeker
from isl.model.evaluation import evaluate

TASK, STEPS, SEEDS = "deep_sea/20", 10_000, range(3)

for agent in (Seeker, DQN):
    returns = []
    for seed in SEEDS:
        model = agent(TASK, seed=seed).learn(STEPS, progress_bar=False)
        returns.append(evaluate(model, TASK, episodes=1).mean)
    reached = sum(value > 0.5 for value in returns)
    shown = ", ".join(f"{value:.2f}" for value in returns)
    told = f"{reached} of {len(SEEDS)} seeds reach the treasure"
    print(f"{agent.__name__}: greedy returns {shown}, so {told}")
