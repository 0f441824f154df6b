"""Wrote the model file of format 1 that the tests keep: python -m tests.faults.make_model_fixture.

Its networks have a layout of today. What format 1 promises is read without them (test_formats.py).
"""

from pathlib import Path

import isl
from isl import DQN

PATH = Path(__file__).parents[1] / "fixtures" / "format-1" / "model.isl"

if __name__ == "__main__":
    model = DQN("deep_sea/3", seed=1, hidden=(2,), batch_size=4, learning_starts=8)
    model.learn(30, progress_bar=False, n_eval_episodes=0)
    model.save(PATH, replay=False)
    print(PATH, PATH.stat().st_size, "bytes, isl", isl.__version__)
