"""Draw the figures of docs/theory.md: python docs/tools/draw_theory.py [--out docs/figures]."""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from isl.theory.exploration import pareto_optimal, uc_policy, uc_value
from isl.theory.planning import deep_sea_mdp, uc_policy_evaluation, value_iteration

Q = np.array([1.0, 0.7, 0.0, -0.6, 0.4])
ELL = np.array([0.5, 1.2, 2.4, 4.0, 0.8])
NAMES = "abcde"
BLUE, ORANGE, GREY = "#2a6fbb", "#d9822b", "#9a9a9a"


def draw_mixture() -> plt.Figure:
    """The density of the error of q under three policies over two actions."""
    figure, axes = plt.subplots(figsize=(6, 3))
    ell, error = np.array([1.0, 3.0]), np.linspace(-3.5, 3.5, 1401)
    inside = (np.abs(error)[:, None] <= ell) / (2 * ell)
    for chance, colour in ((0.0, GREY), (0.3, BLUE), (0.8, ORANGE)):
        density = inside @ np.array([chance, 1 - chance])
        label = f"π(certain action) = {chance:g}" + (" : π•" if chance == 0 else "")
        axes.plot(error, density, color=colour, label=label)
    axes.set_xlabel("error of q")
    axes.set_ylabel("density u")
    axes.legend(frameon=False)
    return figure


def draw_majorant() -> plt.Figure:
    """Five actions as points, and the majorant over them."""
    figure, axes = plt.subplots(figsize=(6, 3.6))
    on_top = np.asarray(pareto_optimal(Q, ELL))
    order = np.argsort(ELL[on_top])
    x = np.concatenate([[0.0], ELL[on_top][order]])
    y = np.concatenate([[0.0], (ELL * Q)[on_top][order]])
    axes.plot(x, y, color=BLUE, zorder=1, label="least concave majorant")
    for slope, middle_x, middle_y in zip(
        np.diff(y) / np.diff(x), (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, strict=True
    ):
        axes.annotate(f"s = {slope:.2f}", (middle_x, middle_y), (6, 6), textcoords="offset points")
    for marked, colour, label in ((on_top, BLUE, "Pareto optimal"), (~on_top, GREY, "dominated")):
        axes.scatter(ELL[marked], (ELL * Q)[marked], color=colour, zorder=2, label=label)
    for name, at_x, at_y in zip(NAMES, ELL, ELL * Q, strict=True):
        axes.annotate(name, (at_x, at_y), (-3, -14), textcoords="offset points")
    axes.set_xlabel("ℓ")
    axes.set_ylabel("ℓ·q")
    axes.legend(frameon=False)
    return figure


def draw_policy() -> plt.Figure:
    """Policy and value of the five actions as κ sweeps."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(6, 5), sharex=True)
    kappas = np.logspace(-2, 2, 161)
    policies = np.array([uc_policy(Q, ELL, kappa) for kappa in kappas])
    above.stackplot(
        kappas, policies.T, labels=NAMES, colors=plt.get_cmap("tab10").colors, alpha=0.8
    )
    above.set_ylabel("π*")
    above.set_ylim(0, 1)
    above.legend(frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    below.plot(kappas, [uc_value(Q, ELL, kappa) for kappa in kappas], color=BLUE)
    below.axhline(Q.max(), color=GREY, linestyle=":")
    below.axhline(Q[ELL.argmax()], color=GREY, linestyle=":")
    below.annotate("max q", (12, Q.max()), (0, -12), textcoords="offset points")
    below.annotate(
        "q of the largest ℓ", (0.012, Q[ELL.argmax()]), (0, 5), textcoords="offset points"
    )
    below.set_xscale("log")
    below.set_xlabel("κ")
    below.set_ylabel("v*")
    return figure


def draw_bias() -> plt.Figure:
    """How far q* is from q† on Deep Sea 10 while ℓ is unequal, and that it goes with the ratio."""
    figure, axes = plt.subplots(figsize=(6, 3))
    mdp = deep_sea_mdp(10)
    optimum = value_iteration(mdp)
    uneven = np.random.default_rng(0).random(optimum.shape)
    spreads = np.logspace(2, -4, 25)
    for kappa, colour in ((0.1, GREY), (1.0, BLUE), (10.0, ORANGE)):
        bias = [
            np.abs(uc_policy_evaluation(mdp, 1 + spread * uneven, kappa) - optimum).max()
            for spread in spreads
        ]
        axes.loglog(spreads, bias, color=colour, label=f"κ = {kappa:g}")
    axes.set_xlabel("spread of ℓ: ℓ = 1 + spread · U(0, 1)")
    axes.set_ylabel("max |q* − q†|")
    axes.legend(frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(
        {"svg.hashsalt": "isl", "axes.spines.top": False, "axes.spines.right": False}
    )
    for name, draw in {
        "mixture": draw_mixture,
        "majorant": draw_majorant,
        "policy": draw_policy,
        "bias": draw_bias,
    }.items():
        path = out / f"theory-{name}.svg"
        draw().savefig(path, bbox_inches="tight", metadata={"Date": None})
        print(path)


if __name__ == "__main__":
    main()
