"""Our BSP beside bsuite's own JAX `boot_dqn`: environment steps per second, and their ratio.

    python -m benchmarks.peers_bsuite --task deep_sea/20 --steps 200

Both run in this process, on one core, in turns: the same ensemble, batch, hidden layers, learning
rate, masks, prior scale, replay capacity and target period, one update per environment step.
Compilation and warm-up are left out. Needs the extras `test` and `peers` (bsuite, dm-haiku, rlax).
"""

from __future__ import annotations

import argparse

from isl.experiments.executing.worker import prepare_process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="deep_sea/20")
    parser.add_argument("--steps", type=int, default=200, help="bsuite's steps per turn; ours: ×10")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    prepare_process(options.core)  # before JAX is imported

    from isl.bench.ours import training_loop
    from isl.bench.peers import bsuite_boot_dqn
    from isl.bench.timing import take_turns

    ours = training_loop(options.task, "boot_dqn", 10 * options.steps, target_period=4)
    theirs = bsuite_boot_dqn(options.task, options.steps)
    take_turns([ours, theirs], options.turns)
    for name, contestant in (("isl boot_dqn", ours), ("bsuite boot_dqn", theirs)):
        best, worst = contestant.spread
        steps = f"{1 / contestant.median:8.1f} env steps/s"
        print(f"{name:16s} {steps}  (lowest {1 / worst:.1f}, highest {1 / best:.1f})")
    print(f"ratio            {theirs.median / ours.median:8.1f}")


if __name__ == "__main__":
    main()
