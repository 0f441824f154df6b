"""A process that makes a model, trains it for its first steps and prints the CPU seconds it took.

Everything counts, from the start of Python on: this is what a user waits for.
"""

from __future__ import annotations

import os
import sys
import time

from isl.bench.startup import ENVIRONMENT, PEER, STEPS


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[2])})
    if sys.argv[1] == PEER:
        from stable_baselines3 import DQN

        DQN("MlpPolicy", ENVIRONMENT).learn(STEPS)
    else:
        import isl

        model = getattr(isl, sys.argv[1])(ENVIRONMENT)
        model.learn(STEPS, progress_bar=False, n_eval_episodes=0)  # the peer has no evaluations
    print(time.process_time())


if __name__ == "__main__":
    main()
