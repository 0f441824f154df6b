"""The policy π* and the value v*: public names of `isl.theory.exploration`."""

from isl.theory.exploration import pareto_optimal, uc_policy, uc_value, uncertainty_kl

__all__ = ["pareto_optimal", "uc_policy", "uc_value", "uncertainty_kl"]
