"""How the episodes to solve a task grow with its size, runs that never solved it included.

Accelerated failure times with log-normal spread: log T = a + b·log N + σ·ε, ε ~ N(0, 1). The
exponent is b: 1 is linear. A run that ended unsolved at episode c says T > c and no more; leaving
it out, or taking c for T, would make the hard sizes look easy. Maximum likelihood in Olsen's (1978)
parameters, 1/σ and the coefficients over σ, in which the likelihood is concave: one optimum.

The interval is the profile likelihood's: all b that the data do not reject. Its threshold is the
one that makes it exact, Student's t interval, for runs that all solved the task; with censored
runs the degrees of freedom are those of the solved ones. No resampling: with three seeds per size
there are too few runs to resample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

LEVEL = 0.95
WIDEST = 50.0  # an exponent further from the estimate than this is reported as infinite

Floats = NDArray[np.float64]


class Exponent(NamedTuple):
    """b of episodes ∝ N^b, its interval, and what it rests on."""

    b: float
    low: float
    high: float
    log_a: float  # a: the fit's median at size 1
    solved: int
    censored: int

    def episodes(self, size: float) -> float:
        """The median number of episodes that the fit gives for a size."""
        return math.exp(self.log_a + self.b * math.log(size))


def fit(
    sizes: Sequence[float], episodes: Sequence[float], solved: Sequence[bool]
) -> Exponent | None:
    """The exponent of runs that took `episodes` episodes, or more if they are unsolved.

    None if nothing can be said: under three solved runs, or all of one size.
    """
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(episodes, float))
    seen = np.asarray(solved, bool)
    freedom = int(seen.sum()) - 2
    if freedom < 1 or len(np.unique(x[seen])) < 2:
        return None
    middle = float(x.mean())  # centred, the two coefficients hardly depend on each other
    (level, b), best = _maximum(y, np.stack([np.ones_like(x), x - middle]), seen)

    # Uncensored, 2·(best − profile) = n·log(1 + t²/(n − 2)).
    t = float(stats.t.ppf(0.5 + LEVEL / 2, freedom))
    allowed = 0.5 * (freedom + 2) * math.log1p(t * t / freedom)

    def excess(candidate: float) -> float:
        _, profile = _maximum(y - candidate * (x - middle), np.ones((1, len(x))), seen)
        return best - profile - allowed

    low, high = (_crossing(excess, b, step) for step in (-1.0, 1.0))
    counts = int(seen.sum()), int((~seen).sum())
    return Exponent(float(b), low, high, float(level - b * middle), *counts)


def _maximum(y: Floats, design: Floats, seen: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Coefficients [k] of the censored regression of y on design [k, n], and the log-likelihood."""

    def cost(parameters: Floats) -> tuple[float, Floats]:
        scale, gamma = math.exp(parameters[0]), parameters[1:]  # 1/σ, β/σ
        z = scale * y - gamma @ design
        log_tail = stats.norm.logsf(z)
        value = np.where(seen, parameters[0] + stats.norm.logpdf(z), log_tail)
        hazard = np.exp(stats.norm.logpdf(z) - log_tail)
        slope = np.where(seen, -z, -hazard)  # of the log-likelihood, by z
        by_scale = float(np.sum(slope * scale * y + seen))
        return -float(value.sum()), -np.concatenate([[by_scale], -(design @ slope)])

    start, *_ = np.linalg.lstsq(design.T, y, rcond=None)
    spread = max(float(np.std(y - start @ design)), 1e-3)
    guess = np.concatenate([[-math.log(spread)], start / spread])
    found = optimize.minimize(cost, guess, jac=True, method="BFGS", options={"gtol": 1e-6})
    return found.x[1:] / math.exp(found.x[0]), -float(found.fun)


def _crossing(excess: Callable[[float], float], start: float, step: float) -> float:
    """Where the profile likelihood falls below what is allowed, going from its top."""
    end = start + step
    while excess(end) < 0:
        step *= 2
        end = start + step
        if abs(step) > WIDEST:
            return math.copysign(math.inf, step)
    return float(optimize.brentq(excess, start, end, xtol=1e-4))
