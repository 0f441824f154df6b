"""How far values may exceed what the rewards seen make possible, and what to do then.

The measure is the mean value of the best action, by the head that `predict` uses, over the largest
value that the rewards seen allow: the tags `q/greedy` and `q/possible` of the log
(isl.training.watch). This module needs no JAX.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTED = 3.0  # `isl doctor` names it
WARNED = 10.0  # said while it happens: agents that are optimistic by design go beyond 3 for a while
DIVERGED = 100.0  # a run that ends with it has `diverged`

# The rates of values, by the names that the built-in agents have for them.
_RATES = ("lr", "lr_q", "lr_v")


def advice(hyper: Mapping[str, Any]) -> str:
    """What to change when values leave the possible range, by the options that the agent has."""
    if hyper.get("eta2") == 1:
        return "lower eta2: at 1 q follows ρ alone, never its own error δ"
    found = [f"lower {_rates(hyper)}"]
    if hyper.get("gamma") == 1:
        found.insert(0, "set gamma below 1 (without discount values need not be finite)")
    if "target_period" in hyper:
        found.append(f"raise target_period (now {hyper['target_period']})")
    if hyper.get("double_q") is False:
        found.append("set double_q")
    if "ell_gamma" not in hyper:
        found.append("or use the agent seeker")
    return ", ".join(found)


def _rates(hyper: Mapping[str, Any]) -> str:
    known = [name for name in _RATES if name in hyper]
    known = known or [name for name in hyper if name.startswith("lr") and name != "lr_codes"]
    named = " and ".join(f"{name} (now {_told(hyper[name])})" for name in known)
    if not hyper.get("lr_codes"):
        return named or "the learning rate"
    tables = f"on tables lr_codes (now {_told(hyper['lr_codes'])})"
    return f"{named}, {tables}" if named else tables


def _told(rate: float | str) -> str:
    return rate if isinstance(rate, str) else f"{rate:g}"
