"""The sampled tabular learner: public names of `isl.theory.tabular`."""

from isl.theory.tabular import TabularConfig, TabularISL

__all__ = ["TabularConfig", "TabularISL"]
