"""Do rows of the results again, each from its command, and compare every number.

    python scripts/check_rows.py                       # five rows at random of docs/results
    python scripts/check_rows.py --n 3 --seed 1 --table cartpole_swingup
    python scripts/check_rows.py --here                # of those made on this kind of processor
    python scripts/check_rows.py --within 5            # of those that took at most five minutes

Exit code 1 if a row does not hold. Rows made on another processor or with another version of JAX
may differ in the last bits, and then in everything that follows from them.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from pathlib import Path

from isl.cli.main import main as isl
from isl.envs import has_goal
from isl.paper.rows import command_of, made_here, row_of
from isl.paper.table import TABLES, Row, read, read_folder
from isl.storage import store


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--n", type=int, default=5, help="how many rows")
    parser.add_argument("--seed", type=int, default=0, help="of the choice")
    parser.add_argument("--table", choices=TABLES, help="choose from this table alone")
    parser.add_argument(
        "--here", action="store_true", help="only rows of this JAX on this kind of processor"
    )
    parser.add_argument(
        "--within", type=float, default=math.inf, help="only rows that took at most these minutes"
    )
    parser.add_argument("--folder", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    if options.table:
        rows = read(options.folder / f"{options.table}.csv")
    else:
        rows = read_folder(options.folder)
    if options.here:
        rows = made_here(rows)
    rows = [row for row in rows if row.seconds <= 60 * options.within]
    if not rows:
        print(f"no such rows in {options.folder}", file=sys.stderr)
        return 2
    picked = random.Random(options.seed).sample(rows, min(options.n, len(rows)))
    verdicts = [_compare(row) for row in picked]
    print("\n".join(["", *(text for _, text in verdicts)]))
    held = sum(same for same, _ in verdicts)
    print(f"{held} of {len(picked)} rows hold")
    return 0 if held == len(picked) else 1


def _compare(row: Row) -> tuple[bool, str]:
    command = command_of(row)
    with tempfile.TemporaryDirectory() as folder:
        isl([*command, "--workers", "1", "--out", folder])
        runs = [run for run in store.scan(Path(folder)) if run.summary is not None]
        if not runs:
            return False, f"isl {' '.join(command)}: did not finish"
        again = row_of(runs[0])
    pairs = zip(Row._fields, row.numbers, again.numbers, strict=False)
    differ = [f"{name} {new} instead of {old}" for name, old, new in pairs if old != new]
    measured = [f"episodes {row.records}"]
    if row.best_return is not None:
        measured.insert(0, f"best return {row.best_return:.6g}")
    if has_goal(row.task):
        solved = f"solved at {row.solved_episode}" if row.solved_episode else "unsolved"
        measured.insert(0, solved)
    said = f"same ({', '.join(measured)})" if not differ else "; ".join(differ)
    return not differ, f"isl {' '.join(command)}: {said}"


if __name__ == "__main__":
    sys.exit(main())
