"""Every row of docs/coming-from-sb3.md, both columns; Stable-Baselines3's own with the package."""

import importlib.util
import re
import runpy
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import SyncVectorEnv

import isl.callbacks
from isl import DQN
from isl.model import model as models
from isl.model.evaluation import evaluate

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-sb3.md"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text())
SIZE = 40  # pixels; Stable-Baselines3's convolutions need 36


class Pictures(gymnasium.Env):
    observation_space = Box(0, 255, (SIZE, SIZE, 1), np.uint8)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action):
        return self._seen(), 1.0, True, False, {}

    def _seen(self):
        return np.zeros((SIZE, SIZE, 1), np.uint8)


class Mixed(Pictures):
    observation_space = Dict({"eye": Pictures.observation_space, "place": Box(-1, 1, (2,))})

    def _seen(self):
        return {"eye": super()._seen(), "place": np.zeros(2, np.float32)}


def make():
    return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))


def counts(base):
    class Counts(base):
        def _on_step(self):
            self.logger.record("my/ended", float(np.sum(self.locals["dones"])))
            return self.training_env is not None

    return Counts


def shared():
    env = make()
    obs, _ = env.reset(seed=0)
    return {"env": env, "obs": obs, "make": make, "pictures": Pictures(), "mixed": Mixed()}


def run(rows, names, folder):
    """All rows as one script: an error names the line, which is the row."""
    script = folder / "rows.py"
    script.write_text("\n".join(rows))
    return runpy.run_path(str(script), init_globals=names)


def test_the_page_has_its_rows():
    assert len(ROWS) >= 30
    every = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(every)


@pytest.mark.slow
def test_every_row_of_ours_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learn = models.Model.learn
    short = {"progress_bar": False, "n_eval_episodes": 0}
    monkeypatch.setattr(models.Model, "learn", lambda self, *a, **k: learn(self, *a, **short | k))
    names = shared() | vars(isl.callbacks) | {"DQN": DQN, "evaluate": evaluate}
    names |= {"SyncVectorEnv": SyncVectorEnv, "Counts": counts(isl.callbacks.BaseCallback)}
    first = next(i for i, (_, ours) in enumerate(ROWS) if "replay.sample" in ours)
    run([ours for _, ours in ROWS[:first]], names, tmp_path)
    names["model"] = DQN("CartPole-v1", hidden=(8,)).learn(150)
    run([ours for _, ours in ROWS[first:]], names, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"rows.py", "m.isl", "logs", "saved"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_row_of_theirs_works(tmp_path, monkeypatch):
    sb3 = pytest.importorskip("stable_baselines3", reason="needs the extra `peers`")
    from stable_baselines3.common import callbacks, env_checker, env_util, evaluation, vec_env
    from stable_baselines3.common.utils import LinearSchedule

    monkeypatch.chdir(tmp_path)
    names = shared() | vars(callbacks) | vars(vec_env)
    names |= {"DQN": sb3.DQN, "make_vec_env": env_util.make_vec_env}
    names |= {"evaluate_policy": evaluation.evaluate_policy, "check_env": env_checker.check_env}
    names |= {"LinearSchedule": LinearSchedule, "Counts": counts(callbacks.BaseCallback)}
    first = next(i for i, (theirs, _) in enumerate(ROWS) if "replay_buffer" in theirs)
    works = importlib.util.find_spec("tensorboard") is not None
    if not works:
        print("without tensorboard their row with tensorboard_log is left out")
    run([row for row, _ in ROWS[:first] if works or "tensorboard_log" not in row], names, tmp_path)
    names["model"] = sb3.DQN("MlpPolicy", make()).learn(150)
    run([theirs for theirs, _ in ROWS[first:]], names, tmp_path)
