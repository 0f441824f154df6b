"""How fast runs go here, measured: a few chunks of each configuration in a process of its own.

The process is set up like the workers that runs are computed in, and fills the cache of compiled
programs for them, so that most of the time it takes is saved later.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from isl.errors import UsageError

if TYPE_CHECKING:  # JAX must not be imported before the process is prepared
    from isl.experiments.spec import RunSpec

CHUNKS = 3  # measured, after the warm-up


def seconds_per_step(specs: Sequence[RunSpec]) -> list[float]:
    """Of each configuration on one core of this machine: an environment step and its updates."""
    arguments = [sys.executable, "-P", "-m", "isl.paper.calibration"]
    sent = json.dumps([spec.to_dict() for spec in specs])
    done = subprocess.run(arguments, input=sent, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise UsageError("the speed of such runs could not be measured: see the lines above")
    measured: list[float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _measured(spec: RunSpec, folder: Path) -> float:
    from isl.experiments.running.runner import run_cohort

    rates: list[float] = []  # environment steps per second; the first is the warm-up's

    run_cohort(
        spec,
        [0],
        folder,
        listener=lambda progress: rates.append(progress.steps_per_second),
        should_stop=lambda: len(rates) > CHUNKS,
    )
    return 1 / median(rates[1:] or rates)


def main() -> None:
    from isl.experiments.executing import cores
    from isl.experiments.executing.worker import prepare_process

    prepare_process(cores.freest())
    from isl.experiments.spec import RunSpec

    specs = [RunSpec(**config) for config in json.load(sys.stdin)]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([_measured(spec, Path(folder)) for spec in specs]))


if __name__ == "__main__":
    main()
