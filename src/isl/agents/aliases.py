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
# The options that 0.1's preset `auto` switched on; Seeker took its place.
AUTO = (
    *("ell_gamma", "ell_features", "scale_rewards"),
    *("scale_observations", "ell_relative", "greedy_values"),
)
# Where the options that were `isl`'s are now, for messages.
MOVED = {
    "ell_gamma": "seeker",
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
    if any(rest.get(k) for k in AUTO):
        raise UsageError(
            "it was made with the preset 'auto' of isl 0.1, which Seeker has replaced: "
            "use isl 0.1, or train a Seeker"
        )
    rest = {k: v for k, v in rest.items() if k not in AUTO}
    if rest.get("lr_codes"):
        return "isl_tables", rest
    rest.pop("lr_codes", None)
    return ("isl_authors", rest | authors) if is_authors else ("isl", rest)
