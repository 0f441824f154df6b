"""Known MDPs: public names of `isl.theory.mdp`."""

from isl.theory.mdp import MDP, deep_sea_mdp

__all__ = ["MDP", "deep_sea_mdp"]
