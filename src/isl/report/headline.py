"""The result in words, a sentence per family of tasks: who solved what, and how soon.

A run that ended unsolved counts as infinite in medians; a run that has not ended does not count.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from isl.agents import label
from isl.analysis.scores import episodes_to_solve, quantile
from isl.envs.registry import family_of, has_goal, number_of
from isl.report.collect import Collected, Group, budget_of

MOST_FAMILIES = 6
MOST_AGENTS = 6
MOST_LETTERS = 60  # of a name
_PLURALS = {"difficulty": "difficulties", "rooms": "numbers of rooms", "rows": "numbers of rows"}


def sentences(found: Collected) -> list[str]:
    """What the finished runs say; if there are none, a sentence that says so."""
    ended = [group for group in found.groups if group.finished]
    families = [list(some) for _, some in itertools.groupby(ended, key=lambda group: group.family)]
    said = [_of_family(groups) for groups in families[:MOST_FAMILIES]]
    if not said:
        said.append("No run has a result yet, so there is nothing to draw.")
    if len(families) > MOST_FAMILIES:
        said.append(f"The tables below have {len(families) - MOST_FAMILIES} more kinds of tasks.")
    if diverged := found.counts["diverged"]:
        said.append(f"{_counted(diverged, 'run')} diverged: what was reached by then counts.")
    waiting = sum(found.counts.values()) - sum(len(group.finished) for group in ended)
    if waiting and ended:
        said.append(f"{_counted(waiting, 'run')} without a result.")
    return said


def _of_family(groups: list[Group]) -> str:
    by_who: dict[str, list[Group]] = {}
    for group in groups:
        by_who.setdefault(group.who, []).append(group)
    told = (_solved if has_goal(groups[0].family) else _best)(by_who, _where(groups))
    more = len(by_who) - MOST_AGENTS
    return told + (f"; {more} more in the table below." if more > 0 else ".")


class _Told(NamedTuple):
    """What one agent solved. The best comes first when sorted."""

    unsolved: float  # share of its runs
    left_out: int  # tasks that it was not run on
    median: float
    name: str
    solved: str  # how many of its runs
    when: str


def _solved(by_who: dict[str, list[Group]], where: str) -> str:
    """`ISL solved 10 of 10 seeds of deep_sea/20, median 348 episodes; DQN none of 10`"""
    tasks = len({group.task for own in by_who.values() for group in own})
    told = sorted(_told(own, tasks) for own in by_who.values())[:MOST_AGENTS]
    if told[0].unsolved == 1:
        tried = "; ".join(f"{each.name} {each.solved}" for each in told)
        return f"No seed solved {where}: {tried}"
    first, *others = told
    rest = "".join(f"; {each.name} {each.solved}{each.when}" for each in others)
    noun = "run" if tasks > 1 else "seed"
    noun += "s" * (not first.solved.endswith(" of 1"))
    return f"{first.name} solved {first.solved} {noun} of {where}{first.when}{rest}"


def _told(own: list[Group], tasks: int) -> _Told:
    """What one agent solved; `tasks` is on how many the agents were run together."""
    by_number = {_number(group): _took(group) for group in own}
    took = [episodes for some in by_number.values() for episodes in some]
    solved = sum(map(math.isfinite, took))
    count = f"{solved:,} of {len(took):,}" if solved else f"none of {len(took):,}"
    some = f", at {len(own)} of the {tasks}" if len(own) < tasks else ""
    left_out, median = tasks - len(own), quantile(took, 0.5)
    told = _Told(1 - solved / len(took), left_out, median, _name(own[0]), count, some)
    if not solved:
        return told
    if len(own) == 1:
        return told._replace(when=some + _when(took, max(map(budget_of, own[0].finished))))
    by_all = itertools.takewhile(
        lambda number: all(map(math.isfinite, by_number[number])), sorted(by_number)
    )
    if not (numbers := list(by_all)):
        return told
    median = quantile(by_number[numbers[-1]], 0.5)
    text = f"{some}, every seed up to {numbers[-1]} (median {median:,g} episodes)"
    return told._replace(when=text)


def _took(group: Group) -> list[float]:
    return episodes_to_solve((run.summary or {})["solved_episode"] for run in group.finished)


def _when(took: list[float], budget: int) -> str:
    if len(took) == 1:
        return f", at episode {took[0]:,g}"
    median = quantile(took, 0.5)
    if math.isfinite(median):
        return f", median {median:,g} episodes"
    return f", median beyond the budget of {budget:,} episodes"


def _best(by_who: dict[str, list[Group]], where: str) -> str:
    """`Median best return on CartPole-v1: Seeker 500, DQN 488`; of many tasks the first and last.

    Where all runs were evaluated it is the return of the last greedy policy, but not on tasks whose
    measure is the best return.
    """
    groups = sorted((group for own in by_who.values() for group in own), key=_number)
    measure, name = _measure(groups)
    ends = dict.fromkeys((groups[0].task, groups[-1].task))
    told = []
    for task in ends:
        medians = []
        for group in groups:
            found = [(run.summary or {})[measure] for run in group.finished]
            known = [value for value in found if value is not None]
            if group.task == task and known:
                medians.append((quantile(known, 0.5), _name(group)))
        medians.sort(reverse=True)
        names = ", ".join(f"{name} {_digits(value)}" for value, name in medians[:MOST_AGENTS])
        at = f"at {number_of(task)} " if len(ends) > 1 else ""
        told.append(at + (names or "no episode ended"))
    return f"Median {name} on {where}: {'; '.join(told)}"


def _measure(groups: list[Group]) -> tuple[str, str]:
    """What the runs of a family without a goal are compared by: its name in summaries, in words."""
    family = family_of(groups[0].task)
    summaries = [run.summary or {} for group in groups for run in group.finished]
    evaluated = all(summary.get("greedy_return") is not None for summary in summaries)
    if evaluated and (family is None or family.best_return is None):
        return "greedy_return", "return of the last greedy policy"
    return "best_return", "best return"


def _number(group: Group) -> int:
    return group.number or 0


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.3g}"  # not -0


def _where(groups: list[Group]) -> str:
    """`deep_sea/20`, or `deep_sea at 12 sizes from 10 to 50`."""
    numbers = sorted({group.number for group in groups if group.number is not None})
    if len(numbers) < 2:
        return groups[0].task
    family = family_of(groups[0].task)
    kind = family.number if family is not None and family.number else "number"
    kinds = _PLURALS.get(kind, f"{kind}s")
    return f"{groups[0].family} at {len(numbers)} {kinds} from {numbers[0]} to {numbers[-1]}"


def _name(group: Group) -> str:
    """The agent's label, its name in the figures, and what sets this configuration apart."""
    shown = label(group.agent).partition(" (")[0]
    if shown.lower() != group.agent:
        shown += f" ({group.agent})"
    shown += group.who.removeprefix(group.agent)
    return shown if len(shown) <= MOST_LETTERS else shown[: MOST_LETTERS - 1] + "…"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number > 1)}"
