"""What looks wrong in a run, from its records alone: the log of beliefs, episodes and config.

Each check is a function of `Evidence` that returns a finding or None; thresholds are at the top.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from isl.errors import UsageError
from isl.storage import files, run_folder, tensorboard
from isl.storage.tensorboard import Row

SATURATED = 0.9  # median ℓ as a share of its largest value
COLLAPSED = 0.01  # 90 % of ℓ below this share of its largest value; it starts at a half
DETERMINISTIC = 0.02  # nats
EARLY = 0.5  # share of the run that counts as early
EPISODES_HELD = 20  # that a replay should hold
BEYOND = 3.0  # mean |q| in units of the largest |return| that there was


class Evidence(NamedTuple):
    """What a run left behind."""

    rows: list[Row]
    hyper: dict[str, Any]
    steps: int
    longest_episode: int
    largest_return: float  # |·|
    rewarded_at: int | None  # step of the first visit to a goal, or episode that paid better
    status: str


class Finding(NamedTuple):
    """A cause, in one word and in plain ones."""

    name: str
    told: str
    advice: str


def diagnose(evidence: Evidence) -> list[Finding]:
    """What looks wrong, the most likely cause first; nothing if nothing does."""
    found = [check(evidence) for check in CHECKS]
    return [finding for finding in found if finding is not None]


def _diverging(run: Evidence) -> Finding | None:
    late = run.rows[len(run.rows) // 2 :]
    largest = max((abs(row.values.get("q/greedy", 0.0)) for row in late), default=0.0)
    if run.status != "diverged" and largest <= BEYOND * run.largest_return:
        return None
    return Finding(
        "values diverging",
        f"q reached {largest:.3g}, the largest return was {run.largest_return:.3g}",
        "lower eta2: at 1 q follows ρ alone, never its own error δ"
        if run.hyper.get("eta2") == 1
        else "lower lr_q, or raise target_period",
    )


def _replay_too_small(run: Evidence) -> Finding | None:
    capacity = run.hyper["replay_capacity"]
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
        f"half of ℓ is above {min(shares):.0%} of ell_max: it says nothing of what is known",
        "raise ell_max; if it was high enough, lower lr_q: δ is too large",
    )


def _ell_collapsed(run: Evidence) -> Finding | None:
    for row in _before_reward(run):
        share = _relative(run, row, "ell/q90")
        if share is not None and share < COLLAPSED:
            return Finding(
                "ℓ collapsed before reward was seen",
                f"by step {row.step} 90 % of ℓ were below {COLLAPSED:g} of ell_max, and nothing "
                "had been found: the agent thinks that there is nothing left to learn",
                "lower lr_codes"
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
    _diverging,
    _replay_too_small,
    _ell_saturated,
    _ell_collapsed,
    _too_deterministic,
)


def _relative(run: Evidence, row: Row, name: str) -> float | None:
    """ℓ as a share of its largest value; the log has it in the environment's rewards."""
    if name not in row.values or "ell_max" not in run.hyper:
        return None
    unit = row.values.get("train/unit", 1.0) or 1.0
    return row.values[name] / (unit * float(run.hyper["ell_max"]))


def _before_reward(run: Evidence) -> list[Row]:
    return [row for row in run.rows if run.rewarded_at is None or row.step < run.rewarded_at]


def read(run_dir: Path) -> Evidence:
    """The evidence in the folder of a finished run."""
    if not (run_dir / run_folder.CONFIG).is_file():
        raise UsageError(f"{run_dir} is not the folder of a run: expected …/seed-<k>")
    config = files.read_json(run_dir / run_folder.CONFIG)["config"]
    table = run_folder.read_episodes(run_dir)
    summary = files.read_json(run_dir / run_folder.SUMMARY)
    rows = tensorboard.read(run_dir / tensorboard.FOLDER)
    if not rows:
        raise UsageError(f"{run_dir} has no TensorBoard log: its beliefs were not recorded")
    return Evidence(
        rows=rows,
        hyper=config["hyper"],
        steps=int(summary["steps"]),
        longest_episode=int(table["length"].max() or 1),  # type: ignore[arg-type]
        largest_return=float(table["return"].abs().max() or 0.0),  # type: ignore[arg-type]
        rewarded_at=_rewarded_at(table),
        status=str(summary["status"]),
    )


def _rewarded_at(table: pl.DataFrame) -> int | None:
    """The first visit to the goal where visits are counted, else the first change of return."""
    if "goal_visits" in table.columns:
        found = table.filter(pl.col("goal_visits") > 0)
    else:
        found = table.filter(pl.col("return") > pl.col("return").first())
    return int(found["steps"][0]) if len(found) else None
