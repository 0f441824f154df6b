"""The row of a model that was trained on a case and measured (isl.paper.cases)."""

from __future__ import annotations

from typing import Any, NamedTuple


class Trial(NamedTuple):
    """What is known of one training."""

    env: str  # the name of the case
    factor: float  # of all rewards
    agent: str
    preset: str
    variant: str  # of isl.paper.variants
    seed: int
    steps: int
    final_return: float | None  # of greedy episodes after the last step, in the case's measure
    threshold_at: int | None  # steps after which greedy episodes first reached the threshold
    curve: str  # returns at each tenth: greedy, or of training and without the factor
    random_return: float | None  # of as many episodes of uniformly random actions
    value_ratio: float | None  # the largest |value| over the largest discounted return seen
    diverged_at: int | None  # steps after which numbers were no longer finite
    seconds: float | None
    isl: str
    commit: str
    jax: str
    peer: str  # package and version of an agent that is not ours
    cpu: str

    @property
    def key(self) -> tuple[Any, ...]:
        """Which run it is."""
        return self[: self._fields.index("final_return")]

    @property
    def numbers(self) -> tuple[Any, ...]:
        """What the same run must give again."""
        return self[: self._fields.index("seconds")]

    @property
    def points(self) -> list[float]:
        """The curve as numbers."""
        return [float(number) for number in self.curve.split()]

    @property
    def who(self) -> str:
        """`seeker`, or `seeker:no_averaging`."""
        return f"{self.agent}:{self.variant}" if self.variant else self.agent

    def kept(self, random_return: float) -> float | None:
        """(last − random) / (best − random) over the evaluations; None if it never beat random."""
        points = self.points
        if self.final_return is None or not points or max(points) <= random_return:
            return None
        return (points[-1] - random_return) / (max(points) - random_return)

    @property
    def measured(self) -> str:
        """What was measured, in few words."""
        if self.final_return is None:
            return f"curve {self.curve}"
        ratio = "" if self.value_ratio is None else f", values up to {self.value_ratio:.3g} returns"
        return f"return {self.final_return:g} (tenths: {self.curve}{ratio})"

    @property
    def order(self) -> tuple[Any, ...]:
        """How a table is sorted."""
        who = (self.agent, self.preset, self.variant)
        return (self.env, self.factor, *who, self.seed, self.steps, str(self))

    def check(self) -> None:
        """Raise ValueError if no run can have these values."""
        for number in self.curve.split():
            float(number)
        if self.steps < 1:
            raise ValueError(f"expected at least one step, got {self.steps}")

    @staticmethod
    def later() -> frozenset[str]:
        """Columns that earlier files may lack."""
        return frozenset({"variant", "random_return", "value_ratio", "diverged_at", "peer"})
