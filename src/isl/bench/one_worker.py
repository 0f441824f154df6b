"""A process that trains for some seconds on one core and prints its updates per second."""

from __future__ import annotations

import sys
import time

from isl.experiments.executing.worker import prepare_process


def main() -> None:
    prepare_process(int(sys.argv[1]))
    from isl.bench.ours import training_loop

    loop = training_loop("deep_sea/20", "isl")
    end = time.time() // 5 * 5 + 15  # all processes measure the same seconds
    time.sleep(max(0.0, end - 8 - time.time()))
    updates, start = 0.0, time.perf_counter()
    while time.time() < end:
        loop.run()
        updates += loop.units
    print(updates / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
