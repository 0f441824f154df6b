"""bsuite's view of our runs: the rows it logs, the files it reads, the scores it gives.

bsuite runs every task once and looks at it at logarithmic points only. With several seeds, a seed
is one bsuite run over all sizes of a family. Its own analysis no longer works with today's pandas;
the scores here are of the same definitions (bsuite 0.3.6), on the same rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from isl.errors import UsageError
from isl.storage.run_folder import config_hash
from isl.storage.store import Run

_TENTHS = (10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90)  # 1, 1.2, 1.4 … times a power of 10


class Family(NamedTuple):
    """What bsuite fixes about a family of tasks."""

    numbers: range  # bsuite's ids count them from 0: deep_sea/10 is deep_sea-0
    episodes: int


FAMILIES = {
    "deep_sea": Family(range(10, 51, 2), 10_000),
    "deep_sea_stochastic": Family(range(10, 51, 2), 10_000),
    "cartpole_swingup": Family(range(20), 1_000),
}
MAPPING_SEED = 42  # of its Deep Seas
FORGIVENESS = 100  # episodes that dithering is given on top of 2^N
CARTPOLE_TARGET = 700.0  # the return of an episode without regret
CARTPOLE_GOOD_EPISODE = 100.0  # a return that takes a swing-up


def logged_episodes(most: int) -> list[int]:
    """The episodes after which bsuite writes a row."""
    points = {t * 10**k // 10 for k in range(len(str(most))) for t in _TENTHS if not t * 10**k % 10}
    return sorted(point for point in points if point <= most)


def bsuite_id(run: Run) -> str | None:
    """`deep_sea/0` for our deep_sea/10; None if bsuite has no such task."""
    name, _, number = run.task.partition("/")
    family = FAMILIES.get(name)
    if family is None or int(number) not in family.numbers:
        return None
    if run.config.get("mapping_seed") not in (None, MAPPING_SEED):
        return None
    return f"{name}/{family.numbers.index(int(number))}"


def variant(config: dict[str, Any]) -> str:
    """Stands for everything in a config but the task: runs of one variant are one bsuite agent."""
    hyper = {k: v for k, v in config.get("hyper", {}).items() if k != "epsilon_steps"}
    rest = {k: v for k, v in config.items() if k not in ("task", "mapping_seed", "hyper")}
    return config_hash({**rest, "hyper": hyper})


def rows(task: str, episodes: pl.DataFrame) -> pl.DataFrame:
    """What bsuite's logger writes about a run: the standard columns, then the task's own."""
    total = pl.col("return").cum_sum()
    if task.startswith("cartpole"):
        best = pl.max_horizontal(pl.col("return").cum_max(), 0.0)  # bsuite counts from 0 too
        own = [total.alias("raw_return"), best.alias("best_episode")]
    else:
        if "bad_episodes" in episodes.columns:
            bad = pl.col("bad_episodes")
        elif task.startswith("deep_sea_stochastic"):
            raise UsageError(f"a run of {task} has no bad_episodes: run it again with this version")
        else:  # without slips, leaving the way to the treasure is the same as missing it
            bad = pl.col("episode") - pl.col("goal_visits")
        goals = pl.col("goal_visits").cast(pl.Float64)
        own = [bad.alias("total_bad_episodes"), goals.alias("denoised_return")]
    return episodes.select(
        "steps",
        "episode",
        total.alias("total_return"),
        pl.col("length").alias("episode_len"),
        pl.col("return").alias("episode_return"),
        *own,
    ).filter(pl.col("episode").is_in(logged_episodes(episodes.height)))


def solution(task: str, logged: pl.DataFrame) -> int | None:
    """The first logged episode by which few enough Deep Sea episodes were bad."""
    stochastic = task.startswith("deep_sea_stochastic")
    threshold, first = (0.8, 100) if stochastic else (0.9, 1)
    share = pl.col("total_bad_episodes") / pl.col("episode")
    last = FAMILIES["deep_sea"].episodes
    found = logged.filter(pl.col("episode").is_between(first, last) & (share < threshold))
    return None if found.is_empty() else int(found["episode"][0])


def score(runs: dict[str, pl.DataFrame]) -> float:
    """bsuite's score, from 0 to 1, of one seed: task → its logged rows, all of one family.

    Deep Sea: the share of sizes solved sooner than dithering would. Cartpole: the mean over
    difficulties of half the regret avoided and half whether the pole was ever swung up.
    """
    return sum(_task_score(task, logged) for task, logged in runs.items()) / len(runs)


def _task_score(task: str, logged: pl.DataFrame) -> float:
    if not task.startswith("cartpole"):
        found, size = solution(task, logged), int(task.partition("/")[2])
        return float(found is not None and found < 2**size + FORGIVENESS)
    logged = logged.filter(pl.col("episode") <= FAMILIES["cartpole_swingup"].episodes)
    end = logged.row(-1, named=True)
    regret = CARTPOLE_TARGET - end["total_return"] / end["episode"]
    avoided = min(max((CARTPOLE_TARGET - regret) / CARTPOLE_TARGET, 0.0), 1.0)
    return float(0.5 * avoided + 0.5 * (end["best_episode"] > CARTPOLE_GOOD_EPISODE))
