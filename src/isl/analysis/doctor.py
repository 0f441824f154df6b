"""What looks wrong in a run, from its records alone: the log of beliefs, episodes and config.

Each check is a function of `Evidence` that returns a finding or None; thresholds are at the top.
A log of `learn(tensorboard_log=…)` has no table of episodes: there the rows of the log must do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from isl.agents import divergence
from isl.envs.registry import has_goal
from isl.errors import UsageError
from isl.storage import run_folder, store, tensorboard
from isl.storage.tensorboard import ABOUT, Row

SATURATED = 0.9  # median ℓ as a share of its largest value
ROUNDING = 1e-4
COLLAPSED = 0.01  # 90 % of ℓ below this share of its largest value; it starts at a half
DETERMINISTIC = 0.02  # nats
EARLY = 0.5  # share of the run that counts as early
EPISODES_HELD = 20  # that a replay should hold
# Columns of the table of episodes that count what a task pays for, and what their 0 means.
COUNTED = {"goal_visits": "the goal was not reached", "rewarded_steps": "no step was rewarded"}


class Evidence(NamedTuple):
    """What a run left behind."""

    rows: list[Row]
    hyper: dict[str, Any]
    steps: int
    longest_episode: int  # 0 if unknown
    largest_return: float  # |·|
    rewarded_at: int | None  # step of the first visit to a goal, or episode that paid better
    status: str
    agent: str = ""
    unrewarded: str = ""  # what shows that no reward was ever seen; "" if one was
    unknown: tuple[str, ...] = ()  # what could not be looked at, and why


class Finding(NamedTuple):
    """A cause, in one word and in plain ones."""

    name: str
    told: str
    advice: str


def diagnose(evidence: Evidence) -> list[Finding]:
    """What looks wrong, the most likely cause first; nothing if nothing does."""
    found = [check(evidence) for check in CHECKS]
    return [finding for finding in found if finding is not None]


def _no_reward(run: Evidence) -> Finding | None:
    if not run.unrewarded:
        return None
    return Finding("no reward was seen", run.unrewarded, _more_exploration(run))


def _more_exploration(run: Evidence) -> str:
    if run.agent == "dqn":
        return "an agent that explores, such as seeker: ε-greedy finds what is near by chance alone"
    widening = {"kappa": "κ", "prior_scale": "the priors", "beta": "the uncertainty"}
    for option, what in widening.items():
        if option in run.hyper:
            now = f"now {run.hyper[option]:g}"
            return f"train longer, or raise {option} ({now}): {what} must outweigh what steps cost"
    return "train longer, or an agent that explores, such as seeker"


def _diverging(run: Evidence) -> Finding | None:
    late = run.rows[len(run.rows) // 2 :]
    sizes = [
        (abs(row.values["q/greedy"]), _possible(run, row), row.step)
        for row in late
        if "q/greedy" in row.values
    ]
    judged = [(size / possible, size, possible, step) for size, possible, step in sizes if possible]
    times, size, possible, step = max(judged, default=(0.0, 0.0, 0.0, 0))
    if run.status != "diverged" and times <= divergence.NOTED:
        return None
    told = "a value or parameter that was learned is not finite, or far from possible"
    if times > divergence.NOTED:
        told = (
            f"at step {step} the best actions were valued at {size:.3g} on average, "
            f"{times:.3g} times what the rewards seen make possible ({possible:.3g})"
        )
    return Finding("values diverging", told, divergence.advice(run.hyper))


def _possible(run: Evidence, row: Row) -> float:
    """The largest |value| that is possible; logs before 0.2 do not say it."""
    return row.values.get("q/possible", run.largest_return)


def _replay_too_small(run: Evidence) -> Finding | None:
    capacity = run.hyper.get("replay_capacity", math.inf)
    if capacity >= min(EPISODES_HELD * run.longest_episode, run.steps):
        return None
    return Finding(
        "replay too small",
        f"it holds {capacity} steps, {capacity / run.longest_episode:.1f} of the longest episodes: "
        "what is learned of a place is forgotten before the agent is back",
        f"raise replay_capacity to {EPISODES_HELD * run.longest_episode} or more",
    )


def _ell_saturated(run: Evidence) -> Finding | None:
    late = [_relative(run, row, "ell/q50") for row in run.rows[len(run.rows) // 2 :]]
    shares = [share for share in late if share is not None]
    if not shares or min(shares) < SATURATED:
        return None
    return Finding(
        "ℓ saturated",
        f"half of ℓ is above {min(shares):.0%} of the largest: it says nothing of what is known",
        "raise tile_width, or lower ell_gamma: all seems new, or near to what is new"
        if "novelty_power" in run.hyper
        else "raise ell_max; if it was high enough, lower lr_q: δ is too large",
    )


def _ell_collapsed(run: Evidence) -> Finding | None:
    for row in _before_reward(run):
        share = _relative(run, row, "ell/q90")
        if share is not None and share <= COLLAPSED * (1 + ROUNDING):
            return Finding(
                "ℓ collapsed before reward was seen",
                f"by step {row.step} 90 % of ℓ were at {COLLAPSED:g} of the largest or below, and "
                "nothing had been found: the agent thinks that there is nothing left to learn",
                "lower tile_width or novelty_power; of images and symbols view_power"
                if "novelty_power" in run.hyper
                else "lower lr_codes"
                if run.hyper.get("lr_codes")
                else "let states share less: on tables the agent isl_tables, elsewhere seeker; "
                "else lower lr_ell, or set ell_bias off",
            )
    return None


def _too_deterministic(run: Evidence) -> Finding | None:
    early = [row for row in _before_reward(run) if row.step <= EARLY * run.steps]
    entropies = [row.values.get("policy/entropy", math.nan) for row in early]
    entropies = [entropy for entropy in entropies if math.isfinite(entropy)]
    if not entropies or min(entropies) >= DETERMINISTIC or _ell_collapsed(run):
        return None
    return Finding(
        "policy deterministic too early",
        f"its entropy was {min(entropies):.2g} before anything was found, though ℓ was not small",
        "raise kappa: uncertainty must be worth more than the returns seen so far",
    )


CHECKS: tuple[Callable[[Evidence], Finding | None], ...] = (
    _no_reward,
    _diverging,
    _replay_too_small,
    _ell_saturated,
    _ell_collapsed,
    _too_deterministic,
)


def _relative(run: Evidence, row: Row, name: str) -> float | None:
    """ℓ as a share of its largest value; the log has it in the environment's rewards."""
    counts_visits = "novelty_power" in run.hyper  # as Seeker does, whose ℓ is at most one unit
    most = run.hyper.get("ell_max", 1.0 if counts_visits else None)
    if name not in row.values or most is None:
        return None
    unit = row.values.get("train/unit", 1.0) or 1.0
    return row.values[name] / (unit * float(most))


