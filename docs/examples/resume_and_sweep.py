"""Stop and continue: a model continues with the same bits, and a sweep does only what is missing.

    python docs/examples/resume_and_sweep.py

Expected output (the lines of the sweeps' own tables are left out):

    continued from the file: equal to the bit
    first sweep: 2 runs
    second sweep: 4 runs, of which 2 were there already
"""

import contextlib
import os

import numpy as np

from isl import Seeker
from isl.cli.main import main
from isl.experiments import load

# A model: 1,000 steps, a file, 1,000 steps more, beside 2,000 steps at once.
model = Seeker("deep_sea/8", seed=0).learn(1_000, progress_bar=False)
model.save("half.isl")
continued = Seeker.load("half.isl", env="deep_sea/8").learn(1_000, progress_bar=False)
whole = (
    Seeker("deep_sea/8", seed=0).learn(1_000, progress_bar=False).learn(1_000, progress_bar=False)
)
cells = range(64)
equal = all(
    np.array_equal(continued.inspect(cell)["q"], whole.inspect(cell)["q"]) for cell in cells
)
print("continued from the file:", "equal to the bit" if equal else "different")


def sweep(seeds: int) -> int:
    """Train with seeds 0, 1, …; the number of finished runs that the folder has then."""
    command = (
        f"sweep deep_sea/6 --agents seeker --seeds {seeds} --episodes 60 --workers 1 --out runs"
    )
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        main(command.split())
    return len(load("runs"))


first = sweep(seeds=2)
print(f"first sweep: {first} runs")
print(f"second sweep: {sweep(seeds=4)} runs, of which {first} were there already")
