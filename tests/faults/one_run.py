"""One small run with a checkpoint after every chunk: `python -m tests.faults.one_run OUT [STEP]`.

Dies by SIGKILL before the given step of its writes, or prints how many there were.
"""

import contextlib
import sys
from pathlib import Path

from isl.experiments.running.runner import run_cohort
from isl.experiments.spec import resolve
from tests.support.fault_injection import dying_at, recorded_steps


def main(out: Path, deadly: int | None) -> None:
    spec = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=1_000)
    with contextlib.ExitStack() as stack:
        taken = stack.enter_context(recorded_steps())
        if deadly is not None:
            stack.enter_context(dying_at(deadly))
        run_cohort(spec, [0], out, checkpoint_seconds=0.0)
    print(len(taken))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