def _before_reward(run: Evidence) -> list[Row]:
    return [row for row in run.rows if run.rewarded_at is None or row.step < run.rewarded_at]


def read(run_dir: Path) -> Evidence:
    """The evidence in the folder of a finished run."""
    if not (run_dir / run_folder.CONFIG).is_file():
        raise UsageError(f"{run_dir} is not the folder of a run: expected …/seed-<k>")
    run = store.finished(run_dir)
    summary = run.summary or {}
    table = run_folder.read_episodes(run_dir)
    rows = tensorboard.read(run_dir / tensorboard.FOLDER)
    if not rows:
        raise UsageError(f"{run_dir} has no TensorBoard log: its beliefs were not recorded")
    return Evidence(
        rows=rows,
        hyper=run.config["hyper"],
        steps=int(summary["steps"]),
        longest_episode=int(table["length"].max() or 1),  # type: ignore[arg-type]
        largest_return=float(table["return"].abs().max() or 0.0),  # type: ignore[arg-type]
        rewarded_at=_rewarded_at(table),
        status=str(summary["status"]),
        agent=str(run.config["agent"]),
        unrewarded=_unrewarded(table),
    )


def _rewarded_at(table: pl.DataFrame) -> int | None:
    """The first visit or reward where they are counted, else the first change of return."""
    if column := _counted(table):
        found = table.filter(pl.col(column) > 0)
    else:
        found = table.filter(pl.col("return") > pl.col("return").first())
    return int(found["steps"][0]) if len(found) else None


def _counted(table: pl.DataFrame) -> str:
    return next((column for column in COUNTED if column in table.columns), "")


def _unrewarded(table: pl.DataFrame) -> str:
    if table.height == 0:
        return ""
    if column := _counted(table):
        return "" if table[column].max() else f"{COUNTED[column]} in {table.height} episodes"
    lowest, highest = float(table["return"].min()), float(table["return"].max())  # type: ignore[arg-type]
    return _all_alike(table.height, lowest, highest)


def _all_alike(episodes: int, lowest: float, highest: float) -> str:
    """Where nothing was ever gained, and nothing that the agent did made a difference."""
    if highest > 0 or not math.isclose(lowest, highest, rel_tol=1e-6):
        return ""
    return f"each of {episodes} episodes returned {highest:g}"


def read_log(folder: Path) -> Evidence:
    """The evidence in a log of `learn`, which has no table of episodes and no status."""
    rows = tensorboard.read(folder)
    about = tensorboard.described(folder)
    returns = [row for row in rows if "return/mean" in row.values]
    rewarded = [row.step for row in returns if _differs(row, returns[0])]
    rewarded += [row.step for row in rows if row.values.get("episodes/goal_visits")]
    latest = rows[-1].values if rows else {}
    unrewarded = ""
    if returns and not rewarded:
        low, high = (returns[-1].values[f"return/{name}"] for name in ("mean", "best"))
        unrewarded = _all_alike(int(latest.get("episodes/finished", 0)), low, high)
    return Evidence(
        rows=rows,
        hyper=about.get("hyper", {}),
        steps=rows[-1].step if rows else 0,
        longest_episode=int(latest.get("episodes/longest", 0)),
        largest_return=0.0,
        rewarded_at=min(rewarded, default=None),
        status="",
        agent=about.get("agent", ""),
        unrewarded=unrewarded,
        unknown=tuple(_unknown(rows, about)),
    )


def _unknown(rows: list[Row], about: dict[str, Any]) -> Iterator[str]:
    """What the log of a `learn` does not tell."""
    yield "single episodes: learn keeps no table of them, the rows of its log stand for them"
    if has_goal(about.get("task", "")):
        yield "visits to the goal: learn does not count them"
    if not about:
        yield f"the hyper-parameters, and all that is judged by them: there is no {ABOUT}"
    if not any("q/possible" in row.values for row in rows):
        yield "whether the values are possible: the log has no rows with q/possible"


def _differs(row: Row, first: Row) -> bool:
    """Whether some episode by then returned something else than the first ones did on average."""
    best, before = row.values["return/best"], first.values["return/mean"]
    return not math.isclose(best, before, rel_tol=1e-6, abs_tol=1e-12)
