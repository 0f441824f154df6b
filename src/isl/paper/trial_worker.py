"""A process that does one run of a comparison: the run comes in as JSON, its row goes out as such.

Started as `python -m isl.paper.trial_worker --core K`, before JAX is imported, so that the core and
the number of threads are settled. The end of its input is the request to stop, also when whoever
started it was killed: a run that has no row yet is done again from the beginning.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

from isl.errors import UsageError
from isl.experiments.executing.worker import prepare_process


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--core", type=int)
    prepare_process(parser.parse_args().core)
    os.environ.setdefault("MKL_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which tells us
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever an environment or a library prints must not mix with the row
    wanted = json.loads(sys.stdin.readline())
    threading.Thread(target=_leave_at_end_of_input, daemon=True).start()
    json.dump(perform(wanted), out)
    out.flush()
    return 0


def _leave_at_end_of_input() -> None:
    sys.stdin.read()
    os._exit(1)


def perform(wanted: dict[str, Any]) -> dict[str, Any]:
    """Do a run: {"row": …}, or {"failed": a line}."""
    from isl.paper.cases import Bar, Case
    from isl.paper.comparisons import Contestant
    from isl.paper.trials import run_trial

    case = dict(wanted["case"], wrappers=tuple(wanted["case"]["wrappers"]))
    case["bar"] = None if case["bar"] is None else Bar(**case["bar"])
    try:
        row = run_trial(Case(**case), Contestant(*wanted["contestant"]), wanted["seed"])
    except UsageError as error:
        return {"failed": str(error)}
    except Exception as error:  # whatever an environment or another project's agent raises
        traceback.print_exc()
        return {"failed": " ".join(f"{type(error).__name__}: {error}".split())}
    return {"row": row._asdict()}


if __name__ == "__main__":
    sys.exit(main())
