"""bsuite reads what we export, row for row what its own logger writes, and scores it as we do."""

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from bsuite import sweep as bsuite_sweep
from bsuite.environments.deep_sea import DeepSea as BsuiteDeepSea
from bsuite.experiments.cartpole_swingup import cartpole_swingup
from bsuite.experiments.cartpole_swingup import sweep as cartpole_sweep
from bsuite.logging import csv_load
from bsuite.utils import wrappers

from isl import envs
from isl.analysis import bsuite
from isl.cli.main import main
from isl.experiments.running.seed_run import measures
from isl.storage import files, run_folder
from isl.storage.episodes import table
from isl.training.episodes import Episodes
from isl.training.loop import Steps


def test_rows_are_at_bsuites_points():
    points = [episode for episode in range(1, 10_001) if wrappers._logarithmic_logging(episode)]
    assert bsuite.logged_episodes(10_000) == points
    assert bsuite.logged_episodes(130) == [point for point in points if point <= 130]


def test_ids_are_bsuites():
    known = {name: family for name, family in envs.TASKS.items() if family.bsuite is not None}
    assert set(known) == {"deep_sea", "deep_sea_stochastic", "cartpole_swingup"}
    for name, task_family in known.items():
        family = task_family.bsuite
        numbers = {"deep_sea": "size", "deep_sea_stochastic": "size"}
        for index, number in enumerate(family.numbers):
            settings = bsuite_sweep.SETTINGS[f"{name}/{index}"]
            if name in numbers:
                assert settings == {"size": number, **task_family.parameters}
            else:
                assert settings["height_threshold"] == pytest.approx(number / 20)
        assert f"{name}/{len(family.numbers)}" not in bsuite_sweep.SETTINGS
        assert family.episodes == bsuite_sweep.EPISODES[f"{name}/0"]


class Rows:
    """What bsuite's logger would write to a file."""

    def __init__(self):
        self.rows = []

    def write(self, row):
        self.rows.append(row)


def logged_by_bsuite(env, policy, episodes):
    """bsuite's own rows, and our records of the same steps."""
    logger = Rows()
    env = wrappers.Logging(env, logger)
    steps = []
    for _ in range(episodes):
        timestep, at = env.reset(), 0
        while not timestep.last():
            before = env.raw_env
            cell = (getattr(before, "_row", 0), getattr(before, "_column", 0))
            action = policy(before, at)
            timestep = env.step(action)
            steps.append((cell, action, timestep.reward, timestep.last()))
            at += 1
    return pl.DataFrame(logger.rows), steps


@pytest.mark.parametrize("stochastic", [False, True])
def test_deep_sea_rows_match_bsuites_own(stochastic):
    """The rows of bsuite's logger, from our records of the very same steps."""
    size, episodes = 4, 120
    env = BsuiteDeepSea(size, deterministic=not stochastic, mapping_seed=42, seed=1)
    rng = np.random.RandomState(0)
    mapping = env._action_mapping

    def policy(now, at):  # right, mostly
        return int(mapping[now._row, now._column]) ^ int(rng.rand() < 0.2)

    theirs, steps = logged_by_bsuite(env, policy, episodes)
    task = f"deep_sea_stochastic/{size}" if stochastic else f"deep_sea/{size}"
    ours = envs.make(task)

    @jax.jit
    @jax.vmap
    def facts(row, column, action):
        state, _ = ours.reset(jax.random.key(0))
        here = state._replace(row=row, column=column)
        return ours.step(here, action, jax.random.key(0)).info

    rows, columns, actions = (
        np.array([pick(step) for step in steps])
        for pick in (lambda s: s[0][0], lambda s: s[0][1], lambda s: s[1])
    )
    recorder = Episodes.of(task)
    reward = np.array([step[2] for step in steps])
    last = np.array([step[3] for step in steps])
    recorder.add(Steps(None, reward, last, jax.device_get(facts(rows, columns, actions))))
    found = bsuite.rows(task, table(recorder.columns(), episodes))
    assert found.columns == theirs.columns
    assert theirs["total_bad_episodes"][-1] > 10
    assert theirs["denoised_return"][-1] > 10
    for name in found.columns:
        np.testing.assert_allclose(found[name], theirs[name], atol=1e-9, err_msg=name)


def test_cartpole_rows_match_bsuites_own():
    env = cartpole_swingup.CartpoleSwingup(**cartpole_sweep.SETTINGS[0], seed=0)
    rng = np.random.RandomState(0)
    theirs, steps = logged_by_bsuite(env, lambda now, at: rng.randint(3), 3)
    recorder = Episodes.of("cartpole_swingup/0")
    reward, last = (np.array([s[i] for s in steps]) for i in (2, 3))
    recorder.add(Steps(None, reward, last, {"rewarded": reward > 0.5}))
    found = bsuite.rows("cartpole_swingup/0", table(recorder.columns(), 3))
    # Nothing of bsuite's reads total_upright, and we do not record it.
    assert found.columns == [name for name in theirs.columns if name != "total_upright"]
    for name in found.columns:
        np.testing.assert_allclose(found[name], theirs[name], atol=1e-9, err_msg=name)


# ------------------------------------------------------------------------------ whole exports


