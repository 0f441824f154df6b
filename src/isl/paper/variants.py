"""Seeker with one component removed: the table behind `isl reproduce seeker_ablation`.

What an option can remove is a `Variant` with `options`. What needs other code is one with `agent`,
the dotted path of a module that offers `Config` and `make` (isl.agents.base); rows and tables name
it by its key all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Variant:
    """An agent that differs from its defaults."""

    about: str  # what is removed, for tables
    options: Mapping[str, Any] = field(default_factory=dict)
    agent: str = ""  # the module of the agent that is trained instead; "": the contestant's own


WHOLE = ""
VARIANTS = {
    WHOLE: Variant("nothing"),
    "no_averaging": Variant("averaged parameters", {"averaging": 1.0}),
    "no_greedy_episodes": Variant(
        "greedy episodes in training, so the policy is the newest one", {"greedy_share": 0.0}
    ),
    "no_practice": Variant("practice, so the others explore", {"practice": 0.0}),
    "no_action_gap": Variant("wider gaps between actions", {"action_gap": 0.0}),
    "no_layer_norm": Variant("normalised layers", agent="isl.paper.without_layer_norm"),
    "moving_targets": Variant("targets that stand still", {"target_period": 1}),
    "no_propagation": Variant("uncertainty of what lies ahead", {"ell_gamma": 1e-6}),
    # κ as small as this leaves π* greedy: what is left of exploration are the first random steps.
    "no_exploration": Variant("the information objective", {"kappa": 1e-6}),
}
