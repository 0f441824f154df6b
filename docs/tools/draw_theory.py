"""Draw the figures of docs/theory.md: python docs/tools/draw_theory.py [--out docs/figures].

Each figure is drawn twice, for light and for dark pages.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from isl.report import canvas
from isl.report.palette import COLOURS, ON_DARK
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value
from isl.theory.planning import deep_sea_mdp, uc_policy_evaluation, value_iteration

Q = np.array([1.0, 0.7, 0.0, -0.6, 0.4])
ELL = np.array([0.5, 1.2, 2.4, 4.0, 0.8])
NAMES = "abcde"
GREY = "#8b949e"
# Where the names of the points and of the slopes stand, in points: beside the line, not on it.
NAME_AT = {"a": (-4, 8), "b": (-3, 8), "c": (3, 8), "d": (-12, -4), "e": (7, -5)}
SLOPE_AT = ((-12, 2, "right"), (-14, 11, "right"), (10, 6, "left"), (10, 4, "left"))
Colours = tuple[str, ...]


def draw_mixture(colours: Colours) -> Any:
    """The density of the error of q under three policies over two actions."""
    figure = canvas.figure(6.4, 3.2, layout="constrained")
    axes = figure.subplots()
    ell, error = np.array([1.0, 3.0]), np.linspace(-3.5, 3.5, 1401)
    inside = (np.abs(error)[:, None] <= ell) / (2 * ell)
    for chance, colour in ((0.0, GREY), (0.3, colours[0]), (0.8, colours[1])):
        density = inside @ np.array([chance, 1 - chance])
        label = f"π(certain action) = {chance:g}" + (" (π•)" if chance == 0 else "")
        axes.plot(error, density, color=colour, label=label)
    axes.set(xlabel="error of q", ylabel="density u", xlim=(-3.5, 3.5), ylim=(0, 0.62))
    axes.legend(ncols=3, loc="upper center", fontsize=8, handlelength=1.4)
    return figure


def draw_majorant(colours: Colours) -> Any:
    """Five actions as points, and the majorant over them."""
    figure = canvas.figure(6.4, 3.8, layout="constrained")
    axes = figure.subplots()
    on_top = np.asarray(pareto_optimal(Q, ELL))
    order = np.argsort(ELL[on_top])
    x = np.concatenate([[0.0], ELL[on_top][order]])
    y = np.concatenate([[0.0], (ELL * Q)[on_top][order]])
    axes.plot(x, y, color=colours[0], zorder=1, label="least concave majorant")
    slopes = np.diff(y) / np.diff(x)
    middles = zip((x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, strict=True)
    for slope, middle, (right, up, side) in zip(slopes, middles, SLOPE_AT, strict=True):
        text = f"slope {slope:.2f}".replace("-", "−")
        axes.annotate(text, middle, (right, up), textcoords="offset points", ha=side, fontsize=9)
    kinds = ((on_top, colours[0], "Pareto optimal"), (~on_top, GREY, "dominated"))
    for marked, colour, label in kinds:
        axes.scatter(ELL[marked], (ELL * Q)[marked], color=colour, zorder=2, label=label)
    for name, at in zip(NAMES, zip(ELL, ELL * Q, strict=True), strict=True):
        axes.annotate(name, at, NAME_AT[name], textcoords="offset points", fontweight="bold")
    axes.set(xlabel="ℓ: how uncertain an action is", ylabel="ℓ·q", xlim=(-0.6, 4.4))
    axes.legend(loc="lower left")
    return figure


def draw_policy(colours: Colours) -> Any:
    """Policy and value of the five actions as κ sweeps."""
    figure = canvas.figure(6.4, 4.8, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    kappas = np.logspace(-2, 2, 161)
    policies = np.array([uc_policy(Q, ELL, kappa) for kappa in kappas])
    shades = [colours[k] for k in (0, 1, 2, 5, 4)]
    above.stackplot(kappas, policies.T, colors=shades, alpha=0.85)
    for name, at in {"a": 0.03, "b": 0.25, "c": 1.3, "d": 30.0}.items():
        column = int(np.abs(kappas - at).argmin())
        share = policies[column].cumsum() - policies[column] / 2
        middle = (at, share[NAMES.index(name)])
        above.text(*middle, name, ha="center", va="center", color="white", fontweight="bold")
    above.set(ylabel="chance of each action, π*", ylim=(0, 1))
    below.plot(kappas, [uc_value(Q, ELL, kappa) for kappa in kappas], color=colours[0])
    for value, text, place in (
        (Q.max(), "max q", 30.0),
        (Q[ELL.argmax()], "q of the largest ℓ", 0.011),
    ):
        below.axhline(value, color=GREY, linestyle=":")
        below.annotate(text, (place, value), (0, 4), textcoords="offset points", color=GREY)
    below.set(xscale="log", xlabel="κ: what information is worth", ylabel="value v*")
    below.set(xlim=(kappas[0], kappas[-1]), ylim=(-0.75, 1.25))
    return figure


def draw_bias(colours: Colours) -> Any:
    """How far q* is from q† on Deep Sea 10 while ℓ is unequal, and that it goes with the ratio."""
    figure = canvas.figure(6.4, 3.2, layout="constrained")
    axes = figure.subplots()
    mdp = deep_sea_mdp(10)
    optimum = value_iteration(mdp)
    uneven = np.random.default_rng(0).random(optimum.shape)
    spreads = np.logspace(2, -4, 25)
    for kappa, colour in ((0.1, GREY), (1.0, colours[0]), (10.0, colours[1])):
        bias = [
            np.abs(uc_policy_evaluation(mdp, 1 + spread * uneven, kappa) - optimum).max()
            for spread in spreads
        ]
        axes.loglog(spreads, bias, color=colour, label=f"κ = {kappa:g}")
    axes.set(xlabel="spread of ℓ: ℓ = 1 + spread · U(0, 1)", ylabel="max |q* − q†|")
    axes.legend()
    return figure


DRAWN = {
    "mixture": draw_mixture,
    "majorant": draw_majorant,
    "policy": draw_policy,
    "bias": draw_bias,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        for suffix, style, colours in (
            ("", canvas.ON_LIGHT, COLOURS),
            ("-dark", canvas.ON_DARK, ON_DARK),
        ):
            path = out / f"theory-{name}{suffix}.svg"
            with canvas.drawing(**style | {"text.parse_math": True}):
                path.write_bytes(canvas.saved(draw(colours), "svg"))
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