def write(root, task, seed, episodes, **config):
    """A finished run with these episodes."""
    resolved = {"task": task, "agent": "isl", "hyper": {"kappa": 13.0}, **config}
    if task.startswith("deep_sea"):
        resolved["mapping_seed"] = 42
    path = run_folder.run_path(root, resolved, seed)
    rates = {"wall_seconds": 1.0, "env_steps_per_second": 1.0, "updates_per_second": 1.0}
    with run_folder.lock(path):
        run_folder.start(path, resolved)
        run_folder.write_episodes(path, episodes)
        identity = {"task": task, "agent": "isl", "seed": seed, "status": "done"}
        run_folder.finish(path, {**identity, **measures(episodes, task), **rates})


def deep_sea(size, goal_every, episodes=10_000, stochastic=False):
    number = np.arange(1, episodes + 1)
    visits = number // goal_every
    table = {
        "episode": number,
        "steps": number * size,
        "return": np.diff(visits, prepend=0) * 1.0,
        "length": np.full(episodes, size),
        "goal_visits": visits,
    }
    return pl.DataFrame(table | ({"bad_episodes": number - visits} if stochastic else {}))


def cartpole(mean_return, best, episodes=1_000):
    number = np.arange(1, episodes + 1)
    returns = np.full(episodes, float(mean_return))
    returns[episodes // 2] = best
    return pl.DataFrame(
        {"episode": number, "steps": number * 1001, "return": returns, "length": number * 0 + 1001}
    )


@pytest.fixture
def exported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files.steps, "fsync", lambda fd: None)
    monkeypatch.setattr(files.steps, "fsync_dir", lambda path: None)
    monkeypatch.setattr(run_folder, "provenance", lambda: {"cpu": "any"})
    runs = tmp_path / "runs"
    write(runs, "deep_sea/10", 0, deep_sea(10, goal_every=3))  # solved
    write(runs, "deep_sea/12", 0, deep_sea(12, goal_every=30))  # too rarely
    write(runs, "deep_sea/10", 1, deep_sea(10, goal_every=4))
    write(runs, "deep_sea/11", 1, deep_sea(11, goal_every=4))  # a size that bsuite does not have
    write(runs, "deep_sea_stochastic/10", 0, deep_sea(10, goal_every=4, stochastic=True))
    write(runs, "deep_sea_stochastic/20", 0, deep_sea(20, goal_every=8, stochastic=True))
    write(runs, "cartpole_swingup/0", 0, cartpole(350, best=400))
    write(runs, "cartpole_swingup/19", 0, cartpole(-50, best=60))
    assert main(["export", "bsuite", str(runs), str(tmp_path / "csv")]) == 0
    return tmp_path / "csv", capsys.readouterr().out


def test_bsuite_reads_the_export_and_scores_it_as_we_do(exported):
    """Its analysis needs an older pandas: its definitions are spelt out here on its own frame."""
    folder, printed = exported
    (seed_0,) = folder.glob("isl-*/seed-0")
    frame, sweep_vars = csv_load.load_bsuite({"isl": str(seed_0)})
    assert sweep_vars == ["agent_name"]
    assert set(frame.bsuite_env) == {"deep_sea", "deep_sea_stochastic", "cartpole_swingup"}
    theirs = {
        "deep_sea": deep_sea_score(frame[frame.bsuite_env == "deep_sea"], 0.9, 1),
        "deep_sea_stochastic": deep_sea_score(
            frame[frame.bsuite_env == "deep_sea_stochastic"], 0.8, 100
        ),
        "cartpole_swingup": cartpole_score(frame[frame.bsuite_env == "cartpole_swingup"]),
    }
    assert theirs == {
        "deep_sea": 0.5,
        "deep_sea_stochastic": 0.5,
        "cartpole_swingup": pytest.approx((0.5 * (350.05 / 700 + 1) + 0) / 2),
    }
    for family, score in theirs.items():
        assert f"{seed_0}: {family} score {score:.3f} (2 of its" in printed
    assert "1 runs are unfinished or of tasks that bsuite does not have" in printed
    (seed_1,) = folder.glob("isl-*/seed-1")
    assert len(csv_load.load_one_result_set(str(seed_1)).bsuite_id.unique()) == 1


def deep_sea_score(frame: pd.DataFrame, threshold: float, first: int) -> float:
    beaten = []
    for size, rows in frame[frame.episode >= first].groupby("size"):
        solved = rows[rows.total_bad_episodes / rows.episode < threshold]
        beaten.append(len(solved) > 0 and solved.episode.min() < 2**size + 100)
    return float(np.mean(beaten))


def cartpole_score(frame: pd.DataFrame) -> float:
    found = []
    for _, rows in frame.groupby("height_threshold"):
        end = rows[rows.episode == rows.episode.max()].iloc[0]
        regret = (700 * end.episode - end.total_return) / end.episode
        swung_up = rows.best_episode.max() > 100
        found.append(0.5 * np.clip((700 - regret) / 700, 0, 1) + 0.5 * swung_up)
    return float(np.mean(found))


def test_exports_that_make_no_sense_are_one_line(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    assert main(["export", "bsuite", str(tmp_path / "runs"), str(tmp_path / "csv")]) == 2
    assert "holds no finished run of a bsuite task" in capsys.readouterr().err
    write(tmp_path / "runs", "deep_sea_stochastic/10", 0, deep_sea(10, 4))
    assert main(["export", "bsuite", str(tmp_path / "runs"), str(tmp_path / "csv")]) == 2
    assert "has no bad_episodes" in capsys.readouterr().err
