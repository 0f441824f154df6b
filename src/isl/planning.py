"""UC value iteration and its parts: public names of `isl.theory.planning`."""

from isl.theory.planning import (
    MDP,
    UCValueIteration,
    deep_sea_mdp,
    ell_backup,
    greedy_policy,
    uc_backup,
    uc_optimal_policy,
    uc_policy_evaluation,
    uc_value_iteration,
    value_iteration,
)

__all__ = [
    "MDP",
    "UCValueIteration",
    "deep_sea_mdp",
    "ell_backup",
    "greedy_policy",
    "uc_backup",
    "uc_optimal_policy",
    "uc_policy_evaluation",
    "uc_value_iteration",
    "value_iteration",
]
