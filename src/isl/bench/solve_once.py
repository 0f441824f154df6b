"""A process that lets one agent solve one environment and prints what it took, as JSON."""

from __future__ import annotations

import json
import sys

from isl.experiments.executing.worker import prepare_process


def main() -> None:
    told, name, seed, core = sys.argv[1:]
    prepare_process(int(core))  # before JAX is imported
    from isl.bench import solving

    if solving.WHO[name] is solving.solve_tuned:
        import stable_baselines3  # noqa: F401  (off the clock)
    case = solving.Case(**json.loads(told))
    print(json.dumps(solving.WHO[name](case, int(seed))))


if __name__ == "__main__":
    main()
