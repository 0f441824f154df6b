"""Callbacks of `learn`: public names of `isl.model.callbacks` and `isl.model.trackers`."""

from isl.model.callbacks import (
    BaseCallback,
    CallbackList,
    CheckpointCallback,
    EvalCallback,
    FunctionCallback,
)
from isl.model.trackers import MLflowCallback, WandbCallback

__all__ = [
    "BaseCallback",
    "CallbackList",
    "CheckpointCallback",
    "EvalCallback",
    "FunctionCallback",
    "MLflowCallback",
    "WandbCallback",
]
