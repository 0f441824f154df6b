"""Weights & Biases offline and MLflow's stores, with the real packages; and without them."""

import sys

import gymnasium
import pytest

from isl import DQN
from isl.callbacks import MLflowCallback, WandbCallback
from isl.errors import UsageError

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 16}


@pytest.fixture(scope="module")
def model():
    return DQN(lambda: gymnasium.make("CartPole-v1"), seed=2, **TINY)


def learn(model, callback):
    quietly = {"progress_bar": False, "n_eval_episodes": 0, "log_interval": 1}
    return model.learn(60, callback=callback, **quietly)


@pytest.mark.parametrize(
    ("callback", "name"), [(WandbCallback, "wandb"), (MLflowCallback, "mlflow")]
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    model, callback, name, monkeypatch
):
    monkeypatch.setitem(sys.modules, name, None)  # as if it were not there
    with pytest.raises(UsageError, match=rf"needs {name}: pip install 'isl\[{name}\]'"):
        learn(model, callback())
    monkeypatch.undo()
    assert learn(model, None).num_timesteps == 60  # it was not broken by that


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_offline(model, tmp_path):
    wandb = pytest.importorskip("wandb", reason="needs the extra `wandb`")
    rows = []
    callback = WandbCallback("doors", mode="offline", dir=str(tmp_path), name="one")
    opened = wandb.init

    class Listening:
        """The real run, and what it is asked to log."""

        def __init__(self, run):
            self._run = run

        def __getattr__(self, name):
            return getattr(self._run, name)

        def log(self, values, step):
            rows.append((step, values))
            self._run.log(values, step=step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wandb, "init", lambda **options: Listening(opened(**options)))
        learn(model, callback)
    assert rows[-1][0] == 60
    assert {"rollout/ep_rew_mean", "return/mean", "time/fps"} <= set(rows[-1][1])
    assert callback.run.config["agent"] == "dqn"
    assert callback.run.config["hidden"] == [4]
    files = list(tmp_path.rglob("*.wandb"))
    assert len(files) == 1
    assert files[0].stat().st_size > 0
    assert wandb.run is None  # it was ended


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("store", ["file", "sqlite"])
def test_mlflow(model, tmp_path, store, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="needs the extra `mlflow`")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = f"file://{tmp_path}/runs" if store == "file" else f"sqlite:///{tmp_path}/runs.db"
    callback = MLflowCallback("doors", uri, "one")
    learn(model, callback)
    client = mlflow.MlflowClient(uri)
    run = client.get_run(callback.run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "one"
    assert run.data.params["agent"] == "dqn"
    assert run.data.params["lr"] == "0.0005"
    history = client.get_metric_history(callback.run_id, "rollout/ep_rew_mean")
    assert history[-1].step == 60
    assert history[-1].value == pytest.approx(model.logger.values["rollout/ep_rew_mean"])
