"""The cores of this machine, and which of them a worker is pinned to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import psutil

# The modules that workers' processes run.
WORKER = "isl.experiments.executing.worker"
TRIAL_WORKER = "isl.paper.trial_worker"


def available() -> list[int]:
    """The cores that this process may use; none where cores cannot be chosen."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def freest(taken: Sequence[int | None] = ()) -> int | None:
    """The core with the fewest workers: of ours, which have `taken` theirs, then of anybody's.

    Two commands at once would otherwise share the first core, and leave the second to nobody.
    """
    others = _workers()
    return min(available(), key=lambda core: (taken.count(core), others[core]), default=None)


def _workers() -> Counter[int]:
    """How many workers there are on each core, whatever command started them."""
    found: Counter[int] = Counter()
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []  # None where it is not ours to read
        if {WORKER, TRIAL_WORKER} & set(words) and "--core" in words[:-1]:
            core = words[words.index("--core") + 1]
            found[int(core) if core.isdecimal() else -1] += 1
    return found
