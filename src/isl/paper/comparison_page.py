"""The generated tables of a comparison's page, from its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from isl.analysis.scores import probability_of_improvement
from isl.paper.cases import Case
from isl.paper.comparisons import CONTROL, OURS
from isl.paper.trial import Trial
from isl.paper.variants import VARIANTS

KEPT = 0.9  # of the way from random to the best evaluation, at the last one
BOUND = 2.0  # of values, in largest discounted returns
ORDER = [OURS.agent, CONTROL.agent]  # and then by name


def of_case(rows: Sequence[Trial], case: Case) -> dict[str, list[Trial]]:
    """The measured rows of a case by contestant, Seeker and its control first."""
    alike = [
        row
        for row in rows
        if (row.env, row.factor, row.steps) == (case.name, case.factor, case.steps)
        and row.final_return is not None
    ]
    found: dict[str, list[Trial]] = {}
    for row in sorted(alike, key=lambda row: (_place(row), row.who, row.seed)):
        found.setdefault(row.who, []).append(row)
    return found


def _place(row: Trial) -> int:
    return ORDER.index(row.agent) if row.agent in ORDER else len(ORDER)


def finals(rows: Sequence[Trial]) -> list[float]:
    """The final returns, seed by seed."""
    return [row.final_return for row in rows if row.final_return is not None]


def random_of(rows: Mapping[str, Sequence[Trial]]) -> float | None:
    """What random actions get in a case; earlier rows do not say it, a later one does for all."""
    told = [r.random_return for own in rows.values() for r in own if r.random_return is not None]
    return told[0] if told else None


def bars(rows: Sequence[Trial], cases: Sequence[Case]) -> str:
    """Seeker beside what was to be shown: a line per case."""
    head = "| environment | budget | bar | final, per seed | met | kept | largest value |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for case in cases:
        found = of_case(rows, case)
        own = found.get(OURS.agent, [])
        if case.bar is None or not own:
            continue
        met = case.bar.met(finals(own), {name: finals(other) for name, other in found.items()})
        told = {True: "yes", False: "**no**", None: f"{len(own)} of {case.bar.of} seeds"}[met]
        if met is None and len(own) >= case.bar.of:
            told = "not compared yet"
        cells = [case.name, budget(case), case.bar.text, _listed(own), told]
        lines.append(_line([*cells, _kept(own, random_of(found)), _ratio(own)]))
    return "\n".join(lines)


def final_returns(rows: Sequence[Trial], cases: Sequence[Case]) -> str:
    """Every contestant: greedy returns, steps to the threshold, and how likely Seeker beats it."""
    head = "| environment | budget | agent | seeds | return, per seed | mean | ≥ threshold at |"
    lines = [f"{head} kept | largest value | P(Seeker better) |", "|---" * 10 + "|"]
    for case in cases:
        found = of_case(rows, case)
        for who, own in found.items():
            reached = " ".join(f"{row.threshold_at or 'never'}" for row in own)
            mean = f"{np.mean(finals(own)):.4g}"
            better = "" if who == OURS.agent else _better(found.get(OURS.agent, []), own)
            cells = [case.name, budget(case), who, str(len(own)), _listed(own), mean]
            cells += [f"{case.threshold:g}: {reached}", _kept(own, random_of(found)), _ratio(own)]
            lines.append(_line([*cells, better]))
    return "\n".join(lines)


def ablations(rows: Sequence[Trial], cases: Sequence[Case]) -> str:
    """What a case loses without a component: a line per variant, a column per case."""
    found = [of_case(rows, case) for case in cases]
    heads = [f"{case.name}, {budget(case)}" for case in cases]
    lines = [_line(["without", *heads]), "|---" * (len(cases) + 1) + "|"]
    for name, variant in VARIANTS.items():
        who = f"{OURS.agent}:{name}" if name else OURS.agent
        cells = [_ablated(own.get(who, []), random_of(own)) for own in found]
        if any(cells):
            lines.append(_line([variant.about, *cells]))
    return "\n".join(lines)


def _ablated(own: Sequence[Trial], random_return: float | None) -> str:
    """`-105 -110 -104, kept 3 of 3, values 1.1`."""
    if not own:
        return ""
    return f"{_listed(own)}; kept {_kept(own, random_return)}; values {_ratio(own)}"


def curves(rows: Sequence[Trial], cases: Sequence[Case]) -> str:
    """The learning curve of each run, in tenths."""
    lines = ["| environment | seed | factor | agent | curve |", "|---|---|---|---|---|"]
    order = {name: place for place, name in enumerate(dict.fromkeys(case.name for case in cases))}
    known = [row for row in rows if row.env in order and row.curve]
    lines += [
        f"| {row.env} | {row.seed} | {row.factor:g} | {row.who} | {row.curve} |"
        for row in sorted(known, key=lambda r: (order[r.env], r.seed, r.factor, r.who))
    ]
    return "\n".join(lines)


def budget(case: Case) -> str:
    """`30,000 steps`, `1,000 episodes`."""
    if case.episodes is not None:
        return f"{case.episodes:,} episodes"
    return f"{case.steps:,} steps"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _listed(own: Sequence[Trial]) -> str:
    """`500 500 494.7`; a cross marks a training that ended with numbers that are not finite."""
    return " ".join(
        f"{final:.4g}{'×' if row.diverged_at is not None else ''}"
        for row, final in zip(own, finals(own), strict=True)
    )


def _kept(own: Sequence[Trial], random_return: float | None) -> str:
    """`4 of 5`: seeds whose last evaluation is near the best of its ten."""
    if random_return is None:
        return ""
    shares = [row.kept(random_return) for row in own]
    return f"{sum(share is not None and share >= KEPT for share in shares)} of {len(own)}"


def _ratio(own: Sequence[Trial]) -> str:
    """The largest value over all seeds, in largest discounted returns."""
    told = [row.value_ratio for row in own if row.value_ratio is not None]
    if any(row.diverged_at is not None for row in own):
        return "not finite"
    if not told:
        return ""
    largest = max(told)
    return f"**{largest:.3g}**" if largest > BOUND else f"{largest:.2f}"


def _better(ours: Sequence[Trial], theirs: Sequence[Trial]) -> str:
    """rliable's probability of improvement, and its interval unless there is a single seed."""
    if not ours or not theirs:
        return ""
    scores = {
        name: np.array([[value] for value in finals(rows)])
        for name, rows in (("ours", ours), ("theirs", theirs))
    }
    found = probability_of_improvement(scores, [("ours", "theirs")])
    point, low, high = (float(np.ravel(x)[0]) for x in found["ours", "theirs"])
    several = min(len(ours), len(theirs)) > 1
    return f"{point:.2f} [{low:.2f}, {high:.2f}]" if several else f"{point:.2f}"


TRIAL_BLOCKS: dict[str, Callable[[Sequence[Trial], Sequence[Case]], str]] = {
    "bars": bars,
    "final_returns": final_returns,
    "ablations": ablations,
    "curves": curves,
}
