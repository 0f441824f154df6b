"""Callbacks that hand on what `learn` logs to experiment trackers, one each.

The packages are optional (extras `wandb` and `mlflow`) and are imported when training starts. What
they are given is what TensorBoard gets, under the same names and at the same steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from isl.errors import UsageError
from isl.model.callbacks import BaseCallback


class _Tracker(BaseCallback):
    """Follows the logger of a training."""

    def _on_training_start(self) -> None:
        model = self.model
        self._open({"agent": model.agent_name, "task": model.task, "seed": model.seed})
        self.logger.sinks.append(self._write)

    def _on_training_end(self) -> None:
        self.logger.sinks.remove(self._write)
        self._close()

    def _open(self, about: dict[str, Any]) -> None: ...
    def _write(self, step: int, values: Mapping[str, float]) -> None: ...
    def _close(self) -> None: ...


class WandbCallback(_Tracker):
    """Weights & Biases. A run that is open already is used and left open.

    Args:
        project: of a new run.
        options: of `wandb.init` for a new run, such as `mode="offline"`, `dir` or `name`.
    """

    def __init__(self, project: str | None = "isl", **options: Any) -> None:
        super().__init__()
        self._options = options | {"project": project}
        self.run: Any = None

    def _open(self, about: dict[str, Any]) -> None:
        wandb = _wandb()
        self._is_ours = wandb.run is None
        self.run = wandb.init(**self._options) if self._is_ours else wandb.run
        config = about | self.model.config.to_dict()
        self.run.config.update(config, allow_val_change=True)

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def _close(self) -> None:
        if self._is_ours:
            self.run.finish()


class MLflowCallback(_Tracker):
    """MLflow: one run per `learn`.

    Args:
        experiment: its name; it is made if it is not there.
        tracking_uri: where it is kept, such as "sqlite:///mlflow.db"; default: MLflow's own.
        run_name: default: MLflow makes one up.
    """

    def __init__(
        self, experiment: str = "isl", tracking_uri: str | None = None, run_name: str | None = None
    ) -> None:
        super().__init__()
        self._experiment, self._uri, self._run_name = experiment, tracking_uri, run_name
        self.run_id = ""

    def _open(self, about: dict[str, Any]) -> None:
        self._mlflow = _mlflow()
        self._client = self._mlflow.MlflowClient(self._uri)
        found = self._client.get_experiment_by_name(self._experiment)
        number = (
            self._client.create_experiment(self._experiment)
            if found is None
            else found.experiment_id
        )
        self.run_id = self._client.create_run(number, run_name=self._run_name).info.run_id
        for name, value in (about | self.model.config.to_dict()).items():
            self._client.log_param(self.run_id, name, str(value)[:500])

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        now, metric = int(time.time() * 1000), self._mlflow.entities.Metric
        rows = [metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self.run_id, metrics=rows)

    def _close(self) -> None:
        self._client.set_terminated(self.run_id)


def _wandb() -> Any:
    try:
        import wandb
    except ModuleNotFoundError:
        raise _missing("wandb") from None
    return wandb


def _mlflow() -> Any:
    try:
        import mlflow
    except ModuleNotFoundError:
        raise _missing("mlflow") from None
    return mlflow


def _missing(name: str) -> UsageError:
    """The message names the extra."""
    return UsageError(f"this callback needs {name}: pip install 'isl[{name}]'")
