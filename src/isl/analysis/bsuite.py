"""bsuite's view of our runs: the rows it logs, the files it reads, the scores it gives.

bsuite runs every task once and looks at it at logarithmic points only. With several seeds, a seed
is one bsuite run over all sizes of a family. Its own analysis no longer works with today's pandas;
the scores here are of the same definitions (bsuite 0.3.6), on the same rows.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from isl.envs.registry import Bsuite, TaskFamily, family_of, number_of
from isl.errors import UsageError
from isl.storage.run_folder import config_hash
from isl.storage.store import Run

_TENTHS = (10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90)  # 1, 1.2, 1.4 … times a power of 10
FORGIVENESS = 100  # episodes that dithering is given on top of 2^N


def logged_episodes(most: int) -> list[int]:
    """The episodes after which bsuite writes a row."""
    points = {t * 10**k // 10 for k in range(len(str(most))) for t in _TENTHS if not t * 10**k % 10}
    return sorted(point for point in points if point <= most)


def bsuite_id(run: Run) -> str | None:
    """`deep_sea/0` for our deep_sea/10; None if bsuite has no such task."""
    family, number = family_of(run.task), number_of(run.task)
    if family is None or family.bsuite is None or number is None:
        return None
    if number not in family.bsuite.numbers:
        return None
    for name, default in family.parameters.items():  # our defaults are bsuite's values
        if run.config.get(name) not in (None, default):
            return None
    return f"{run.task.partition('/')[0]}/{family.bsuite.numbers.index(number)}"


def fixed(task: str) -> tuple[TaskFamily, Bsuite]:
    """The family of a task that bsuite has, and what bsuite fixes about it."""
    family = family_of(task)
    if family is None or family.bsuite is None:
        raise UsageError(f"bsuite has no task like {task}")
    return family, family.bsuite


def variant(config: dict[str, Any]) -> str:
    """Stands for everything in a config but the task: runs of one variant are one bsuite agent."""
    hyper = {k: v for k, v in config.get("hyper", {}).items() if k != "epsilon_steps"}
    rest = {k: v for k, v in config.items() if k not in ("task", "mapping_seed", "hyper")}
    return config_hash({**rest, "hyper": hyper})


def rows(task: str, episodes: pl.DataFrame) -> pl.DataFrame:
    """What bsuite's logger writes about a run: the standard columns, then the task's own."""
    family, _ = fixed(task)
    total = pl.col("return").cum_sum()
    goal = family.column(family.goal)
    if goal is None:
        best = pl.max_horizontal(pl.col("return").cum_max(), 0.0)  # bsuite counts from 0 too
        own = [total.alias("raw_return"), best.alias("best_episode")]
    else:
        recorded = family.column("bad")
        if recorded is None:  # without slips, leaving the way to the goal is the same as missing it
            bad = pl.col("episode") - pl.col(goal)
        elif recorded in episodes.columns:
            bad = pl.col(recorded)
        else:
            raise UsageError(f"a run of {task} has no {recorded}: run it again with this version")
        visits = pl.col(goal).cast(pl.Float64)
        own = [bad.alias("total_bad_episodes"), visits.alias("denoised_return")]
    return episodes.select(
        "steps",
        "episode",
        total.alias("total_return"),
        pl.col("length").alias("episode_len"),
        pl.col("return").alias("episode_return"),
        *own,
    ).filter(pl.col("episode").is_in(logged_episodes(episodes.height)))


def solution(task: str, logged: pl.DataFrame) -> int | None:
    """The first logged episode by which few enough episodes of a task with a goal were bad."""
    _, known = fixed(task)
    share = pl.col("total_bad_episodes") / pl.col("episode")
    counted = pl.col("episode").is_between(known.bad_since, known.episodes)
    found = logged.filter(counted & (share < known.bad_share))
    return None if found.is_empty() else int(found["episode"][0])


def score(runs: dict[str, pl.DataFrame]) -> float:
    """bsuite's score, from 0 to 1, of one seed: task → its logged rows, all of one family.

    With a goal: the share of sizes solved sooner than dithering would. Without: the mean over
    tasks of half the regret avoided and half whether a good episode occurred.
    """
    return sum(_task_score(task, logged) for task, logged in runs.items()) / len(runs)


def _task_score(task: str, logged: pl.DataFrame) -> float:
    family, known = fixed(task)
    if family.goal is not None:
        found, size = solution(task, logged), number_of(task) or 0
        return float(found is not None and found < 2**size + FORGIVENESS)
    end = logged.filter(pl.col("episode") <= known.episodes).row(-1, named=True)
    target = known.target_return
    regret = target - end["total_return"] / end["episode"]
    avoided = min(max((target - regret) / target, 0.0), 1.0)
    return float(0.5 * avoided + 0.5 * (end["best_episode"] > known.good_return))
