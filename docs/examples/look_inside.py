"""Look inside an agent: what it believes at the start of Deep Sea 10, before and after training.

    python docs/examples/look_inside.py

Expected output (seed 0; the numbers depend on the version of JAX and on the processor):

    untrained: q [0. 0.]  ell [1. 1.]  policy [0.5 0.5]
    trained: q [ 0.48 -0.  ]  ell [0.01 0.01]  policy [1. 0.]
    with kappa = 100 it would act by [0.58 0.42]
    picture: beliefs.html
"""

import numpy as np

from isl import Seeker
from isl.cli.main import main
from isl.exploration import uc_policy

model = Seeker("deep_sea/10", seed=0)
START = 0  # the cell in the top left corner


def tell(when: str) -> None:
    """Values, uncertainty and policy of both actions, in the environment's rewards."""
    seen = model.inspect(START)
    parts = [f"{name} {np.asarray(seen[name]).round(2)}" for name in ("q", "ell", "policy")]
    print(f"{when}: {'  '.join(parts)}")


tell("untrained")
model.learn(3_000, progress_bar=False)
tell("trained")

beliefs = model.inspect(START)
print(
    "with kappa = 100 it would act by",
    np.array(uc_policy(beliefs["q"], beliefs["ell"], 100)).round(2),
)

model.save("sea.isl")
main(["inspect", "sea.isl", "-o", "beliefs.html"])
