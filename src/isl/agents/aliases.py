"""How agents are recorded: the one table between today's names and those of 0.1.

In 0.1 one agent, `isl`, had options that swapped its algorithm; today each variant is an agent of
its own. Run folders, hashes and rows of results keep the old names, so that a run is found again
whichever version made it. Model files of 0.1 use them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isl.errors import UsageError

Hyper = Mapping[str, Any]

# Options of 0.1's `isl` that every record of it holds, at the values that mean the paper.
PAPER = {"ell_ensemble": 1, "double_ell": False, "sound": False}
RECORDED_AS_ISL = ("isl", "isl_tables", "isl_authors")
# What 0.1's preset `auto` switched on; Seeker has all of it and no switch.
SWITCHES = ("scale_rewards", "scale_observations", "ell_relative", "greedy_values")
SEEKER = ("ell_gamma", "ell_features", *SWITCHES)
# Where the options that were `isl`'s are now, for messages.
MOVED = dict.fromkeys(SEEKER, "seeker") | {
    "lr_codes": "isl_tables",
    "ell_ensemble": "isl_authors",
    "double_ell": "isl_authors",
}


def recorded(agent: str, hyper: Hyper) -> tuple[str, dict[str, Any]]:
    """The name and the options under which a run of an agent is recorded."""
    return ("isl", {**PAPER, **hyper}) if agent in RECORDED_AS_ISL else (agent, dict(hyper))


def meant(name: str, hyper: Hyper) -> tuple[str, dict[str, Any]]:
    """The agent and its options that a record means; `hyper` may hold some of them only."""
    if name != "isl":
        return name, dict(hyper)
    rest = {k: v for k, v in hyper.items() if k not in PAPER}
    if hyper.get("sound"):
        raise UsageError(
            "it was made with the option 'sound', which isl 0.2 has in isl.planning and "
            "isl.tabular only: use isl 0.1"
        )
    authors = {k: hyper.get(k, PAPER[k]) for k in ("ell_ensemble", "double_ell")}
    is_authors = authors != {k: PAPER[k] for k in authors}
    if any(rest.get(k) for k in SEEKER):
        missing = [k for k in SWITCHES if not rest.get(k)]
        if missing or is_authors or not rest.get("lr_codes"):
            raise UsageError(
                "it was made with some of the options of the preset 'auto' but not all of them, "
                "which isl 0.2 cannot do: use isl 0.1"
            )
        return "seeker", {k: v for k, v in rest.items() if k not in SWITCHES}
    rest = {k: v for k, v in rest.items() if k not in SEEKER}
    if rest.get("lr_codes"):
        return "isl_tables", rest
    rest.pop("lr_codes", None)
    return ("isl_authors", rest | authors) if is_authors else ("isl", rest)
